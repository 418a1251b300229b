package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// What plugin new writes builds, passes its tests and runs in a sweep, as it is.
func TestPluginNew(t *testing.T) {
	testkit.Serial(t)
	for _, lang := range pluginLanguages {
		for _, task := range pluginTasks {
			if !testkit.LongRun && (lang == "go" && task != "learn" || lang == "python" && task != "online") {
				continue
			}
			t.Run(lang+"/"+task, func(t *testing.T) { journey(t, lang, task) })
		}
	}
}

// journey goes the way of an author from nothing to a table.
func journey(t *testing.T, lang, task string) {
	interpreter := ""
	if lang == "python" {
		interpreter = testkit.Python(t, "grpc, google.protobuf, numpy")
	}
	t.Chdir(t.TempDir())
	name := "mine-" + task
	stdout, stderr, code := shatter(t, "plugin", "new", name, "--lang", lang, "--task", task)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	t.Chdir(name)
	for path := range strings.FieldsSeq(stdout) {
		checkWritten(t, strings.TrimPrefix(path, name+"/"))
	}
	if lang == "python" {
		useInterpreter(t, interpreter)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, commands, _ := strings.Cut(string(readme), "```\n")
	commands, _, _ = strings.Cut(commands, "```")
	for command := range strings.Lines(commands) {
		runLine(t, strings.TrimSpace(command))
	}
	own := 0
	for _, row := range table(t, filepath.Join("shatter-out", name)) {
		if row["algorithm"] == "my/"+name && row["status"] != "failed" {
			own++
		}
	}
	if own == 0 {
		t.Errorf("the table has no row of the new algorithm")
	}
}

// checkWritten checks the form of a file that was written.
func checkWritten(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, stray := range []string{"<%", "\n\n\n\n", " \n"} {
		if strings.Contains(string(text), stray) {
			t.Errorf("%s has %q:\n%s", path, stray, text)
		}
	}
	if strings.HasSuffix(path, ".go") {
		if out, err := exec.Command("gofmt", "-l", path).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("gofmt would change %s: %s %v", path, out, err)
		}
	}
}

// useInterpreter makes all Python files name an interpreter that has what they need.
func useInterpreter(t *testing.T, interpreter string) {
	t.Helper()
	files, err := filepath.Glob("*.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		write(t, file, strings.Replace(string(text), "#!/usr/bin/env python3", "#!"+interpreter, 1))
	}
	bin := filepath.Join(t.TempDir(), "bin")
	if err := os.Mkdir(bin, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(interpreter, filepath.Join(bin, "python3")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
}

// runLine runs a command line of a README, those of shatter in this process.
func runLine(t *testing.T, line string) {
	t.Helper()
	if rest, own := strings.CutPrefix(line, "shatter "); own {
		if stdout, stderr, code := shatter(t, strings.Fields(rest)...); code != 0 {
			t.Fatalf("%s: exit %d: %s%s", line, code, stdout, stderr)
		}
		return
	}
	c := exec.Command("sh", "-c", line)
	c.Env = append(os.Environ(), "GOFLAGS=", "GOPROXY=off", "GOWORK=off")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

// Wrong names are refused, and so is a folder with files in it.
func TestPluginNewRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"My Learner"}, "lower case letters"},
		{[]string{"../other"}, "lower case letters"},
		{[]string{"mine", "--lang", "rust"}, `--lang "rust": one of go or python is needed`},
		{[]string{"mine", "--task", "teach"}, `--task "teach": one of learn, predict or online is needed`},
		{[]string{"taken"}, `the folder "taken" has files in it`},
		{[]string{"file"}, "not a directory"},
	} {
		_ = os.Mkdir("taken", 0o777)
		write(t, "taken/note", "mine")
		write(t, "file", "")
		stdout, stderr, code := shatter(t, append([]string{"plugin", "new"}, c.args...)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, c.says) {
			t.Errorf("%v: exit %d, want %q: %s%s", c.args, code, c.says, stdout, stderr)
		}
	}
}
