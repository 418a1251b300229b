package problem

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem/adversary"
	"github.com/shatterlab/shatter/pipeline/problem/blame"
	"github.com/shatterlab/shatter/pipeline/problem/law"
	"github.com/shatterlab/shatter/pipeline/problem/noise"
	"github.com/shatterlab/shatter/pipeline/problem/population"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Problem is an opened problem. It is immutable: any number of Drawers may share one.
type Problem struct {
	spec    schemas.Problem
	class   concept.Spec
	rows    *population.Rows   // the data; nil for a law
	sampler func() law.Sampler // makes one for each drawer
	exact   *law.Points        // what an exact evaluation runs over; nil where there is a test sample
	decoys  *law.Decoys        // what an exact evaluation asks about beside; nil: nothing
	view    *adversary.View    // what adversaries know
}

// Open makes a problem ready to draw from; an unresolved one is resolved first. file is the local
// path of its data or class matrix, "" where it has neither; the digest that p states is verified
// before anything in the file is decoded. The error is an *Error.
func Open(p schemas.Problem, file string) (*Problem, error) {
	o := &Problem{spec: p.At(file)}
	read, err := resolve(&o.spec)
	if err != nil {
		return nil, err
	}
	o.class, o.rows = law.Spec(&o.spec, read.matrix), read.rows
	if o.rows != nil {
		o.sampler = func() law.Sampler { return population.Sampler{Rows: o.rows} }
		if o.spec.Disguise {
			o.sampler = func() law.Sampler { return population.NewDisguised(o.rows) }
		}
		o.exact = &law.Points{X: o.rows.X, Y: o.rows.Y}
	} else {
		opened := law.Open(&o.spec, read.matrix)
		o.sampler, o.exact, o.decoys = opened.Sampler, opened.Support, opened.Decoys
	}
	o.view = adversary.NewView(&o.spec, read.matrix)
	return o, nil
}

// Public returns what algorithms may know: never the target, never the population.
func (p *Problem) Public() *pluginv1.Problem {
	return &pluginv1.Problem{
		Class:      p.class.Name,
		Domain:     p.class.Domain,
		Dim:        uint32(p.class.Dim),
		Margin:     p.spec.Margin,
		Noise:      p.spec.Noise.Kind,
		NoiseRate:  p.spec.Noise.Rate,
		NoConstant: p.class.NoConstant,
		Realizable: p.rows == nil,
		RealData:   p.rows != nil,
		Matrix:     p.class.Matrix,
		Target:     p.targetLaw(),
		Literals:   uint32(p.spec.Literals),
	}
}

// targetLaw returns what algorithms may know of the target: how it is chosen.
func (p *Problem) targetLaw() string {
	switch p.spec.Target {
	case "", concept.RandomTarget, concept.UniformTarget:
		return p.spec.Target
	}
	return "fixed"
}

// Dim returns the number of numbers of a point.
func (p *Problem) Dim() int { return p.class.Dim }

// Exact reports whether the evaluation is exact: over the whole support of the law, or over all
// rows of the data.
func (p *Problem) Exact() bool { return p.exact != nil }

// Weights returns the weights of the evaluation points of a trial, which sum to 1; nil where all
// weigh the same. They are shared: do not write to them.
func (p *Problem) Weights() []float64 {
	if p.exact == nil {
		return nil
	}
	return p.exact.W
}

// How states before the final one of task predict are measured: over the whole support of the law
// if that has at most SmallSupport points, and else on fresh points, FirstProbed of them at first.
const (
	SmallSupport = 256
	FirstProbed  = 64
)

// LeastTest returns the least number of fresh points that an error of a trial is measured on; 0 if
// each is computed exactly. states says that those of states before the final one count.
func (p *Problem) LeastTest(states bool) int {
	switch {
	case p.Exact() && (!states || len(p.exact.X)/p.class.Dim <= SmallSupport):
		return 0
	case p.Exact():
		return FirstProbed
	case states:
		return min(FirstProbed, p.spec.Test)
	}
	return p.spec.Test
}

// Evaluation returns "exact", or the size of the evaluation sample.
func (p *Problem) Evaluation() string {
	if p.Exact() {
		return "exact"
	}
	return strconv.Itoa(p.spec.Test)
}

// Disguised reports whether the evaluation points are rows of data that look different in each
// trial.
func (p *Problem) Disguised() bool { return p.spec.Disguise }

// Population returns the features of all rows of the data, row-major and scaled; nil for a law, and
// for rows in disguise. They are shared: do not write to them.
func (p *Problem) Population() (x []float64, dim int) {
	if p.rows == nil || p.Disguised() {
		return nil, p.class.Dim
	}
	return p.rows.X, p.class.Dim
}

// Rows returns the number of rows of the data; 0 for a law.
func (p *Problem) Rows() int {
	if p.rows == nil {
		return 0
	}
	return len(p.rows.Y)
}

// Pulled returns the number of rows of the data that lay beyond the stated scale, by their norm or
// by any one value, and were pulled back to it; 0 for a law.
func (p *Problem) Pulled() int {
	if p.rows == nil {
		return 0
	}
	return p.rows.Pulled
}

// Positive returns the number of rows of the data whose label is +1; 0 for a law.
func (p *Problem) Positive() (count int) {
	if p.rows == nil {
		return 0
	}
	for _, y := range p.rows.Y {
		if y > 0 {
			count++
		}
	}
	return count
}

// Floor returns the error that no learner can be promised to come below, however large its sample:
// the rate of noise that hides the target, unless each point has so much weight that most of its
// labels stay right. It is 0 for data, which have a target of no class.
func (p *Problem) Floor() float64 {
	rate := p.spec.Noise.Rate
	if p.rows != nil || !noise.Hides(p.spec.Noise, concept.ShapeOf(p.class.Name)) || p.leastWeight() > 2*rate {
		return 0
	}
	return rate
}

// leastWeight returns the weight of the rarest point; 0 where it is not known.
func (p *Problem) leastWeight() float64 {
	switch e := p.exact; {
	case e == nil:
		return 0
	case e.W != nil:
		return slices.Min(e.W)
	default:
		return float64(p.class.Dim) / float64(len(e.X))
	}
}

// Best returns the reference error of "goal.above: best": 0 for a law, whose target lies in the
// class; for data the least error of the class on the population. Where no exact method exists, the
// error is an *Error that names the remedy, "goal.above: 0".
func (p *Problem) Best() (float64, error) {
	if p.rows == nil {
		return 0, nil
	}
	class, err := concept.New(p.class)
	if err != nil {
		return 0, fmt.Errorf("compute the least error on %s: %w", p.spec.Data.File, err)
	}
	best, err := class.Best(p.rows.X, p.rows.Y, nil)
	if errors.Is(err, concept.ErrNoExactMethod) {
		return 0, blame.Key("goal.above", "best: the least error of a %s on data has no exact method; "+
			`set "goal.above: 0", which makes alpha an absolute error`, p.class.Name)
	}
	if err != nil {
		return 0, fmt.Errorf("compute the least error on %s: %w", p.spec.Data.File, err)
	}
	return best, nil
}
