package estimate

import (
	"math"
	"testing"
)

// What is predicted to be left, and what was read, are together near what a search reads in the end: over many searches and at every stage.
func TestLeft(t *testing.T) {
	for _, c := range []struct {
		star, slope float64
		within      float64
	}{{1000, 3, 1.5}, {8000, 3, 2}, {300, 5, 1.5}, {30000, 2, 2}} {
		var ratio float64 // mean of ln(predicted / real) at the stages
		stages := 0
		for seed := range uint64(20) {
			find := usual()
			find.Within = c.within
			w := world{rate: logistic(c.star, c.slope, find.Target), seed: seed}
			real := w.solve(t, find).Trials
			s, err := NewSearch(find)
			if err != nil {
				t.Fatal(err)
			}
			for !s.Done() {
				read, left := s.Result().Trials, int64(0)
				for _, b := range s.Left() {
					if b.First != 0 || b.Count < 1 {
						t.Fatalf("block %+v", b)
					}
					left += int64(b.Count)
				}
				if left == 0 {
					t.Fatalf("seed %d: nothing left after %d of %d trials", seed, read, real)
				}
				ratio += math.Log(float64(read+left) / float64(real))
				stages++
				for _, b := range s.Want() {
					w.run(s, b)
				}
			}
			if left := s.Left(); left != nil {
				t.Errorf("left when done: %v", left)
			}
		}
		if got := math.Exp(ratio / float64(stages)); got < 0.5 || got > 2 {
			t.Errorf("n* = %v, slope %v: predicted over real trials %.2f", c.star, c.slope, got)
		} else {
			t.Logf("n* = %v, slope %v: %.2f", c.star, c.slope, got)
		}
	}
}
