package algo

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/shatterlab/shatter/pipeline/dataset"
)

// roleVariable is the environment variable that makes this test binary another kind of process.
const roleVariable = "ALGO_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "":
		os.Exit(m.Run())
	case "serve":
		Serve(noisy)
	case "serve nothing":
		Serve()
	case "dataset":
		openDataset()
	}
}

// TestByHand checks that who starts a plugin by hand reads on standard error what it is.
func TestByHand(t *testing.T) {
	tests := []struct {
		role string
		env  []string
		want string
	}{
		{"serve", nil, "is a plugin of Shatter and does nothing by itself. It serves test/noisy."},
		{"serve", []string{"SHATTER_PLUGIN=5f0e8a4b1c9d4e0fa7d2"}, "descriptor 3 is not a pipe to a host"},
		{"serve nothing", nil, "no algorithm to serve"},
	}
	for _, tt := range tests {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(tt.env, roleVariable+"="+tt.role)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		stdout, err := cmd.Output()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || len(stdout) > 0 ||
			!strings.Contains(stderr.String(), tt.want) {
			t.Errorf("%s: %v, %q, %q", tt.role, err, stdout, stderr.String())
		}
	}
}

// openDataset opens the dataset that this process inherited. It prints the nanoseconds and bytes
// that this took, the number of rows and the last number.
func openDataset() {
	p := inherited()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	t, err := p.points()
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(took.Nanoseconds(), after.TotalAlloc-before.TotalAlloc, t.rows, t.x[len(t.x)-1])
}

// measureDataset opens a dataset of rows points of 50 numbers in another process, which inherits it
// as a plugin does.
func measureDataset(t testing.TB, rows int) (took time.Duration, allocated uint64) {
	schema := dataset.Schema{Columns: []dataset.Column{{Name: "x", Type: dataset.List, Width: 50}}}
	l, err := dataset.Plan(schema, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := dataset.NewMemory("test", int64(l.Size()))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	l.Init(m.Bytes())
	x := l.List(m.Bytes(), 0)
	x[len(x)-1] = 7
	pipe, _, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{roleVariable + "=dataset"}
	cmd.ExtraFiles = []*os.File{pipe, m.File(), m.File()}
	out, err := cmd.Output()
	var last float64
	if _, e := fmt.Sscan(string(out), &took, &allocated, &rows, &last); err != nil || e != nil || last != 7 {
		t.Fatalf("%v, %v: %q", err, e, out)
	}
	return took, allocated
}

// TestDatasetIsNotCopied checks that opening a large dataset allocates little.
func TestDatasetIsNotCopied(t *testing.T) {
	if _, allocated := measureDataset(t, 100_000); allocated > 1<<20 {
		t.Errorf("opening 40 MB allocated %d bytes", allocated)
	}
}
