package task

import (
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Metrics of games. The loss of an answer a to the truth y is (1 - y a)/2.
const (
	Mistakes = pluginv1.Mistakes
	Loss     = "loss"
	BestLoss = "best_loss"
	Regret   = pluginv1.Regret
)

var online = Task{
	Name: "online",
	Wire: pluginv1.Task_TASK_ONLINE,
	Doc:  "rounds of point, prediction, truth",
	Keys: []Key{
		{Path: "rounds", Need: ": in task online it takes the place of n",
			Note: "but the rounds of an algorithm stand next to its use"},
		{Path: "adversary", Need: " in task online: {kind: planted, rate: 0.05} plays points of the distribution, labelled " +
			"by a target"},
		{Path: "goal"},
	},
	Instead: map[string]string{
		"n": `not allowed in task online; list the game lengths under "rounds" instead`,
		"goal.reference": "does not apply to task online, where the reference is the best hypothesis in hindsight; " +
			"leave it out",
		"goal.answers": "does not apply to task online, where answers are means of labels",
		"problem.test": "does not apply to task online, where every round is scored; leave it out",
	},
	Adversary:    true,
	GoalOptional: true,
	Game:         "rounds of point, prediction, truth",
	Success:      "regret per round",
	Judged:       Regret,
	Metrics: []schemas.Metric{
		{Name: Mistakes, Unit: "rounds", Doc: "labels that were not the truth, over all rounds; where the answer was a " +
			"mean the worker drew the label"},
		{Name: Loss, Unit: "mistakes", Doc: "loss of the answers, over all rounds"},
		{Name: BestLoss, Unit: "mistakes", Doc: "least loss of a hypothesis of the class in hindsight, L*"},
		{Name: Regret, Unit: "mistakes", Doc: "loss less best_loss: negative where the learner did better"},
	},
	Trips: func(n int64, _ int) int64 { return n },
	Play:  Player.PlayRounds,
}
