package disk

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A watch is called for every step of a file that is replaced, and makes steps fail: a failing
// write has written half.
func TestWatch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	var steps []Step
	SetWatch(func(step Step, _ string) error {
		steps = append(steps, step)
		return nil
	})
	defer SetWatch(nil)
	if err := WriteFile(path, Bytes([]byte("text"))); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Step{Writing, Syncing, Synced, Renaming, FolderSynced}, steps); diff != "" {
		t.Error(diff)
	}
	f, err := OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	broken := errors.New("broken")
	SetWatch(func(Step, string) error { return broken })
	if n, err := f.WriteAt([]byte("more"), 4); n != 2 || !errors.Is(err, broken) {
		t.Errorf("wrote %d bytes: %v", n, err)
	}
	if err := errors.Join(f.Sync(), f.Truncate(0)); !errors.Is(err, broken) {
		t.Error(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "textmo" {
		t.Errorf("the file holds %q: %v", got, err)
	}
}
