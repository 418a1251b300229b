//go:build unix

package dataset

import (
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
	if got := string(reader.Bytes()[1<<20:][:7]); got != "written" {
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

// A memory file that grows keeps what is in it, and is as safe as another one once it is sealed.
func TestGrowing(t *testing.T) {
	g, err := NewGrowing("test")
	if err != nil {
		t.Fatal(err)
	}
	b, err := g.Resize(5)
	if err != nil {
		t.Fatal(err)
	}
	copy(b, "bytes")
	for _, size := range []int64{6, 100 << 10, 3 << 20, 70 << 20, 9 << 10} {
		if b, err = g.Resize(size); err != nil {
			t.Fatal(err)
		}
		if len(b) != int(size) || string(b[:5]) != "bytes" || b[size-1] != 0 {
			t.Fatalf("%d bytes, %q, after it became %d long", len(b), b[:5], size)
		}
		b[size-1] = 1
	}
	if _, err := g.Resize(0); err == nil {
		t.Error("a size of 0 is possible")
	}
	m, err := g.Seal()
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if runtime.GOOS == "linux" {
		for what, err := range attack(m.File()) {
			if err == nil {
				t.Errorf("%s was allowed", what)
			}
		}
	}
	if string(m.Bytes()[:5]) != "bytes" || len(m.Bytes()) != 9<<10 {
		t.Errorf("%d bytes, %q", len(m.Bytes()), m.Bytes()[:5])
	}
}

// unmap ends a mapping, which outside of tests lasts as long as the process.
func unmap(t testing.TB, m *Mapping) {
	t.Helper()
	if err := unix.Munmap(m.Bytes()); err != nil {
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
