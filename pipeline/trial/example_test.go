package trial_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/trial"
)

// A stream of randomness depends only on a key, the sample size and the repetition: every process
// draws the same points of a trial.
func ExampleSeed() {
	key, err := trial.KeyOf(map[string]any{"format": trial.Format, "seed": 1, "problem": "of an example"})
	if err != nil {
		fmt.Println(err)
		return
	}
	hi, lo := trial.Seed(key, trial.Points, 100, 7)
	points := rand.New(rand.NewPCG(hi, lo))
	fmt.Println(key.Short(), points.Uint64N(1000), points.Uint64N(1000))
	// Output: m3bdb9ba68 390 605
}
