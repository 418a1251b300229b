package host

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A socket that is this user's file is refused where another user's process listens at it: it would be
// handed the memory files of sessions.
func TestAttachedToAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can listen as another user")
	}
	dir, err := os.MkdirTemp("", "sh")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "socket")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	listening := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine: it alone is another user's
		const nobody = 65534
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
			listening <- errno
			return
		}
		listening <- unix.Listen(fd, 1)
	}()
	if err := <-listening; err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), path)
	l, err := net.FileListener(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = l.Close(), file.Close() }()
	const want = "a process of another user (number 65534) listens there"
	if _, err := Attached(path); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Attached: %v", err)
	}
	if err := Bridge(path, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Bridge: %v", err)
	}
}
