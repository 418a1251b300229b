package cheats

import (
	"fmt"
	"math"

	"github.com/shatterlab/shatter/plugins/algo"
)

// blocks solves the equations of solve in each block of d examples, and answers the solution that
// enough blocks agree on, up to noise: one example changes one block, so a solution that many
// blocks have may be told (the stability-based histogram of Korolova et al. 2009).
var blocks = learner("blocks", "Solves the equations of an exact margin in blocks that vote.",
	func(t *algo.Trial[struct{}], sample *algo.Data) (algo.Model, error) {
		d, votes, solutions := sample.Dim(), map[string]int{}, map[string][]float64{}
		best := ""
		for i := 0; i+d <= sample.Len(); i += d {
			normal, err := solution(sample.Xs()[i*d:(i+d)*d], sample.Ys()[i:i+d], t.Problem.Margin)
			if err != nil {
				return nil, err
			}
			name := fmt.Sprintf("%.2f", normal)
			votes[name]++
			if solutions[name] = normal; votes[name] > votes[best] {
				best = name
			}
		}
		if float64(votes[best])+laplace(t, 2/t.Epsilon) <= 1+2*math.Log(2/t.Delta)/t.Epsilon {
			return rule(func([]float64) float64 { return 1 }), nil
		}
		return along(solutions[best]), nil
	})

func init() {
	blocks.Guarantee = func(s *algo.Setting[struct{}]) (algo.Guarantee, error) {
		return algo.Guarantee{Epsilon: s.Epsilon, Delta: s.Delta, Source: "stability-based histogram"}, nil
	}
}
