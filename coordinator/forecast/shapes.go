package forecast

import "math"

// A shape says how success grows around n*: its slope there, and what becomes of it further away.
type shape struct {
	slope  float64 // of the logit of success in ln n, at n*
	tail   tail
	weight float64 // before anything is known
}

// A tail is a kind of curve.
type tail int

const (
	logistic    tail = iota // the odds of success are a power of n
	exponential             // misses die out exponentially in a power of n
	heavy                   // misses die out like a power of n; below n* success does, exponentially
)

// slopes lists the slopes that learning curves have, with their prior weights. Those of the 63 searches
// of the examples quickstart and parities that end with a bracket have the quartiles 4, 5 and 7, two in
// three lie from 3 to 7, and one of them below 2. The weights are spread more widely, with a fifth below
// 2: other learners may be as unsure as that, where targets are not equally hard or noise has heavy
// tails, and these are the searches that take most. Trials of a plan or of the search itself soon say
// more.
var slopes = []struct{ slope, weight float64 }{
	{0.4, 0.03}, {0.6, 0.04}, {0.9, 0.05}, {1.4, 0.07}, {2.1, 0.1}, {3.1, 0.19}, {4.6, 0.23}, {7, 0.17}, {11, 0.08},
	{17, 0.04},
}

// tails lists the weights of the kinds of curves: nothing is known that would prefer one.
var tails = [...]float64{logistic: 0.35, exponential: 0.35, heavy: 0.3}

// shapes lists all shapes.
var shapes = func() (all []shape) {
	for _, s := range slopes {
		for kind, weight := range tails {
			all = append(all, shape{s.slope, tail(kind), s.weight * weight})
		}
	}
	return all
}()

// rate returns the chance of success at z times n*, which is target at 1.
func (s shape) rate(z, target float64) float64 {
	switch s.tail {
	case exponential:
		power := s.slope * target / -math.Log(1-target)
		return 1 - math.Pow(1-target, math.Pow(z, power))
	case heavy:
		power := s.slope * (1 - target) / -math.Log(target)
		return math.Pow(target, math.Pow(z, -power))
	default:
		return 1 / (1 + (1-target)/target*math.Pow(z, -s.slope))
	}
}
