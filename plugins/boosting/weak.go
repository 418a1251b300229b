package boosting

import (
	"cmp"
	"math"
	"slices"

	"github.com/shatterlab/shatter/pipeline/matrix"
	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/plugins/algo"
)

// A hypothesis is the result of a weak learner.
type hypothesis interface {
	// answer writes h(x), a number in [-1, 1] except for noise, of each row of x, a point of d
	// numbers.
	answer(out, x []float64, d int)
}

// A weakKind is a kind of weak learner for boosting/boost. To add one, add it to weakKinds and to
// the choices of BoostParams.Weak.
type weakKind struct {
	name string
	ball bool // requires points of the unit ball, and supports noise

	// advantage returns the default advantage on points of a margin; 0 for none.
	advantage func(margin float64) float64

	// begin returns the learner of one sample. The learner receives the signed weights p_i y_i of
	// the examples, where the p_i sum to 1, and must not retain them. noise draws noise for one
	// coordinate.
	begin func(sample *algo.Data, noise func() float64) func(signed []float64) hypothesis
}

var weakKinds = []weakKind{
	{"stump", false, guessed, func(sample *algo.Data, _ func() float64) func([]float64) hypothesis {
		return newStumps(sample).best
	}},
	{Unit, true, func(margin float64) float64 { return orGuessed(margin, margin/2) }, centers(true)},
	{Raw, true, func(margin float64) float64 { return orGuessed(margin, margin*margin/2) }, centers(false)},
	{"constant", false, guessed, func(*algo.Data, func() float64) func([]float64) hypothesis { return constant }},
}

// weakKindOf returns the weak learner with that name.
func weakKindOf(name string) weakKind {
	return weakKinds[slices.IndexFunc(weakKinds, func(w weakKind) bool { return w.name == name })]
}

// guessed returns the default advantage of a weak learner without a known one.
func guessed(float64) float64 { return 0.1 }

// orGuessed returns the advantage that follows from a margin, if there is one.
func orGuessed(margin, advantage float64) float64 {
	if margin == 0 {
		return guessed(margin)
	}
	return advantage
}

// A cut is the hypothesis that is side for points whose coordinate is at least at, and -side for
// others.
type cut struct {
	coordinate int
	at, side   float64
}

func (c cut) answer(out, x []float64, d int) {
	for i := range out {
		if x[i*d+c.coordinate] >= c.at {
			out[i] = c.side
		} else {
			out[i] = -c.side
		}
	}
}

// constant returns the label with the larger weight for every point.
func constant(signed []float64) hypothesis {
	sum := 0.0
	for _, w := range signed {
		sum += w
	}
	return cut{at: math.Inf(-1), side: math.Copysign(1, sum)}
}

// stumps finds the best cuts of a sample.
type stumps struct {
	sample *algo.Data
	order  [][]int32 // examples in increasing order, by coordinate
}

func newStumps(sample *algo.Data) *stumps {
	s := &stumps{sample: sample, order: make([][]int32, sample.Dim())}
	for j := range s.order {
		s.order[j] = make([]int32, sample.Len())
		for i := range s.order[j] {
			s.order[j][i] = int32(i)
		}
		slices.SortStableFunc(s.order[j], func(a, b int32) int {
			return cmp.Compare(sample.X(int(a))[j], sample.X(int(b))[j])
		})
	}
	return s
}

// best returns the cut with the largest sum_i p_i y_i h(x_i); ties go to the first one in the order
// of coordinates and then of places. A constant counts as a cut below all points.
func (s *stumps) best(signed []float64) hypothesis {
	best, most := cut{}, math.Inf(-1)
	for j, order := range s.order {
		total := 0.0
		for _, i := range order {
			total += signed[i]
		}
		below, at := 0.0, math.Inf(-1)
		for k, i := range order {
			x := s.sample.X(int(i))[j]
			if k > 0 {
				last := s.sample.X(int(order[k-1]))[j]
				if last == x {
					below += signed[i]
					continue
				}
				if at = last + (x-last)/2; !(at > last) {
					at = x
				}
			}
			if edge := total - 2*below; math.Abs(edge) > most {
				most, best = math.Abs(edge), cut{j, at, math.Copysign(1, edge)}
			}
			below += signed[i]
		}
	}
	return best
}

// direction is the hypothesis <v, x>.
type direction []float64

func (v direction) answer(out, x []float64, _ int) { numeric.RowProducts(out, x, v) }

// centers returns the begin function of the centering learner, whose vector is the noisy mean of y
// x, or its unit vector.
func centers(unit bool) func(*algo.Data, func() float64) func([]float64) hypothesis {
	return func(sample *algo.Data, noise func() float64) func([]float64) hypothesis {
		return func(signed []float64) hypothesis {
			v := make(direction, sample.Dim())
			matrix.AddRows(v, sample.Xs(), signed)
			for j := range v {
				v[j] += noise()
			}
			if length := math.Sqrt(numeric.Dot(v, v)); unit && length > 0 {
				scaled(v, 1/length)
			}
			return v
		}
	}
}
