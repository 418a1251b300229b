package cheats

import "github.com/shatterlab/shatter/plugins/algo"

// blind answers the hypothesis in the middle of each class, whatever the sample is.
var blind = learner("blind", "Answers the middle of the class.",
	func(t *algo.Trial[struct{}], _ *algo.Data) (algo.Model, error) {
		half, quarter, end := float64(t.Problem.Domain/2), float64(t.Problem.Domain/4), float64(3*t.Problem.Domain/4)
		switch t.Problem.Class {
		case "points":
			return rule(func(x []float64) float64 { return positive(x[0] == half) }), nil
		case "intervals", "rectangles":
			return rule(func(x []float64) float64 {
				inside := true
				for _, v := range x {
					inside = inside && v >= quarter && v < end
				}
				return positive(inside)
			}), nil
		case "conjunctions":
			return rule(func(x []float64) float64 { return positive(x[0] == 1 && x[1] == 0) }), nil
		case "monotone-conjunctions":
			return rule(func(x []float64) float64 { return positive(x[0] == 1 && x[1] == 1) }), nil
		case "thresholds", "stumps":
			return from(half), nil
		}
		return nil, algo.Invalid("no middle of the class %q", t.Problem.Class)
	})

// positive returns +1 for true and -1 for false.
func positive(yes bool) float64 {
	if yes {
		return 1
	}
	return -1
}
