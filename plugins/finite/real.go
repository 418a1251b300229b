package finite

import (
	"math"

	"github.com/shatterlab/shatter/plugins/algo"
)

// Losses of a value a in [-1, +1] for the truth y, -1 or +1. Both are in [0, 1].
const (
	AbsoluteLoss = "absolute" // |a - y|/2, the probability of a mistake if a is the mean of the label
	SquaredLoss  = "squared"  // (a - y)^2/4
)

// Real is a class of functions with real values, made of a class of hypotheses: all c f for its
// hypotheses f and the confidences c = 1/Levels, 2/Levels, ..., 1. The value c f(x) is the mean of
// a label that is f(x) with probability (1+c)/2.
//
// Under either loss c f loses base(c) if f is right and base(c) + c if f errs. On n examples on
// which f errs k times, with noise c <xi, s_f> for the sign vector s_f of f, its objective is
//
//	n base(c) + c (k + <xi, s_f>),
//
// so one f is the best for all c: a search over the hypotheses is a search over the functions.
type Real struct {
	Loss   string
	Levels int
}

// Check returns an Invalid error, which starts with prefix, if the loss is not allowed for the
// class.
func (r Real) Check(prefix string) error {
	if r.Loss == SquaredLoss && r.Levels == 1 {
		return algo.Invalid("%s: loss %s is the number of mistakes if all values are -1 and +1: "+
			"use levels 2 or more, or loss %s", prefix, r.Loss, AbsoluteLoss)
	}
	return nil
}

// Of returns the loss of the value a for the truth y.
func (r Real) Of(a, y float64) float64 {
	d := math.Abs(a-y) / 2
	if r.Loss == SquaredLoss {
		d *= d
	}
	return d
}

// Best returns the first c with the least n base(c) + c value + tilt sqrt(1-c^2), and that minimum.
// Without noise value is the number of mistakes of the best hypothesis, and tilt is 0.
func (r Real) Best(n, value, tilt float64) (c, least float64) {
	least = math.Inf(1)
	for k := 1; k <= r.Levels; k++ {
		at := r.level(k)
		v := float64(n*r.Of(at, 1)) + float64(at*value) + float64(tilt*math.Sqrt(1-float64(at*at)))
		if v < least {
			c, least = at, v
		}
	}
	return c, least
}

func (r Real) level(k int) float64 { return float64(k) / float64(r.Levels) }

// LogSize returns the logarithm of the number of functions, given that of the hypotheses.
func (r Real) LogSize(lnF float64) float64 { return lnF + math.Log(float64(r.Levels)) }

// Separation returns the least squared distance of two functions on m points at which any two of
// the hypotheses differ at h or more: plain is the distance of the vectors c s_f, with unit sign
// vectors s_f, and lifted that of the unit vectors (c s_f, sqrt(1-c^2)).
//
// For two hypotheses with one c the distance is least at the least c, and for one f with two values
// of c at adjacent values; if both differ the distance is larger.
func (r Real) Separation(h, m int) (lifted, plain float64) {
	lowest := r.level(1)
	plain = float64(lowest*lowest) * 4 * float64(h) / float64(m)
	lifted = plain
	for k := 1; k < r.Levels; k++ {
		c, d := r.level(k), r.level(k+1)
		plain = min(plain, float64((d-c)*(d-c)))
		inner := float64(c*d) + math.Sqrt(float64((1-float64(c*c))*(1-float64(d*d))))
		lifted = min(lifted, 2-2*inner)
	}
	return lifted, plain
}
