package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Some file systems of clusters refuse flock: Lustre without the mount option flock, NFS without a lock service. There,
// an exclusive lock is a lease: a file next to the locked one, made with O_EXCL, that its holder renews.
const (
	leaseSuffix  = ".lease"
	leaseRenewed = 10 * time.Second // time between renewals
	leaseExpired = time.Minute      // time without a renewal after which a lease has ended
)

// noLocks reports whether an error of flock means that the file system has no such locks.
func noLocks(err error) bool {
	return errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOLCK) || errors.Is(err, unix.EOPNOTSUPP)
}

// A lease is the content of a lease file.
type lease struct {
	Host    string    `json:"host"`
	Space   string    `json:"space"` // pid namespace
	Process int       `json:"process"`
	Renewed time.Time `json:"renewed"`
}

// ended reports whether the holder has ended or has not renewed the lease for long.
func (x lease) ended(here lease) bool {
	if x.Host == here.Host && x.Space == here.Space && errors.Is(unix.Kill(x.Process, 0), unix.ESRCH) {
		return true
	}
	return here.Renewed.Sub(x.Renewed) > leaseExpired
}

// leases holds the locked files of this process that have a lease, by path.
var leases = struct {
	sync.Mutex
	held map[string]*os.File
}{held: map[string]*os.File{}}

func thisProcess() lease {
	host, _ := os.Hostname()
	space, _ := os.Readlink("/proc/self/ns/pid")
	return lease{Host: host, Space: space, Process: os.Getpid(), Renewed: time.Now().UTC()}
}

// tryLease takes a lock without flock. A shared lock only checks that no other process has an exclusive one.
func tryLease(f *os.File, kind Kind) error {
	leases.Lock()
	defer leases.Unlock()
	path := f.Name() + leaseSuffix
	if other := leases.held[path]; other != nil && isOpen(other) {
		return fmt.Errorf("lock %q: %w", f.Name(), ErrLocked)
	}
	here := thisProcess()
	raw, err := ReadFile(path, 4<<10)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		var x lease
		mine := json.Unmarshal(raw, &x) == nil && x.Host == here.Host && x.Space == here.Space && x.Process == here.Process
		if !mine && !x.ended(here) {
			return fmt.Errorf("lock %q: process %d on host %s has had it until %s (%s): %w",
				f.Name(), x.Process, x.Host, x.Renewed.Format(time.DateTime), path, ErrLocked)
		}
	}
	if kind == Shared {
		return nil
	}
	if err := makeLease(path, raw, here); err != nil {
		return fmt.Errorf("lock %q: %w", f.Name(), err)
	}
	leases.held[path] = f
	go renew(f, path, here)
	return nil
}

// makeLease makes the lease file. ended is the content of the lease that it replaces; nil: there was none. Of several
// processes that replace one lease, one makes the file that names the old content.
func makeLease(path string, ended []byte, here lease) error {
	text, err := json.Marshal(here)
	if err != nil {
		return err
	}
	create := func(path string) error {
		f, err := OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			return ErrLocked
		}
		if err != nil {
			return err
		}
		_, err = f.Write(text)
		return errors.Join(err, f.Close())
	}
	if ended == nil {
		return create(path)
	}
	var old lease
	_ = json.Unmarshal(ended, &old)
	next := fmt.Sprintf("%s.%d", path, old.Renewed.UnixNano())
	if err := create(next); err != nil {
		return err
	}
	if now, err := ReadFile(path, 4<<10); err != nil || string(now) != string(ended) {
		return errors.Join(ErrLocked, os.Remove(next))
	}
	return os.Rename(next, path)
}

// renew renews a lease until its file is closed, and then removes it.
func renew(f *os.File, path string, here lease) {
	const look = 100 * time.Millisecond
	for next := time.Now().Add(leaseRenewed); isOpen(f); time.Sleep(look) {
		if time.Now().Before(next) {
			continue
		}
		next = time.Now().Add(leaseRenewed)
		here.Renewed = time.Now().UTC()
		text, err := json.Marshal(here)
		if err == nil && ownLease(path, here) {
			_ = WriteFile(path, Bytes(text)) // a failure shows when the lease expires
		}
	}
	leases.Lock()
	defer leases.Unlock()
	if leases.held[path] == f {
		delete(leases.held, path)
		if ownLease(path, here) {
			_ = os.Remove(path)
		}
	}
}

// Unlock closes a locked file, and so gives the lock back. Others need not wait for the end of a lease then.
func Unlock(f *os.File) error {
	err := f.Close()
	leases.Lock()
	defer leases.Unlock()
	if path := f.Name() + leaseSuffix; leases.held[path] == f {
		delete(leases.held, path)
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// ownLease reports whether the lease file is that of this process.
func ownLease(path string, here lease) bool {
	var x lease
	raw, err := ReadFile(path, 4<<10)
	return err == nil && json.Unmarshal(raw, &x) == nil &&
		x.Host == here.Host && x.Space == here.Space && x.Process == here.Process
}

// isOpen reports whether a file was not closed.
func isOpen(f *os.File) bool {
	_, err := f.Stat()
	return !errors.Is(err, os.ErrClosed)
}
