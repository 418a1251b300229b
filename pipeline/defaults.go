package pipeline

import (
	"cmp"
	"time"

	"github.com/shatterlab/shatter/schemas"
)

// searchOf returns the search for n* with its defaults, nil where n is a list.
func searchOf(g *grid) *Find {
	if g.N == nil || len(g.list) > 0 {
		return nil
	}
	return &Find{
		From:       cmp.Or(g.N.From, schemas.DefaultFrom),
		To:         cmp.Or(g.N.To, schemas.DefaultTo),
		Within:     cmp.Or(g.N.Within, schemas.DefaultWithin),
		Confidence: cmp.Or(g.N.Confidence, schemas.DefaultConfidence),
	}
}

// trialsOf returns the number of repetitions of a grid with a list of n.
func trialsOf(g *grid) int64 {
	if g.Trials == nil {
		return schemas.DefaultTrials
	}
	return cmp.Or(g.Trials.Count, schemas.DefaultTrials)
}

// maxTrials is the number of trials that one search of the grid may use.
func maxTrialsOf(g *grid) int64 {
	if g.Trials == nil {
		return schemas.DefaultMaxTrials
	}
	return cmp.Or(g.Trials.Max, schemas.DefaultMaxTrials)
}

// limits are the grid's limits with their defaults.
func limitsOf(g *grid) Limits {
	l := schemas.Limits{}
	if g.Limits != nil {
		l = *g.Limits
	}
	return Limits{
		Trial:  time.Duration(cmp.Or(l.Trial, schemas.DefaultTrialTime)),
		Memory: int64(cmp.Or(l.Memory, schemas.DefaultMemory)),
	}
}
