package estimate

import (
	"fmt"
	"strings"
	"testing"
)

// overPositions returns a search over the positions of k values.
func overPositions(k int) Find {
	return Find{From: 1, To: int64(k), Within: 1, Gap: 2, Confidence: 0.8, Target: 0.9, Cells: 1, MaxTrials: 20_000,
		Ends: true}
}

// TestWrongDirection checks the reason of a search along which success falls because its
// direction is wrong. It must use the names of the searched values.
func TestWrongDirection(t *testing.T) {
	for _, k := range []int{2, 5, 21, 60} {
		for name, rate := range map[string]func(n int64) float64{
			"at once":   func(n int64) float64 { return []float64{1, 0}[min(1, n-1)] },
			"gradually": func(n int64) float64 { return 1 - float64(n-1)/float64(k-1) },
		} {
			unsaid := 0
			for seed := range uint64(20) {
				s, err := NewSearch(overPositions(k))
				if err != nil {
					t.Fatal(err)
				}
				s.say, s.fall, s.remedy = func(n int64) string { return fmt.Sprintf("x = %d", n) }, "x is wrong", "turn it round"
				w := world{rate: rate, seed: seed}
				for !s.Done() {
					for _, b := range s.Want() {
						w.run(s, b)
					}
				}
				r := s.Result()
				said := (r.Status == StatusNotMonotone || r.Status == StatusUndecided) &&
					strings.HasPrefix(r.Reason, "x is wrong: ") && strings.HasSuffix(r.Reason, "; turn it round")
				if !said || strings.Contains(r.Reason, "n =") || !strings.Contains(r.Reason, "x = ") {
					t.Logf("%d values, %s, seed %d: %s (%s), bracket %d to %d", k, name, seed, r.Status, r.Reason, r.Low, r.High)
					unsaid++
				}
			}
			if unsaid > 2 {
				t.Errorf("%d values, %s: %d of 20 searches do not say that success falls", k, name, unsaid)
			}
		}
	}
}
