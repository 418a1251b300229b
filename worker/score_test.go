package worker

import (
	"math/rand/v2"
	"testing"
)

// The error by the number of wrong answers is that of the answers in the order of the rows, to the bit.
func TestShareWrong(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 7, 1000, 12_345} {
		answers, y, negative := make([]float64, n), make([]float64, n), make([]bool, n)
		places := make([]int32, n)
		for i, place := range r.Perm(n) {
			places[i], y[i], answers[place] = int32(place), float64(2*r.IntN(2)-1), float64(2*r.IntN(2)-1)
			negative[place] = y[i] < 0
		}
		wrong := countWrong(answers[:n/2], negative) + countWrong(answers[n/2:], negative[n/2:])
		if got, want := shareWrong(wrong, n), rowsError(answers, places, y); got != want {
			t.Errorf("%d rows, %d wrong: %v, want %v", n, wrong, got, want)
		}
	}
}
