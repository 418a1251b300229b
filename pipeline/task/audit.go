package task

import (
	"github.com/shatterlab/shatter/pipeline/audit"
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

var auditing = Task{
	Name: "audit",
	Wire: pluginv1.Task_TASK_LEARN, // plugins have no task audit
	Doc:  "one of two neighboring samples in, a model out: tests the privacy that an algorithm claims",
	Keys: []Key{
		{Path: "n", Need: ": a list of sample sizes"},
		{Path: "goal", Need: ": {alpha: 0.1, beta: 0.05}, which the algorithms get as in task learn"},
	},
	Listed:  true,
	Private: true,
	Metrics: audit.Metrics(),
	Change: func(s audit.Sample, repetition int64, coin uint64) (side int, probes []float64) {
		side = audit.Side(repetition, coin)
		return side, audit.Pairs[audit.PairOf(repetition)].Choose(s, side)
	},
	Decide: func(c audit.Claim) estimate.Decider { return audit.NewDecider(c) },
	Least:  audit.Claim.Least,
	Play:   Player.AskProbes,
}
