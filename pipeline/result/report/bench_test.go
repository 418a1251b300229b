package report

import (
	"io"
	"testing"
)

// The page of 2,000 cells and 20,000 points of curves is written in well under a second.
func BenchmarkWriteHTML(b *testing.B) {
	s := learned(b, 2000)
	for b.Loop() {
		if err := s.WriteHTML(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
