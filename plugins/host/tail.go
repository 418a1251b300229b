package host

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Limits of a tail.
const (
	tailBytes  = 16 << 10
	tailLines  = 64
	crashBytes = 4 << 10
	lineBytes  = 1 << 10
)

// tail keeps the end of the text written to it, and the beginning of the last crash report, which a long stack would
// push out. Its memory is bounded.
type tail struct {
	path    string    // file of the plugin, for which a script names its sealed copy
	further io.Writer // receives all output too; nil: none
	namer   atomic.Pointer[func() string]
	source  *os.File    // file that read reads; nil: none
	waits   atomic.Bool // whether read waits for more of it

	mu    sync.Mutex
	end   []byte // last output, at most 2*tailBytes
	crash []byte // beginning of the last crash report, at most crashBytes
}

// read keeps all that r has, until it ends.
func (t *tail) read(r io.Reader) {
	b := bufio.NewReader(r)
	lineStart := true
	for {
		t.waits.Store(true)
		part, err := b.ReadSlice('\n')
		t.waits.Store(false)
		t.add(part, lineStart)
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
		lineStart = err == nil
	}
}

// Write keeps b, without looking for a crash; it never fails.
func (t *tail) Write(b []byte) (int, error) {
	t.add(b, false)
	return len(b), nil
}

// sealedCopy matches the path by which a script names itself.
var sealedCopy = regexp.MustCompile(`/proc/self/fd/[0-9]+`)

func (t *tail) add(b []byte, lineStart bool) {
	b = sealedCopy.ReplaceAllLiteral(b, []byte(t.path))
	t.forward(b, lineStart)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, b[max(0, len(b)-tailBytes):]...)
	if len(t.end) > 2*tailBytes {
		t.end = append(t.end[:0], t.end[len(t.end)-tailBytes:]...)
	}
	if lineStart && (bytes.HasPrefix(b, []byte("panic: ")) || bytes.HasPrefix(b, []byte("fatal error: "))) {
		t.crash = append(t.crash[:0], b[:min(len(b), crashBytes)]...)
	} else if room := crashBytes - len(t.crash); len(t.crash) > 0 && room > 0 {
		t.crash = append(t.crash, b[:min(len(b), room)]...)
	}
}

// name makes lines begin with the result of f. Lines that were printed before keep their old name: name waits until
// they are forwarded, for at most a second.
func (t *tail) name(f func() string) {
	if t.further != nil && t.source != nil {
		const quiet = 2 // looks in a row, because read may be about to handle a line
		end := time.Now().Add(time.Second)
		for looks := 0; looks < quiet && time.Now().Before(end); time.Sleep(time.Millisecond) {
			if looks++; !t.waits.Load() || readable(t.source) {
				looks = 0
			}
		}
	}
	t.namer.Store(&f)
}

// readable reports whether a file has data that were not read.
func readable(f *os.File) (ready bool) {
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	err = conn.Control(func(fd uintptr) {
		list := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		_, _ = unix.Poll(list, 0)
		ready = list[0].Revents&unix.POLLIN != 0
	})
	return err == nil && ready
}

// forward passes b on, with a name before a line.
func (t *tail) forward(b []byte, lineStart bool) {
	if t.further == nil || len(b) == 0 {
		return
	}
	if name := t.namer.Load(); name != nil && lineStart {
		b = append([]byte((*name)()), b...)
	}
	_, _ = t.further.Write(b)
}

// String returns the last lines, without a final newline, and before them the beginning of a crash
// if they do not hold it.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	end := clean(t.end[max(0, len(t.end)-tailBytes):])
	lines := strings.Split(end, "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	for i, line := range lines {
		if len(line) > lineBytes {
			lines[i] = strings.ToValidUTF8(line[:lineBytes], "") + "..."
		}
	}
	end = strings.Join(lines, "\n")
	crash := clean(t.crash)
	if crash == "" || strings.Contains(end, crash) {
		return end
	}
	return crash + "\n[...]\n" + end
}

// clean makes b valid UTF-8 without final newlines.
func clean(b []byte) string {
	return strings.TrimRight(strings.ToValidUTF8(string(b), "?"), "\n")
}
