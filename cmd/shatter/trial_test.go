package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/coordinator"
	"github.com/shatterlab/shatter/plugins/host"
)

// A trial that is lost has no whole record, and nothing is written.
func TestExportLost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.arrow")
	lost := &coordinator.Comparison{
		Trial: "0123456789/10/0", Outcome: &coordinator.Outcome{Status: "lost", Reason: "it held too much memory"},
	}
	err := exportTrial(path, new(host.Recorder), lost)
	if err == nil {
		t.Fatal("a lost trial was written")
	}
	for _, part := range []string{"0123456789/10/0", "lost here", "it held too much memory", "more time and memory"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Error("a file was written")
	}
}
