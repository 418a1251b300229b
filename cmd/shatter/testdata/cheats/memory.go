package cheats

import (
	"math"

	"github.com/shatterlab/shatter/plugins/algo"
)

// seen holds the examples of all trials of this process, by class.
var seen = map[string]*examples{}

type examples struct{ x, y []float64 }

// memory labels a point as the nearest example of any trial on the class that this process has
// seen.
var memory = learner("memory", "Labels points by the examples of all trials so far.",
	func(t *algo.Trial[struct{}], sample *algo.Data) (algo.Model, error) {
		const most = 2000
		all := seen[t.Problem.Class]
		if all == nil {
			all = &examples{}
			seen[t.Problem.Class] = all
		}
		if len(all.y) < most {
			all.x, all.y = append(all.x, sample.Xs()...), append(all.y, sample.Ys()...)
		}
		return rule(all.nearest), nil
	})

// nearest returns the label of the example next to a point.
func (e *examples) nearest(x []float64) (label float64) {
	least := math.Inf(1)
	for i, y := range e.y {
		squared := 0.0
		for j, v := range x {
			away := v - e.x[i*len(x)+j]
			squared += away * away
		}
		if squared < least {
			least, label = squared, y
		}
	}
	return label
}
