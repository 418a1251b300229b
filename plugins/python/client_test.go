package python_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// TestClient runs sweeps from Python and the examples of README.md: see testdata/client.py.
func TestClient(t *testing.T) {
	testkit.Long(t)
	interpreter := testkit.Python(t, needed+", sklearn")
	dir := t.TempDir()
	program := filepath.Join(dir, "shatter")
	build := exec.Command("go", "build", "-o", program, "../../cmd/shatter")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{filepath.Join(here, "testdata", "client.py")}
	if exec.Command(interpreter, "-c", "import pandas").Run() == nil {
		args = append(args, "pandas")
	}
	c := exec.Command(interpreter, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "SHATTER="+program, "PYTHONPATH="+here, "PYTHONDONTWRITEBYTECODE=1")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
