package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// shown matches the examples of documents: commands over shatter-out/quickstart and their output.
var shown = regexp.MustCompile("(?s)```\n\\$ (shatter [^`]*?shatter-out/quickstart.*?)```")

// TestDocuments runs the commands of the documents over the quickstart's result, and compares their
// output and the figures. "..." in a document stands for any text.
func TestDocuments(t *testing.T) {
	testkit.Long(t)
	documents, err := filepath.Glob("examples/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var examples []string
	for _, file := range append(documents, "README.md", "../../README.md") {
		for _, m := range shown.FindAllStringSubmatch(testkit.ReadFile(t, file), -1) {
			examples = append(examples, m[1])
		}
	}
	if len(examples) < 5 {
		t.Fatalf("found only %q", examples)
	}
	sweeps, err := filepath.Abs("examples")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, name := range []string{"quickstart", "gap"} {
		mustRun(t, filepath.Join(sweeps, name+".yaml"), "shatter-out/"+name)
	}
	for _, example := range examples {
		command, want := splitExample(example)
		out, err := exec.Command("sh", "-c", command).Output()
		pattern := strings.ReplaceAll(regexp.QuoteMeta(want), `\.\.\.`, `.*?`)
		if !regexp.MustCompile(`(?s)^` + pattern + `$`).Match(out) {
			t.Errorf("%s: %v\n%s\nand not\n%s", command, err, out, want)
		}
	}
	for name, args := range map[string]string{
		"gap": "--x d --where algorithm=expmech/em --where epsilon=0.1",
		"quickstart": "--x domain --where distribution=needle " +
			"--where algorithm=expmech/em,baseline/erm",
	} {
		checkFigure(t, filepath.Join(sweeps, "figures", name+".svg"),
			append([]string{"plot", "shatter-out/" + name, "--what", "n", "--format", "svg", "--width", "5"},
				strings.Fields(args)...))
	}
}

// documented matches the sweeps of documents that need no plugin of others.
var documented = regexp.MustCompile("(?s)```yaml\n(name: [^`]*?)```")

// The sweeps of documents are valid.
func TestDocumentedSweepsAreValid(t *testing.T) {
	dir, sweeps := t.TempDir(), 0
	write(t, filepath.Join(dir, "breast_cancer.csv"), testkit.ReadFile(t, "examples/breast_cancer.csv"))
	for _, pattern := range []string{"../../*.md", "../../schemas/*.md", "../../plugins/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			for _, m := range documented.FindAllStringSubmatch(testkit.ReadFile(t, file), -1) {
				if strings.Contains(m[1], "plugins:") {
					continue
				}
				sweeps++
				if _, stderr, code := shatter(t, "check", write(t, filepath.Join(dir, "sweep.yaml"), m[1])); code != 0 {
					t.Errorf("a sweep of %s: exit %d: %s", file, code, stderr)
				}
			}
		}
	}
	if sweeps < 3 {
		t.Errorf("found only %d sweeps", sweeps)
	}
}

// splitExample returns the command at the start of an example and its output. A command goes on
// after a backslash, and inside of double quotes.
func splitExample(text string) (command, output string) {
	for line := range strings.Lines(text) {
		command += line
		if !strings.HasSuffix(line, "\\\n") && strings.Count(command, `"`)%2 == 0 {
			break
		}
	}
	return command, text[len(command):]
}

// checkFigure compares the figure that a command writes with the committed one.
func checkFigure(t *testing.T, path string, args []string) {
	t.Helper()
	stdout, stderr, code := shatter(t, args...)
	drawn, _, _ := strings.Cut(stdout, "\n") // the caption is in another file
	got, err := os.ReadFile(drawn)
	if err != nil {
		t.Fatalf("%q: exit %d: %v %s", args, code, err, stderr)
	}
	want, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what shatter %s draws: %v", path, strings.Join(args, " "), err)
	}
}
