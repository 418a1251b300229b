//go:build cgo && linux

package query

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/sandbox"
)

// A result of another user, who alone may read it, is refused to the user root with the remedy, which helps.
func TestOthersResult(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("NOT RUN: this user is not root")
	}
	const nobody = 65534
	for name, mode := range map[string]os.FileMode{"table.parquet": 0o600, ".": 0o700} {
		dir := t.TempDir()
		copyResult(t, dir)
		path := filepath.Join(dir, name)
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if d, err := Open(dir, Options{}); err != nil { // of root alone
			t.Error(err)
		} else {
			d.Close()
		}
		if err := os.Chown(path, nobody, nobody); err != nil {
			t.Fatal(err)
		}
		_, err := Open(dir, Options{})
		if err == nil || !strings.Contains(err.Error(), "only user 65534 may read \""+path+"\"") {
			t.Error(err)
		}
		d, err := Open(dir, Options{Sandbox: sandbox.Policy{Mode: sandbox.Off}})
		if err != nil {
			t.Fatal(err)
		}
		d.Close()
	}
}
