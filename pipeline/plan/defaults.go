package plan

import (
	"cmp"
	"time"

	"github.com/shatterlab/shatter/pipeline/problem/noise"
	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// searchOf returns the grid's search for n* with defaults; nil if the sample sizes are listed.
func searchOf(b *sweep.Block) *trial.Find {
	if b.N == nil || len(b.Sizes) > 0 || b.Search != nil {
		return nil
	}
	return &trial.Find{
		From:       cmp.Or(b.N.From, schemas.DefaultFrom),
		To:         cmp.Or(b.N.To, schemas.DefaultTo),
		Within:     cmp.Or(b.N.Within, schemas.DefaultWithin),
		Confidence: cmp.Or(b.N.Confidence, schemas.DefaultConfidence),
		Monotone:   b.N.Monotone,
	}
}

// setNoisySizes limits the sample sizes of a search to those with a wrong label, if the noise turns a fixed number of
// labels. Then it limits them to multiples at which the noise has exactly its rate, if the range has enough.
func setNoisySizes(f *trial.Find, n schemas.Noise) {
	const minMultiples = 8
	if first := noise.FirstWrong(n); first <= f.To {
		f.From = max(f.From, first)
	}
	if step := noise.Step(n); step > 1 && f.To >= minMultiples*max(step, f.From) {
		f.Step = step
	}
}

// trialsOf returns the repetitions per sample size of a grid with listed sizes.
func trialsOf(b *sweep.Block) int64 {
	return cmp.Or(cmp.Or(b.Trials, new(schemas.Trials)).Count, schemas.DefaultTrials)
}

// maxTrialsOf returns the limit of trials per search.
func maxTrialsOf(b *sweep.Block) int64 {
	return cmp.Or(cmp.Or(b.Trials, new(schemas.Trials)).Max, schemas.DefaultMaxTrials)
}

// TimeLimits returns the maximal time limits in the file.
func TimeLimits(f *sweep.File) (longest trial.Limits) {
	for _, b := range f.Blocks() {
		l := limitsOf(b)
		longest.Trial, longest.Start = max(longest.Trial, l.Trial), max(longest.Start, l.Start)
	}
	return longest
}

// limitsOf returns the grid's limits with their defaults.
func limitsOf(b *sweep.Block) trial.Limits {
	l := cmp.Or(b.Limits, new(schemas.Limits))
	return trial.Limits{
		Trial:  time.Duration(cmp.Or(l.Trial, schemas.DefaultTrialTime)),
		Start:  time.Duration(cmp.Or(l.Start, schemas.DefaultStartTime)),
		Memory: int64(cmp.Or(l.Memory, schemas.DefaultMemory)),
	}
}
