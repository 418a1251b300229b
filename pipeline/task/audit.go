package task

import (
	"github.com/shatterlab/shatter/pipeline/audit"
	"github.com/shatterlab/shatter/pipeline/estimate"
)

// Plugins have no tasks for audits.
var (
	auditing = auditOf(learn, Task{
		Doc: "one of two neighboring samples in, a model out: tests the privacy that an algorithm claims",
	})
	auditingQueries = auditOf(predict, Task{
		Doc: "one of two neighboring samples in, then answers to queries: tests the privacy that an algorithm claims",
		Keys: []Key{
			{Path: "queries", Need: " in task audit-predict: how many are asked, half of them about each of two points"},
		},
		Trips: predict.Trips,
	})
)

// auditOf completes the task that audits algorithms of another one.
func auditOf(audited, t Task) Task {
	t.Name, t.Wire = "audit", audited.Wire
	if audited.Name != Default {
		t.Name += "-" + audited.Name
	}
	t.Keys = append([]Key{
		{Path: "n", Need: ": a list of sample sizes"},
		{Path: "goal", Need: ": {alpha: 0.1, beta: 0.05}, which the algorithms get as in task " + audited.Name},
	}, t.Keys...)
	t.Listed, t.Private = true, true
	t.Metrics = audit.Metrics(audited.Adversary)
	t.Change = func(s audit.Sample, repetition int64, coin uint64) (side int, probes []float64) {
		side = audit.Side(repetition, coin)
		return side, audit.Pairs[audit.PairOf(repetition)].Choose(s, side)
	}
	t.Decide = func(c audit.Claim) estimate.Decider { return audit.NewDecider(c) }
	t.Least, t.Play = audit.Claim.Least, Player.AskProbes
	return t
}
