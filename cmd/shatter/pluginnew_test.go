package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// The files of plugin new are well formed.
func TestPluginNewFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, lang := range pluginLanguages {
		for _, task := range pluginKinds {
			name := lang + "-" + task
			stdout, stderr, code := shatter(t, "plugin", "new", name, "--lang", lang, "--task", task)
			if code != 0 {
				t.Fatalf("exit %d: %s", code, stderr)
			}
			for path := range strings.FieldsSeq(stdout) {
				checkWritten(t, path)
			}
			mod, _ := os.ReadFile(filepath.Join(name, "go.mod"))
			if strings.Contains(string(mod), "duckdb") || strings.Contains(stderr, "note:") {
				t.Errorf("%s requires more than the SDK: %s", name, stderr)
			}
		}
	}
}

// The files of plugin new build, pass their tests and run in a sweep, as they are.
func TestPluginNew(t *testing.T) {
	testkit.Long(t)
	t.Run("go", func(t *testing.T) { journey(t, "go", "learn") })
	t.Run("python", func(t *testing.T) { journey(t, "python", "problem") })
}

// journey goes the way of an author from nothing to a table.
func journey(t *testing.T, lang, task string) {
	interpreter := ""
	if lang == "python" {
		interpreter = testkit.Python(t, "grpc, google.protobuf, numpy")
	}
	t.Chdir(t.TempDir())
	name := "mine-" + task
	if _, stderr, code := shatter(t, "plugin", "new", name, "--lang", lang, "--task", task); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	t.Chdir(name)
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
		if strings.HasPrefix(row["algorithm"].(string), "my/"+name) && row["status"] != "failed" {
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

// runLine runs a command line of a README; commands of shatter run in this process.
func runLine(t *testing.T, line string) {
	t.Helper()
	if rest, own := strings.CutPrefix(line, "shatter "); own {
		if stdout, stderr, code := shatter(t, strings.Fields(rest)...); code != 0 {
			t.Fatalf("%s: exit %d: %s%s", line, code, stdout, stderr)
		}
		return
	}
	c := exec.Command("sh", "-c", line)
	c.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

// plugin build names modules next to a plugin that it imports and that are not packed.
func TestPluginBuildNotes(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "mine.py", "import os, helper as h\nif 1:\n    from parts.one import two\nfrom shatter import serve\n")
	write(t, "helper.py", "")
	if err := os.Mkdir("parts", 0o777); err != nil {
		t.Fatal(err)
	}
	for packed, want := range map[string]string{
		"mine.py":           "note: mine.py imports helper, which is not in the program: name helper.py too\n",
		"mine.py helper.py": "",
	} {
		_, stderr, code := shatter(t, append([]string{"plugin", "build"}, strings.Fields(packed)...)...)
		if parts, ok := strings.CutPrefix(stderr, want); code != 0 || !ok ||
			!strings.HasPrefix(parts, "note: mine.py imports parts, ") || strings.Count(parts, "\n") != 1 {
			t.Errorf("%s: exit %d: %s", packed, code, stderr)
		}
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
		{[]string{"mine", "--task", "teach"}, `--task "teach": one of learn, predict, online or problem is needed`},
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

// The SDK of new plugins comes from the checkout of the binary, or from its version.
func TestOwnSDK(t *testing.T) {
	root := t.TempDir()
	inside := func(dir string) string { return filepath.Join(root, dir, "cmd", "shatter", "pluginnew.go") }
	for _, dir := range []string{"checkout", "shatter@v0.2.0", "other"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(root, "checkout", "go.mod"), "module "+sdkModule+"\n")
	write(t, filepath.Join(root, "shatter@v0.2.0", "go.mod"), "module "+sdkModule+"\n")
	write(t, filepath.Join(root, "other", "go.mod"), "module example.com/other\n")
	checkout := sdkSource{Checkout: filepath.Join(root, "checkout")}
	release := sdkSource{Version: "v0.2.0", release: "1.26.0"}
	for _, c := range []struct {
		file, version string
		want          sdkSource // zero: none
	}{
		{inside("checkout"), "(devel)", checkout},
		{inside("checkout"), "v0.2.0", checkout},                     // built at a tag
		{inside("shatter@v0.2.0"), "v0.2.0", release},                // go install ...@v0.2.0
		{inside("gone"), "v0.2.0", release},                          // built elsewhere
		{sdkModule + "/cmd/shatter/pluginnew.go", "v0.2.0", release}, // with -trimpath
		{inside("other"), "v0.2.0", release},
		{inside("gone"), "(devel)", sdkSource{}},
		{inside("gone"), "v0.2.0+dirty", sdkSource{}},
		{inside("gone"), "", sdkSource{}},
	} {
		info := &debug.BuildInfo{GoVersion: "go1.26.8"}
		info.Main.Version = c.version
		got, err := sdkOf(c.file, info)
		if got != c.want || (err != nil) != (c.want == sdkSource{}) {
			t.Errorf("%s, %s: %+v, %v, want %+v", c.file, c.version, got, err, c.want)
		}
		if err != nil && !strings.Contains(err.Error(), "or with go install "+sdkModule+"/cmd/shatter@latest") {
			t.Error(err)
		}
	}
}
