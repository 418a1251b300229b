package sheet

import (
	"testing"

	"github.com/apache/arrow/go/v17/arrow/memory"
)

// Reading a file with wrong sizes stops with an error.
func TestLimitedMemory(t *testing.T) {
	l := &limitedAllocator{Allocator: memory.DefaultAllocator, left: 100}
	for range 3 {
		b := l.Reallocate(90, l.Allocate(60))
		l.Free(l.Reallocate(10, b))
	}
	if l.left != 100 {
		t.Errorf("%d bytes are left", l.left)
	}
	defer func() {
		if recover() == nil {
			t.Error("101 bytes were had")
		}
	}()
	l.Allocate(101)
}
