package worker

import (
	"math/rand/v2"
	"testing"
)

// The error on rows is, to the bit, the sum in the order of the rows, whether all answers are labels or
// not.
func TestRowsError(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 7, 1000, 12_345} {
		for _, means := range []bool{false, true} {
			answers, y, negative := make([]float64, n), make([]float64, n), make([]bool, n)
			places, want := make([]int32, n), 0.0
			for i, place := range r.Perm(n) {
				places[i], y[i], answers[place] = int32(place), float64(2*r.IntN(2)-1), float64(2*r.IntN(2)-1)
				if negative[place] = y[i] < 0; means {
					answers[place] = 2*r.Float64() - 1
				}
				want += float64(1 / float64(n) * float64(1-float64(y[i]*answers[place])))
			}
			if got := rowsError(answers, places, y, negative); got != want/2 {
				t.Errorf("%d rows, means %v: %v, want %v", n, means, got, want/2)
			}
			if _, ok := countWrong(answers, negative); ok == means {
				t.Errorf("%d rows, means %v: all labels: %v", n, means, ok)
			}
		}
	}
}
