package worker

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// identity sets order to 0, 1, 2, ...
func identity(order []int32) {
	for i := range order {
		order[i] = int32(i)
	}
}

// Chunks are divided into spans that follow each other, whatever their lengths.
func TestDivide(t *testing.T) {
	r := rand.NewPCG(3, 4)
	for _, n := range []int{1, 2, 7, 100, 1001} {
		for _, most := range []int{1, 3, 10, n} {
			spans, cut := make([]span, chunks+n/most), [chunks]span{}
			cutChunks(&cut, n, r)
			cut[0], cut[2] = cut[2], cut[0]
			copy(spans, cut[:])
			divide(spans, most)
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

// All orders of a few numbers are equally likely.
func TestShuffleIsUniform(t *testing.T) {
	r := rand.NewPCG(1, 2)
	for _, n := range []int{1, 2, 3, 4, 5, 6} {
		number, counts := map[string]int{}, []float64(nil)
		for range 200_000 {
			order := make([]int32, n)
			identity(order)
			shuffle(order, r)
			name := ""
			for _, i := range order {
				name += string('0' + i)
			}
			if _, known := number[name]; !known {
				number[name] = len(counts)
				counts = append(counts, 0)
			}
			counts[number[name]]++
		}
		all := 1
		for i := range n {
			all *= i + 1
		}
		if len(counts) != all {
			t.Fatalf("%d numbers: %d orders, want %d", n, len(counts), all)
		}
		testkit.CheckCounts(t, counts, slices.Repeat([]float64{1 / float64(all)}, all))
	}
}

// Longer orders hold each number once, and each number comes to each place equally often. 33_000
// numbers take the path of two indices from one word.
func TestShuffleOfMany(t *testing.T) {
	r := rand.NewPCG(3, 4)
	const bins = 8
	for _, n := range []int{33, 1024, 4096, 33_000} {
		counts, order := make([]float64, bins*bins), make([]int32, n)
		for range max(1, 400_000/n) {
			identity(order)
			shuffle(order, r)
			for place, i := range order {
				counts[int(i)*bins/n*bins+place*bins/n]++
			}
		}
		share := func(bin int) (places float64) {
			for i := range n {
				if i*bins/n == bin {
					places++
				}
			}
			return places / float64(n)
		}
		want := make([]float64, bins*bins)
		for i := range bins {
			for place := range bins {
				want[i*bins+place] = share(i) * share(place)
			}
		}
		testkit.CheckCounts(t, counts, want)
		slices.Sort(order)
		for i, v := range order {
			if int(v) != i {
				t.Fatalf("%d numbers: %d is missing or doubled", n, i)
			}
		}
	}
}

// What a word leaves is rejected below 2^64 modulo the product of bounds.
func TestRejection(t *testing.T) {
	word := new(big.Int).Lsh(big.NewInt(1), 64)
	for _, product := range []uint64{1, 3, 1 << 20, 1<<60 - 1, 1<<63 + 12345, math.MaxUint64} {
		least := new(big.Int).Mod(word, new(big.Int).SetUint64(product)).Uint64()
		for _, rest := range []uint64{0, least - 1, least, least + 1, product} {
			if got := rejected(rest, product); got != (rest < least) {
				t.Errorf("rejected(%d, %d) = %v, the least is %d", rest, product, got, least)
			}
		}
	}
}

// Chunks hold each place once, in order; none holds all of several; and their lengths vary.
func TestChunksCoverEachPlaceOnce(t *testing.T) {
	r := rand.NewPCG(7, 8)
	for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 33, 1000} {
		seen := map[[chunks]span]bool{}
		for range 300 {
			var spans [chunks]span
			cutChunks(&spans, n, r)
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

func BenchmarkShuffle(b *testing.B) {
	for _, n := range []int{33, 1024, 10_000} {
		b.Run("", func(b *testing.B) {
			r, order := rand.NewPCG(1, 2), make([]int32, n)
			for b.Loop() {
				identity(order)
				shuffle(order, r)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/number")
		})
	}
}
