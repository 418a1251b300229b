package compare

import (
	"fmt"
	"math"
	"testing"

	"github.com/shatterlab/shatter/pipeline/result"
)

// What was compared, in words.
func TestEvidenceInWords(t *testing.T) {
	for _, c := range []struct {
		evidence evidence
		want     string
	}{
		{evidence{}, "no trials at one n"},
		{
			evidence{sameData: true, sameAdversary: true, sizes: []int{256, 640}, trialsA: 1024, trialsB: 1024},
			"paired over 1024 trials at n = 256, 640: same data",
		},
		{
			evidence{sameData: true, sizes: []int{256}, trialsA: 10, trialsB: 10},
			"paired over 10 trials at n = 256: same data, other adversary",
		},
		{
			evidence{sizes: []int{1, 2, 3, 4, 5, 6}, trialsA: 9, trialsB: 9},
			"unpaired over 9 trials each at n = 1, 2, 3, 4 and 2 more: other data",
		},
	} {
		if got := c.evidence.String(); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// A trial that failed is worse than any error, and two that failed are equal.
func TestPairsOfFailedTrials(t *testing.T) {
	nan := math.NaN()
	c := &evidence{sameData: true}
	x := &result.Outcomes{Success: []bool{false, true, false, true}, Error: []float64{nan, 0.1, nan, 0.1}}
	y := &result.Outcomes{Success: []bool{false, false, true}, Error: []float64{0.5, nan, 0.1}}
	c.addPairs(x, y)
	got := fmt.Sprint(c.trialsA, c.successesA, c.successesB, c.onlyA, c.onlyB, c.lessA, c.lessB)
	if got != "3 1 1 1 1 1 2" {
		t.Error(got)
	}
	failed := &result.Outcomes{Success: []bool{false}, Error: []float64{nan}}
	c.addPairs(failed, failed)
	if c.lessA != 1 || c.lessB != 2 {
		t.Errorf("%+v", c)
	}
}
