package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The test binary serves the built-in algorithms and attached ones to itself, as the real one does, and a copy of it
// with the name shatter is the command.
func TestMain(m *testing.M) {
	if slices.Equal(os.Args[1:], []string{"plugin", "serve"}) ||
		len(os.Args) == 4 && os.Args[2] == "bridge" {
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
	// Tests wait for their processes most of the time. The flag -parallel overrides this: flags are parsed later.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	code := s.M.Run()
	if dir, err := sharedDir(); err == nil {
		os.RemoveAll(dir)
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

// sharedDir makes the folder for what the tests of this package share.
var sharedDir = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "shatter-test") })

// thirdparty returns the path of the plugin of testdata/thirdparty.
func thirdparty(t testing.TB) string { return pluginNamed(t, "thirdparty") }

// cheats returns the path of a plugin with the algorithms of testdata/cheats.
func cheats(t testing.TB) string { return pluginNamed(t, "cheats") }

func pluginNamed(t testing.TB, name string) string {
	t.Helper()
	dir, err := testPlugins()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// testPlugins builds the plugins of the tests once, and returns their folder. All of them are one file, whose
// algorithms depend on its name, because a build takes seconds.
var testPlugins = sync.OnceValues(func() (string, error) {
	dir, err := sharedDir()
	if err != nil {
		return "", err
	}
	module := filepath.Join(dir, "module")
	if err := os.CopyFS(filepath.Join(module, "cheats"), os.DirFS(filepath.Join("testdata", "cheats"))); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "thirdparty")
	err = buildModule("testdata/thirdparty", module, path)
	return dir, errors.Join(err, os.Link(path, filepath.Join(dir, "cheats")))
})

// buildModule builds the folder source as a module in the folder dir, with the SDK of this checkout, to path.
func buildModule(source, dir, path string) error {
	sdk, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	mod, sum, err := goModule("example.com/"+filepath.Base(source), sdkSource{Checkout: sdk})
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), mod, 0o666); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o666); err != nil {
		return err
	}
	build := exec.Command("go", "build", "-mod=mod", "-ldflags=-s -w", "-o", path, ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
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

var results struct {
	sync.Mutex
	dirs map[string]string // folders by sweep
}

// finished returns the folder of the result of a sweep that has run once for all tests. They only
// read it, or copy it.
func finished(t testing.TB, sweep string) string {
	t.Helper()
	dir, err := finishedOnce(sweep)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func finishedOnce(sweep string) (string, error) {
	results.Lock()
	defer results.Unlock()
	if dir, ok := results.dirs[sweep]; ok {
		return dir, nil
	}
	shared, err := sharedDir()
	if err != nil {
		return "", err
	}
	if results.dirs == nil {
		results.dirs = map[string]string{}
	}
	dir := filepath.Join(shared, "result"+strconv.Itoa(len(results.dirs)))
	if err := os.WriteFile(dir+".yaml", []byte(sweep), 0o666); err != nil {
		return "", err
	}
	var stdout, stderr bytes.Buffer
	if code := run([]string{"run", dir + ".yaml", "--out", dir, "--workers", "2"}, &stdout, &stderr); code != exitDone {
		return "", fmt.Errorf("exit %d: %s", code, &stderr)
	}
	results.dirs[sweep] = dir
	return dir, nil
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
