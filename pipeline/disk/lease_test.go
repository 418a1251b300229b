package disk

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Without flock, one open file has a lock until it is closed, a lease of a process that has ended or has not renewed it
// for long is replaced, and any other lease is respected.
func TestLease(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	a, b := openLock(t, path), openLock(t, path)
	if err := tryLease(a, Exclusive); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []Kind{Exclusive, Shared} {
		if err := tryLease(b, kind); !errors.Is(err, ErrLocked) {
			t.Error("held:", err)
		}
	}
	a.Close()
	if err := tryLease(b, Exclusive); err != nil {
		t.Error("closed:", err)
	}
	if err := Unlock(b); err != nil {
		t.Error("unlock:", err)
	}
	if _, err := os.Stat(path + leaseSuffix); !errors.Is(err, fs.ErrNotExist) {
		t.Error("unlocked:", err)
	}
	here := thisProcess()
	for what, x := range map[string]struct {
		holder lease
		free   bool
	}{
		"a process that has ended": {lease{here.Host, here.Space, 1 << 30, here.Renewed}, true},
		"a process here":           {lease{here.Host, here.Space, os.Getppid(), here.Renewed}, false},
		"another host":             {lease{"elsewhere", "", 1 << 30, here.Renewed}, false},
		"another host, long ago":   {lease{"elsewhere", "", 1 << 30, here.Renewed.Add(-2 * leaseExpired)}, true},
	} {
		path := filepath.Join(t.TempDir(), "lock")
		text, err := json.Marshal(x.holder)
		if err == nil {
			err = os.WriteFile(path+leaseSuffix, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := tryLease(openLock(t, path), Exclusive); (err == nil) != x.free || err != nil && !errors.Is(err, ErrLocked) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Of two processes that replace one lease, one gets it.
func TestLeaseReplacedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock"+leaseSuffix)
	old, err := json.Marshal(lease{Host: "elsewhere", Renewed: time.Unix(1, 0)})
	if err == nil {
		err = os.WriteFile(path, old, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	first, second := thisProcess(), thisProcess()
	second.Process++
	if err := makeLease(path, old, first); err != nil {
		t.Fatal(err)
	}
	if err := makeLease(path, old, second); !errors.Is(err, ErrLocked) || !ownLease(path, first) {
		t.Errorf("the second one: %v", err)
	}
}
