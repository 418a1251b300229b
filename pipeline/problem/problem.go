package problem

import (
	"errors"
	"fmt"
	"slices"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/dataset"
	"github.com/shatterlab/shatter/pipeline/problem/adversary"
	"github.com/shatterlab/shatter/pipeline/problem/blame"
	"github.com/shatterlab/shatter/pipeline/problem/distribution"
	"github.com/shatterlab/shatter/pipeline/problem/noise"
	"github.com/shatterlab/shatter/pipeline/problem/population"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Problem is an opened problem. It is immutable, except for Close: any number of Drawers may
// share one.
type Problem struct {
	spec    schemas.Problem
	class   concept.Spec
	summary Summary                     // summary of the problem's file
	rows    *population.Rows            // rows of the data; nil for a distribution
	sampler func() distribution.Sampler // factory of one sampler per drawer
	exact   *distribution.Points        // points of an exact evaluation, empty for rows; nil: points are drawn
	view    *adversary.View             // information of adversaries
}

// Open prepares a problem for drawing; it resolves an unresolved one first. file is the local
// path of its data or class matrix, "" if it has neither. Open verifies the digest in p before it
// decodes the file. The rows of data lie in memory that Close frees. The error is an *Error.
func Open(p schemas.Problem, file string) (*Problem, error) {
	o := &Problem{spec: p.At(file)}
	found, err := resolve(&o.spec)
	if err != nil {
		return nil, err
	}
	o.class, o.summary = distribution.Spec(&o.spec, found.matrix), found.summarize()
	if found.rows == nil {
		o.openDistribution()
		return o, nil
	}
	o.drawFrom(found.rows)
	o.exact = &distribution.Points{}
	o.view = adversary.NewView(&o.spec, "")
	return o, nil
}

// Seal creates a table of the rows of data to share with plugins, see Table. order returns their
// order in the table: the number of the data row at each place. Disguised rows keep the order of
// the data. Seal does nothing for a distribution, which has no rows. After an error, p is closed.
func (p *Problem) Seal(order func(rows int) []int32) error {
	switch {
	case p.rows == nil:
		return nil
	case p.Disguised():
		return p.rows.Seal(nil)
	}
	return p.rows.Seal(order(len(p.rows.Y)))
}

// Detach moves the rows of p to an equal problem, which it returns. p is then closed.
func (p *Problem) Detach() *Problem {
	q := *p
	if p.rows != nil {
		q.drawFrom(p.rows)
		p.rows = p.rows.Gone()
	}
	return &q
}

// drawFrom sets the data of p.
func (p *Problem) drawFrom(rows *population.Rows) {
	p.rows = rows
	p.sampler = func() distribution.Sampler { return population.Sampler{Rows: rows} }
	if p.spec.Disguise {
		p.sampler = func() distribution.Sampler { return population.NewDisguised(rows) }
	}
}

// Resolved returns the problem with every default filled in: noise none, the values of the
// distribution's keys, target random unless the distribution has its own target. For data it also
// has digest, format, the list of numeric features, and d; for a class matrix digest, format and
// domain. Opening it again changes nothing.
func (p *Problem) Resolved() schemas.Problem { return p.spec }

// Close frees the memory of the rows of data. After that nothing can be drawn from them; other
// properties of the problem remain available.
func (p *Problem) Close() error {
	if p.rows == nil {
		return nil
	}
	rows := p.rows
	p.rows = rows.Gone()
	return rows.Close()
}

// Public returns the information for algorithms: never the target, never the population.
func (p *Problem) Public() *pluginv1.Problem {
	return &pluginv1.Problem{
		Class:      p.class.Name,
		Domain:     p.class.Domain,
		Dim:        uint32(p.class.Dim),
		Margin:     p.spec.Margin,
		Noise:      p.spec.Noise.Kind,
		NoiseRate:  p.spec.Noise.Rate,
		NoConstant: p.class.NoConstant,
		Realizable: p.realizable(),
		RealData:   p.spec.Data != nil,
		Matrix:     p.class.Matrix,
		Target:     p.targetDistribution(),
		Literals:   uint32(p.spec.Literals),
		Formula:    p.formula(),
	}
}

// realizable reports whether the target is known to be in the class.
func (p *Problem) realizable() bool {
	if p.Generated() {
		least := p.spec.Plugin.LeastError
		return least != nil && *least == 0
	}
	return p.spec.Data == nil && distribution.LeastError(&p.spec) == 0
}

// targetDistribution returns the information for algorithms about the choice of the target.
func (p *Problem) targetDistribution() string {
	if p.Generated() {
		return concept.RandomTarget
	}
	switch p.spec.Target {
	case "", concept.RandomTarget, concept.UniformTarget:
		return p.spec.Target
	}
	return "fixed"
}

// Dim returns the dimension of a point.
func (p *Problem) Dim() int { return p.class.Dim }

// Exact reports whether the evaluation is exact: over the whole support of the distribution, or
// over all rows of the data.
func (p *Problem) Exact() bool { return p.exact != nil }

// points returns the number of points of an exact evaluation.
func (p *Problem) points() int {
	if p.spec.Data != nil {
		return p.summary.Rows
	}
	return len(p.exact.X) / p.class.Dim
}

// Weights returns the weights of the evaluation points of a trial, which sum to 1; nil if all are
// equal. The slice is shared: do not write to it.
func (p *Problem) Weights() []float64 {
	if p.exact == nil {
		return nil
	}
	return p.exact.W
}

// The measurement of states before the final one of task predict. A state passes if its error is
// clearly below the goal on its first FirstProbed points, or on four or sixteen times as many.
// Otherwise its error is measured on the whole support of the distribution, if that has at most
// SmallSupport points, or on as many fresh points as a final model gets.
const (
	FirstProbed  = 64
	SmallSupport = 4096
)

// Disguised reports whether the evaluation points are rows of data that are transformed
// differently in each trial.
func (p *Problem) Disguised() bool { return p.spec.Disguise }

// Population returns the features of all rows of the data, row-major and scaled, in the order of
// the table; nil for a distribution, and for disguised rows. The slice is shared: do not write to
// it.
func (p *Problem) Population() (x []float64, dim int) {
	if p.rows == nil || p.Disguised() {
		return nil, p.class.Dim
	}
	return p.rows.X, p.class.Dim
}

// Points returns the points of a distribution with exact errors, row-major and in order. The
// slice is shared: do not write to it.
func (p *Problem) Points() []float64 { return p.exact.X }

// Table returns the rows of the data, without their labels. It is nil for a distribution, for
// disguised rows, and before Seal. p owns it.
func (p *Problem) Table() *dataset.Table {
	if p.rows == nil || p.Disguised() {
		return nil
	}
	return p.rows.Table()
}

// Places returns the place in the table of each row of the data; nil if it equals the row's
// number. The slice is shared: do not write to it.
func (p *Problem) Places() []int32 {
	if p.rows == nil {
		return nil
	}
	return p.rows.At
}

// Labels returns the labels of the rows of the data, in the order of the file; nil for a
// distribution. The slice is shared: do not write to it.
func (p *Problem) Labels() []float64 {
	if p.rows == nil {
		return nil
	}
	return p.rows.Y
}

// Row returns the features of a row of the data. The slice is shared: do not write to it.
func (p *Problem) Row(i int) []float64 { return p.rows.Row(i) }

// Floor returns a lower bound of the error that any learner can guarantee, for samples of any
// size. It is the rate of noise that hides the target, unless each point has so much weight that
// most of its labels stay right. It is 0 for data, which have no target in a class.
func (p *Problem) Floor() float64 {
	rate := p.spec.Noise.Rate
	if p.spec.Data != nil || !noise.Hides(p.spec.Noise, concept.ShapeOf(p.class.Name)) || p.leastWeight() > 2*rate {
		return 0
	}
	return rate
}

// leastWeight returns the weight of the rarest point; 0 if it is unknown.
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

// Best returns the reference error of "goal.reference: best": for a distribution its least error, 0
// if the target lies in the class; for data the least error of the class on the population. If no
// exact method exists, the error is an *Error that names the remedy, "goal.reference: 0".
func (p *Problem) Best() (float64, error) {
	switch {
	case p.Generated() && p.spec.Plugin.LeastError != nil:
		return *p.spec.Plugin.LeastError, nil
	case p.Generated():
		return 0, blame.Key("goal.reference", "best: the problem %s does not declare the least error of its class; "+
			`set "goal.reference: 0", which makes alpha an absolute error`, p.spec.Plugin.Name)
	case p.spec.Data == nil:
		return distribution.LeastError(&p.spec), nil
	}
	if p.rows == nil {
		return 0, fmt.Errorf("compute the least error on %s: its rows are not here", p.spec.Data.File)
	}
	class, err := concept.New(p.class)
	if err != nil {
		return 0, fmt.Errorf("compute the least error on %s: %w", p.spec.Data.File, err)
	}
	rows, err := p.reopened()
	if err != nil {
		return 0, err
	}
	errs, err := concept.FewestErrors(class, rows.X, rows.Y)
	if rows != p.rows {
		err = errors.Join(err, rows.Close())
	}
	if errors.Is(err, concept.ErrNoExactMethod) {
		return 0, blame.Key("goal.reference", "best: the least error of a %s on data has no exact method; "+
			`set "goal.reference: 0", which makes alpha an absolute error`, p.class.Name)
	}
	if err != nil {
		return 0, fmt.Errorf("compute the least error on %s: %w", p.spec.Data.File, err)
	}
	return float64(errs) / float64(len(rows.Y)), nil
}

// reopened returns the rows of the data in the order of the file, which it reads again after
// Close. Halfspaces have no method for the least error and do not need the rows.
func (p *Problem) reopened() (*population.Rows, error) {
	if len(p.rows.Y) > 0 && p.rows.At == nil || concept.ShapeOf(p.class.Name) == concept.Ball {
		return p.rows, nil
	}
	data := *p.spec.Data
	return population.Read(&data, distribution.Spec(&p.spec, ""))
}
