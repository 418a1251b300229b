package sandbox

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
)

// A layer that does not hold is an error if it is required. The host's mounts do not change.
func TestProbe(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no sandbox on this system")
	}
	before := mounts(t)
	if layers, err := Probe(Policy{}); err != nil || len(layers) == 0 {
		t.Fatal(layers, err)
	}
	if after := mounts(t); after != before {
		t.Errorf("mounts of the host:\n%s\nbefore:\n%s", after, before)
	}
	var missing *MissingError
	err := Policy{Mode: Require}.missing([]Layer{{Name: Files, Held: true}, {Name: Network, How: "why"}, {Name: Limits}})
	if !errors.As(err, &missing) || !strings.HasPrefix(err.Error(), "this machine cannot hold network (") {
		t.Error(err)
	}
	if layers, err := Probe(Policy{Mode: Off}); err != nil || len(layers) > 0 {
		t.Error(layers, err)
	}
}

// mounts returns the mount options of the root file system of this process, and the mounts for
// folders of this package.
func mounts(t *testing.T) string {
	t.Helper()
	list, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	kept := ""
	for line := range strings.Lines(string(list)) {
		if at := strings.Fields(line)[1]; at == "/" || strings.Contains(at, "shatter-probe") {
			kept += line
		}
	}
	return kept
}
