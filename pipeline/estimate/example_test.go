package estimate_test

import (
	"fmt"

	"github.com/shatterlab/shatter/pipeline/estimate"
)

// Trials with at least 100 examples succeed, all others do not. The bracket does not contain
// refused sizes: 86 was shown insufficient and 128 sufficient.
func ExampleSearch() {
	s, err := estimate.NewSearch(estimate.Find{
		From: 16, To: 1024, Within: 1.5, Confidence: 0.95, Target: 0.9, Cells: 1, MaxTrials: 1000,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for !s.Done() {
		for _, block := range s.Want() {
			outcome := estimate.Miss
			if block.N >= 100 {
				outcome = estimate.Success
			}
			for rep := block.First; rep < block.First+block.Count; rep++ {
				s.Add(block.N, rep, outcome)
			}
		}
	}
	r := s.Result()
	fmt.Printf("%s after %d trials: %d < n* <= %d\n", r.Status, r.Trials, r.Low, r.High)
	for _, p := range r.Points {
		fmt.Printf("n = %d: %d of %d succeeded\n", p.N, p.Successes, p.Consumed)
	}
	// Output:
	// decided after 104 trials: 86 < n* <= 128
	// n = 16: 0 of 8 succeeded
	// n = 29: 0 of 4 succeeded
	// n = 32: 0 of 8 succeeded
	// n = 64: 0 of 8 succeeded
	// n = 70: 0 of 4 succeeded
	// n = 78: 0 of 8 succeeded
	// n = 86: 0 of 8 succeeded
	// n = 128: 48 of 48 succeeded
	// n = 166: 4 of 4 succeeded
	// n = 495: 4 of 4 succeeded
}

// 19 of 20 trials succeeded: the success probability lies between these limits with confidence 95
// %.
func ExampleClopperPearson() {
	low, high := estimate.ClopperPearson(19, 0, 20, 0.05)
	fmt.Printf("%.3f to %.3f\n", low, high)
	// Output: 0.751 to 0.999
}
