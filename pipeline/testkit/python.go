package testkit

import (
	"os"
	"os/exec"
	"testing"
)

// Python returns the path of a Python that has the modules, given as an import statement lists them.
// Without one the test fails where SHATTER_TEST_PYTHON is "required", as it is where Debian's packages
// are to be had, and is skipped otherwise.
func Python(t testing.TB, modules string) string {
	t.Helper()
	for _, candidate := range []string{"python3", "/usr/bin/python3"} {
		path, err := exec.LookPath(candidate)
		if err == nil && exec.Command(path, "-c", "import "+modules).Run() == nil {
			return path
		}
	}
	if os.Getenv("SHATTER_TEST_PYTHON") == "required" {
		t.Fatalf("no python3 with %s, though SHATTER_TEST_PYTHON is required", modules)
	}
	t.Skipf("NOT RUN: it needs python3 with %s (Debian: python3-grpcio python3-protobuf "+
		"python3-numpy python3-sklearn)", modules)
	return ""
}
