package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The test binary serves the built-in algorithms to itself, as the real one does, and a copy of it
// with the name shatter is the command.
func TestMain(m *testing.M) {
	if slices.Equal(os.Args[1:], []string{"plugin", "serve"}) {
		main()
	}
	testscript.Main(suite{m}, map[string]func(){"shatter": main})
}

// A suite runs the tests of this package, and then removes what they share.
type suite struct{ *testing.M }

func (s suite) Run() int {
	if err := os.Setenv("SHATTER_CACHE", "off"); err != nil { // tests that count trials run them
		panic(err)
	}
	code := s.M.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	return code
}

// binary returns the path of the command.
func binary(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("shatter")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// shatter runs a command line inside this process. Its plugins are processes of their own all the
// same.
func shatter(t testing.TB, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(args, &out, &err)
	return out.String(), err.String(), code
}

var built struct {
	sync.Mutex
	dir   string
	paths map[string]string
}

// sharedDir returns a folder that the tests of this package share. built is locked.
func sharedDir(t testing.TB) string {
	t.Helper()
	if built.dir == "" {
		dir, err := os.MkdirTemp("", "shatter-test")
		if err != nil {
			t.Fatal(err)
		}
		built.dir, built.paths = dir, map[string]string{}
	}
	return built.dir
}

// build builds a program once for all tests: a package of this module, or an author's module.
func build(t testing.TB, name, dir, pkg string, flags ...string) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	shared := sharedDir(t)
	if path, ok := built.paths[name]; ok {
		return path
	}
	path := filepath.Join(shared, name)
	cmd := exec.Command("go", append(append([]string{"build", "-o", path}, flags...), pkg)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", pkg, err, out)
	}
	built.paths[name] = path
	return path
}

// thirdparty builds the plugin of testdata/thirdparty as a module of its own, as an author would.
func thirdparty(t testing.TB) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	source, err := os.ReadFile("testdata/thirdparty/main.go")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(mod), "module github.com/shatterlab/shatter", "module example.com/thirdparty", 1) +
		"\nrequire github.com/shatterlab/shatter v0.0.0\n\nreplace github.com/shatterlab/shatter => " + root + "\n"
	write(t, filepath.Join(dir, "main.go"), string(source))
	write(t, filepath.Join(dir, "go.mod"), text)
	write(t, filepath.Join(dir, "go.sum"), string(sum))
	return build(t, "thirdparty", dir, ".", "-mod=mod")
}

func write(t testing.TB, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

var digestLine = regexp.MustCompile(`digest ([0-9a-f]{64})`)

// digest returns the digest over all result files, as printed at the end of a run.
func digest(t *testing.T, stderr string) string {
	t.Helper()
	m := digestLine.FindStringSubmatch(stderr)
	if m == nil {
		t.Fatalf("no digest in %q", stderr)
	}
	return m[1]
}

func readManifest(t *testing.T, dir string) (m struct {
	Plugins []struct {
		File, Digest string
		Outcomes     int64
	}
	Runs []struct {
		Known       int64 `json:"trials_known"`
		Trials      int64 `json:"trials_run"`
		Interrupted bool
		Ledger      []string
		Notes       []string
	}
}) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// A row is one row of `shatter table -o json`.
type row map[string]any

func table(t *testing.T, dir string) []row { return frame(t, dir, "table") }

func frame(t *testing.T, dir, name string) []row {
	t.Helper()
	out, errs, code := shatter(t, "table", dir, "-o", "json", "--what", name)
	if code != 0 {
		t.Fatalf("table: exit %d: %s", code, errs)
	}
	var rows []row
	if err := json.Unmarshal([]byte(out), &rows); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return rows
}

var shared struct {
	sync.Mutex
	results map[string]string // folders by sweep
}

// finished returns the folder of the result of a sweep that has run once for all tests. They only
// read it, or copy it.
func finished(t *testing.T, sweep string) string {
	t.Helper()
	built.Lock()
	dir := sharedDir(t)
	built.Unlock()
	shared.Lock()
	defer shared.Unlock()
	if out, ok := shared.results[sweep]; ok {
		return out
	}
	if shared.results == nil {
		shared.results = map[string]string{}
	}
	name := filepath.Join(dir, "result"+strconv.Itoa(len(shared.results)))
	mustRun(t, write(t, name+".yaml", sweep), name)
	shared.results[sweep] = name
	return name
}

// copied returns a copy of such a folder, and of its sweep file, for tests that change it.
func copied(t *testing.T, result string) (file, dir string) {
	t.Helper()
	tmp := t.TempDir()
	dir = filepath.Join(tmp, "out")
	if err := os.CopyFS(dir, os.DirFS(result)); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(result + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return write(t, filepath.Join(tmp, "sweep.yaml"), string(raw)), dir
}
