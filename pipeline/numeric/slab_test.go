package numeric_test

import (
	"testing"

	"github.com/shatterlab/shatter/pipeline/numeric"
)

// Values of a slab are zero, and each is another one's.
func TestSlab(t *testing.T) {
	var s numeric.Slab[int]
	seen := map[*int]bool{}
	for i := range 1000 {
		x := s.Next()
		if *x != 0 || seen[x] {
			t.Fatalf("value %d is %d, given before: %v", i, *x, seen[x])
		}
		*x, seen[x] = i+1, true
	}
}
