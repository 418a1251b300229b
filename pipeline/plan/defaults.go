package plan

import (
	"cmp"
	"time"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// searchOf returns the search for n* with its defaults, nil where n is a list.
func searchOf(g *sweep.Block) *trial.Find {
	if g.N == nil || len(g.Sizes) > 0 {
		return nil
	}
	return &trial.Find{
		From:       cmp.Or(g.N.From, schemas.DefaultFrom),
		To:         cmp.Or(g.N.To, schemas.DefaultTo),
		Within:     cmp.Or(g.N.Within, schemas.DefaultWithin),
		Confidence: cmp.Or(g.N.Confidence, schemas.DefaultConfidence),
	}
}

// trialsOf returns the number of repetitions of a grid with a list of n.
func trialsOf(g *sweep.Block) int64 {
	if g.Trials == nil {
		return schemas.DefaultTrials
	}
	return cmp.Or(g.Trials.Count, schemas.DefaultTrials)
}

// maxTrials is the number of trials that one search of the grid may use.
func maxTrialsOf(g *sweep.Block) int64 {
	if g.Trials == nil {
		return schemas.DefaultMaxTrials
	}
	return cmp.Or(g.Trials.Max, schemas.DefaultMaxTrials)
}

// limits are the grid's limits with their defaults.
func limitsOf(g *sweep.Block) trial.Limits {
	l := schemas.Limits{}
	if g.Limits != nil {
		l = *g.Limits
	}
	return trial.Limits{
		Trial:  time.Duration(cmp.Or(l.Trial, schemas.DefaultTrialTime)),
		Memory: int64(cmp.Or(l.Memory, schemas.DefaultMemory)),
	}
}
