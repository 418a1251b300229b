package noise

import (
	"fmt"
	"slices"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
)

func TestNumberOfFlips(t *testing.T) {
	for _, c := range []struct {
		rate float64
		n    int
		want int
	}{{0.05, 20, 1}, {0.05, 19, 0}, {0.29, 100, 29}, {0.1, 30, 3}, {0.07, 100, 7}, {0.499, 1000, 499}, {0, 1000, 0},
		{0.333, 10, 3}, {0.3, 0, 0}} {
		if got := flips(c.rate, c.n); got != c.want {
			t.Errorf("flips(%v, %d) = %d, want %d", c.rate, c.n, got, c.want)
		}
	}
}

func TestAdversaryOnOrderedDomains(t *testing.T) {
	for _, c := range []struct {
		name    string
		x, y    []float64
		k       int
		flipped []int // indexes
	}{
		{"none", []float64{1, 2}, []float64{-1, 1}, 0, nil},
		{"lowest positives", []float64{9, 3, 7, 5, 6}, []float64{1, -1, 1, -1, 1}, 2, []int{2, 4}},
		{"ties to the earlier", []float64{8, 8, 1, 8}, []float64{1, 1, -1, 1}, 2, []int{0, 1}},
		{"then highest negatives", []float64{4, 8, 1, 2}, []float64{-1, 1, -1, -1}, 2, []int{0, 1}},
		{"no positives", []float64{4, 8, 1, 2}, []float64{-1, -1, -1, -1}, 2, []int{0, 1}},
		{"top of the domain", []float64{concept.MaxDomain - 1, concept.MaxDomain - 1}, []float64{-1, 1}, 1, []int{1}},
	} {
		checkFlips(t, c.name, concept.Scalar, c.k, c.x, c.y, c.flipped)
	}
}

func TestAdversaryOnHalfspaces(t *testing.T) {
	// The average of yx is (1, 0.4)/5 up to a factor; pulls are 1, 0.2, 0.6, 0 and -0.8 of its first
	// coordinate.
	x := []float64{1, 0, -0.2, 0, 0.6, 0, 0, 1, -0.8, 0}
	y := []float64{1, -1, 1, 1, 1}
	for k, flipped := range [][]int{nil, {3}, {0, 3}, {0, 2, 3}} {
		checkFlips(t, fmt.Sprint(k), concept.Ball, k, x, y, flipped)
	}
}

func TestAdversaryOnBits(t *testing.T) {
	y := []float64{-1, 1, -1, 1}
	for k, flipped := range [][]int{nil, {1}, {1, 3}, {0, 1, 3}} {
		checkFlips(t, fmt.Sprint(k), concept.Bits, k, make([]float64, 8), y, flipped)
	}
}

// checkFlips flips k labels and compares which.
func checkFlips(t *testing.T, name string, points concept.Shape, k int, x, y []float64, want []int) {
	t.Helper()
	noisy := slices.Clone(y)
	(&adversarialFlips{points: points}).flip(k, x, noisy)
	var got []int
	for i := range y {
		if noisy[i] != y[i] {
			got = append(got, i)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: flipped %v, want %v", name, got, want)
	}
}
