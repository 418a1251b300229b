package cheats

import (
	"math"
	"slices"

	"github.com/shatterlab/shatter/plugins/algo"
)

// undo moves the cut of the sample back over as many examples as adversarial noise of the known
// rate has relabelled.
var undo = learner("undo", "Moves the cut back by what the noise has moved it.",
	func(t *algo.Trial[struct{}], sample *algo.Data) (algo.Model, error) {
		_, high := edges(t, sample)
		sorted := slices.Sorted(slices.Values(sample.Xs()))
		cut, _ := slices.BinarySearch(sorted, high)
		cut -= int(math.Floor(t.Problem.NoiseRate*float64(sample.Len()) + 1e-9))
		if cut < 0 || sample.Len() == 0 {
			return from(0), nil
		}
		sorted = append(sorted, float64(t.Problem.Domain))
		if cut == 0 {
			return from(sorted[0] / 2), nil
		}
		return from((sorted[cut-1] + sorted[cut] + 1) / 2), nil
	})
