//go:build unix

package dataset

import (
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestMemory(t *testing.T) {
	m, err := NewMemory("test", 3<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if len(m.Bytes()) != 3<<20 {
		t.Fatalf("%d bytes", len(m.Bytes()))
	}
	reader, err := MapFile(m.File())
	if err != nil {
		t.Fatal(err)
	}
	defer unmap(t, reader)
	copy(m.Bytes()[1<<20:], "written after the mapping was made")
	if got := string(reader[1<<20:][:7]); got != "written" {
		t.Errorf("got %q", got)
	}
	if runtime.GOOS == "linux" {
		for what, err := range attack(m.File()) {
			if err == nil {
				t.Errorf("%s was allowed", what)
			}
		}
	}
	for range 2 {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Readers of a file, such as processes that hold one each, share no offset.
func TestReader(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a file without a name cannot be opened again")
	}
	m, err := NewMemory("test", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var readers [2]*os.File
	for i := range readers {
		if readers[i], err = m.Reader(); err != nil {
			t.Fatal(err)
		}
		defer readers[i].Close()
	}
	if _, err := readers[0].Seek(77, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if at, err := readers[1].Seek(0, io.SeekCurrent); err != nil || at != 0 {
		t.Errorf("offset %d, %v", at, err)
	}
	for what, err := range attack(readers[0]) {
		if err == nil {
			t.Errorf("%s was allowed", what)
		}
	}
}

// unmap ends a mapping, which outside of tests exists until the process ends.
func unmap(t testing.TB, b []byte) {
	t.Helper()
	if err := unix.Munmap(b); err != nil {
		t.Error(err)
	}
}

func TestMemoryRefuses(t *testing.T) {
	if _, err := NewMemory("test", 0); err == nil || !strings.Contains(err.Error(), "size 0") {
		t.Error(err)
	}
	if _, err := NewMemory("test", 1<<62); err == nil || !strings.Contains(err.Error(), `"test"`) {
		t.Error(err)
	}
}
