package host

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
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
	further io.Writer // receives all output too; nil: none
	namer   atomic.Pointer[func() string]

	mu    sync.Mutex
	end   []byte // last output, at most 2*tailBytes
	crash []byte // beginning of the last crash report, at most crashBytes
}

// read keeps all that r has, until it ends.
func (t *tail) read(r io.Reader) {
	b := bufio.NewReader(r)
	lineStart := true
	for {
		part, err := b.ReadSlice('\n')
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

func (t *tail) add(b []byte, lineStart bool) {
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

// name has lines begin with what f returns, from here on.
func (t *tail) name(f func() string) { t.namer.Store(&f) }

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
