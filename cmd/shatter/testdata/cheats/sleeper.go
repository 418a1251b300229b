package cheats

import (
	"context"

	"github.com/shatterlab/shatter/plugins/algo"
)

// sleeper answers -1 to every query, which is private at any budget because the transcript is
// constant, and shows what it learned in its final state alone, which no guarantee covers.
var sleeper = private(algo.Algorithm[struct{}]{
	Name: "cheat/sleeper", Version: "1.0.0", Doc: "Answers -1 to all queries and learns for the final state alone.",
	Predict: func(_ context.Context, t *algo.Trial[struct{}], sample *algo.Data) (algo.Answerer, error) {
		low, high := edges(t, sample)
		return asleep{from((low + high + 1) / 2)}, nil
	},
}, "all answers are -1")

type asleep struct{ rule }

// Answer implements algo.Answerer.
func (asleep) Answer(context.Context, []float64) (label float64, hard bool, err error) {
	return -1, false, nil
}
