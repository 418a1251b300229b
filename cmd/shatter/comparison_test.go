package main

import (
	"os"
	"os/exec"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// The experiments of deploy/compare run, and Shatter finds the same success rates and mean errors as
// numpy.
func TestComparison(t *testing.T) {
	testkit.Long(t)
	const python = "/usr/bin/python3"
	if exec.Command(python, "-c", "import numpy").Run() != nil {
		if os.Getenv("SHATTER_TEST_PYTHON") == "required" {
			t.Fatal("no python3 with numpy, though SHATTER_TEST_PYTHON is required")
		}
		t.Skip("NOT RUN: the comparison with numpy needs Debian's python3-numpy")
	}
	script := "../../deploy/compare/compare.py"
	compare := exec.Command(python, "-B", script, binary(t), "--quick", "--sides", "multiprocessing")
	if out, err := compare.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
