package main

import (
	"os/exec"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// The experiments of deploy/compare run, and Shatter finds the same success rates and mean errors as
// numpy.
func TestComparison(t *testing.T) {
	testkit.Long(t)
	script := "../../deploy/compare/compare.py"
	compare := exec.Command(testkit.Python(t, "numpy"), "-B", script, binary(t), "--quick", "--sides", "multiprocessing")
	if out, err := compare.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
