package algo

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// roleVariable is the environment variable that gives this test binary another role.
const roleVariable = "ALGO_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "":
		os.Exit(m.Run())
	case "serve":
		Serve(noisy)
	case "serve nothing":
		Serve()
	}
}

// TestByHand checks that a user who starts a plugin by hand finds an explanation on standard error.
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
