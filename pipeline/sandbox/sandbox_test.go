package sandbox

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

// A layer that is left out is found out by trying, and is an error where it is required.
func TestProbe(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no sandbox on this system")
	}
	all, err := Probe(Policy{})
	if err != nil {
		t.Fatal(err)
	}
	held := map[string]bool{}
	for _, l := range all {
		held[l.Name] = l.Held
	}
	for _, without := range []string{Files, Network, Syscalls, Privileges, Limits} {
		layers, err := Probe(Policy{without: []string{without}})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range layers {
			if l.Name == without && l.Held || l.Name != without && l.Held != held[l.Name] {
				t.Errorf("without %s: %+v", without, l)
			}
		}
	}
	var missing *MissingError
	_, err = Probe(Policy{Mode: Require, without: []string{Network}})
	if !errors.As(err, &missing) || !strings.HasPrefix(err.Error(), "this machine cannot hold network (") {
		t.Error(err)
	}
	if layers, err := Probe(Policy{Mode: Off}); err != nil || len(layers) > 0 {
		t.Error(layers, err)
	}
}
