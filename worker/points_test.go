package worker

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Chunks of any lengths are divided into consecutive spans.
func TestDivide(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 2, 7, 100, 1001} {
		for _, most := range []int{1, 3, 10, n} {
			spans, cut := make([]span, chunks+n/most), [chunks]span{}
			cutChunks(cut[:], n, r)
			cut[0], cut[2] = cut[2], cut[0]
			copy(spans, cut[:])
			divideSpans(spans, most)
			k := 0
			for _, c := range cut {
				for at := c.from; at < c.to; k++ {
					if spans[k].from != at || spans[k].len() < 1 || spans[k].len() > most || spans[k].to > c.to {
						t.Fatalf("%d places, at most %d: span %d of %v is %v", n, most, k, c, spans[k])
					}
					at = spans[k].to
				}
			}
			if slices.ContainsFunc(spans[k:], func(s span) bool { return s.len() != 0 }) {
				t.Errorf("%d places, at most %d: left over: %v", n, most, spans[k:])
			}
		}
	}
}

// Chunks contain each place once, in order; no chunk contains all places if there are several; and
// lengths vary.
func TestChunksCoverEachPlaceOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 33, 1000} {
		seen := map[[chunks]span]bool{}
		for range 300 {
			var spans [chunks]span
			cutChunks(spans[:], n, r)
			next := int32(0)
			for _, s := range spans {
				if s.from != next || s.to < s.from || s.len() > (2*n+2)/3 || n > 1 && s.len() == n {
					t.Fatalf("%d places in %v", n, spans)
				}
				next = s.to
			}
			if int(next) != n {
				t.Fatalf("%d places in %v", n, spans)
			}
			seen[spans] = true
		}
		if n >= 3 && len(seen) < 2 {
			t.Errorf("%d places are always cut at the same borders", n)
		}
	}
}
