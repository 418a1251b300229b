package problem

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/dataset"
	"github.com/shatterlab/shatter/pipeline/problem/adversary"
	"github.com/shatterlab/shatter/pipeline/problem/blame"
	"github.com/shatterlab/shatter/pipeline/problem/law"
	"github.com/shatterlab/shatter/pipeline/problem/noise"
	"github.com/shatterlab/shatter/pipeline/problem/population"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Problem is an opened problem. It is immutable, but for Close: any number of Drawers may share one.
type Problem struct {
	spec    schemas.Problem
	class   concept.Spec
	summary Summary            // of the problem's file
	rows    *population.Rows   // the data; nil for a law
	sampler func() law.Sampler // makes one for each drawer
	exact   *law.Points        // what an exact evaluation runs over, empty for rows; nil: fewer points
	design  law.Design         // of these
	decoys  *law.Decoys        // what an exact evaluation asks about beside; nil: nothing
	view    *adversary.View    // what adversaries know
}

// Open makes a problem ready to draw from; an unresolved one is resolved first. file is the local
// path of its data or class matrix, "" where it has neither; the digest that p states is verified
// before anything in the file is decoded. The rows of data lie in memory that Close frees. The error is
// an *Error.
func Open(p schemas.Problem, file string) (*Problem, error) {
	o := &Problem{spec: p.At(file)}
	found, err := resolve(&o.spec)
	if err != nil {
		return nil, err
	}
	o.class, o.summary = law.Spec(&o.spec, found.matrix), found.summarize()
	if found.rows == nil {
		o.openLaw()
		return o, nil
	}
	o.drawFrom(found.rows)
	o.exact = &law.Points{}
	o.view = adversary.NewView(&o.spec, "")
	return o, nil
}

// Seal makes a table of the rows of data to share with plugins, see Table. order returns their order in the table: the
// number of a row of the data by place. Rows in disguise keep that of the data. A law has no rows, and
// nothing is done. After an error, p is closed.
func (p *Problem) Seal(order func(rows int) []int32) error {
	switch {
	case p.rows == nil:
		return nil
	case p.Disguised():
		return p.rows.Seal(nil)
	}
	return p.rows.Seal(order(len(p.rows.Y)))
}

// Detach returns an equal problem that has the rows of p, and leaves p as Close does.
func (p *Problem) Detach() *Problem {
	q := *p
	if p.rows != nil {
		q.drawFrom(p.rows)
		p.rows = p.rows.Gone()
	}
	return &q
}

// drawFrom makes rows the data of p.
func (p *Problem) drawFrom(rows *population.Rows) {
	p.rows = rows
	p.sampler = func() law.Sampler { return population.Sampler{Rows: rows} }
	if p.spec.Disguise {
		p.sampler = func() law.Sampler { return population.NewDisguised(rows) }
	}
}

// Resolved returns the problem with every default filled in: noise none, those of the law's keys, target
// random but for laws with one of their own; for data also digest, format, the list of numeric
// features, and d; for a class matrix digest, format and domain. Opening it again changes nothing.
func (p *Problem) Resolved() schemas.Problem { return p.spec }

// Close frees the memory of the rows of data. Nothing can be drawn from them any more; what
// else is known of the problem stays.
func (p *Problem) Close() error {
	if p.rows == nil {
		return nil
	}
	rows := p.rows
	p.rows = rows.Gone()
	return rows.Close()
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
		Realizable: p.spec.Data == nil && law.LeastError(&p.spec) == 0,
		RealData:   p.spec.Data != nil,
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

// points returns the number of points of an exact evaluation.
func (p *Problem) points() int {
	if p.spec.Data != nil {
		return p.summary.Rows
	}
	return len(p.exact.X) / p.class.Dim
}

// Weights returns the weights of the evaluation points of a trial, which sum to 1; nil where all
// weigh the same. They are shared: do not write to them.
func (p *Problem) Weights() []float64 {
	if p.exact == nil {
		return nil
	}
	return p.exact.W
}

// How states before the final one of task predict are measured: over the whole support of the law
// if that has at most SmallSupport points, and else on at most MostProbed fresh points, FirstProbed
// of them at first.
const (
	SmallSupport = 256
	FirstProbed  = 64
	MostProbed   = 4096
)

// Test returns the number of evaluation points of a trial with the reference error above and the goal
// alpha, 0 where no trial succeeds: those that the problem states, or as many as make the standard
// error of an error at the goal a twentieth of alpha. It is 0 where errors are computed exactly, and
// where the problem has no law.
func (p *Problem) Test(above, alpha float64) int {
	switch {
	case p.Exact() || p.spec.Distribution == "":
		return 0
	case p.spec.Test > 0:
		return p.design.Fit(&p.spec, p.spec.Test)
	case alpha == 0:
		above, alpha = 0.5, 0.1
	}
	return p.design.Points(&p.spec, min(above+alpha, 0.5), alpha)
}

// Evaluation describes how errors are measured.
type Evaluation struct {
	Words string // "exact", or the number and the kind of the evaluation points
	Least int    // an error is as sure as one on so many points, at least; 0: each is computed exactly

	// Off is how far the measured error of a hypothesis of the class can be from the true one; 0: only
	// chance bounds that. It is more than v above the true one with probability at most
	// exp(-v^2/(2 Spread^2)); 0: Least says all that is known of that. StandardError is an upper bound of
	// the measured error's where the true one is at the goal.
	Off, Spread, StandardError float64

	// Looks are the numbers of points, ascending, after which a trial may end: see Clear. The last is
	// that of all. Nil: all are read at once.
	Looks []int `json:",omitempty"`
}

// Evaluation describes how errors are measured on test points where the goal is an error of t. states
// says that those of states before the final one of task predict count.
func (p *Problem) Evaluation(t float64, test int, states bool) Evaluation {
	switch {
	case p.Exact() && (!states || p.points() <= SmallSupport):
		return Evaluation{Words: "exact"}
	case p.Exact():
		return Evaluation{Words: "exact", Least: FirstProbed}
	case test == 0:
		return Evaluation{}
	}
	e := Evaluation{Words: p.design.Describe(test), Least: p.design.Least(test),
		StandardError: p.design.StandardError(&p.spec, t, test)}
	switch {
	case states:
		e.Least = min(FirstProbed, e.Least)
	case p.design == law.Strata:
		e.Off = p.design.Off(&p.spec, test)
	case p.design != law.Fresh:
		e.Spread = p.design.Spread(&p.spec, test)
	}
	return e
}

// HowMeasured says in a phrase how errors are measured, for Evaluation.Words.
func HowMeasured(words string) string {
	plain, sequential := AllRead(words)
	if sequential {
		return fmt.Sprintf("%s, or on the first of them where it is clear whether that is a success, wrongly in at most %v "+
			"of trials", HowMeasured(plain), Misjudged)
	}
	number, kind, _ := strings.Cut(words, " ")
	switch kind {
	case "points":
		return "on " + number + " fresh points"
	case "strata":
		return "on one point in each of " + number + " strata of the law"
	case "grid":
		return "on one point in each box of a " + number + " grid"
	case "array":
		return "on one point in each box of a " + number + " grid of every two numbers"
	}
	return words
}

// Listed reports whether the evaluation points of a trial stand in an order that tells of them, and
// are not in random order already.
func (p *Problem) Listed() bool { return p.Exact() || p.design != law.Fresh }

// Disguised reports whether the evaluation points are rows of data that look different in each
// trial.
func (p *Problem) Disguised() bool { return p.spec.Disguise }

// Population returns the features of all rows of the data, row-major and scaled, in the order of the
// table; nil for a law, and for rows in disguise. They are shared: do not write to them.
func (p *Problem) Population() (x []float64, dim int) {
	if p.rows == nil || p.Disguised() {
		return nil, p.class.Dim
	}
	return p.rows.X, p.class.Dim
}

// Points returns the points of a law whose errors are exact, row-major and in order. They are shared:
// do not write to them.
func (p *Problem) Points() []float64 { return p.exact.X }

// Table returns the rows of the data, without their labels, as an Arrow file with one
// column "x" in memory. It is nil for a law, for rows in disguise, and before Seal. It belongs to p.
func (p *Problem) Table() *dataset.Memory {
	if p.rows == nil || p.Disguised() {
		return nil
	}
	return p.rows.Table()
}

// Places returns the place in the table of each row of the data; nil where that is the row's number.
// They are shared: do not write to them.
func (p *Problem) Places() []int32 {
	if p.rows == nil {
		return nil
	}
	return p.rows.At
}

// Labels returns the labels of the rows of the data, in the order of the file; nil for a law. They
// are shared: do not write to them.
func (p *Problem) Labels() []float64 {
	if p.rows == nil {
		return nil
	}
	return p.rows.Y
}

// Row returns the features of a row of the data. They are shared: do not write to them.
func (p *Problem) Row(i int) []float64 { return p.rows.Row(i) }

// Floor returns the error that no learner can be promised to come below, however large its sample:
// the rate of noise that hides the target, unless each point has so much weight that most of its
// labels stay right. It is 0 for data, which have a target of no class.
func (p *Problem) Floor() float64 {
	rate := p.spec.Noise.Rate
	if p.spec.Data != nil || !noise.Hides(p.spec.Noise, concept.ShapeOf(p.class.Name)) || p.leastWeight() > 2*rate {
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

// Best returns the reference error of "goal.above: best": for a law its least error, 0 where the
// target lies in the class; for data the least error of the class on the population. Where no exact method exists, the
// error is an *Error that names the remedy, "goal.above: 0".
func (p *Problem) Best() (float64, error) {
	if p.spec.Data == nil {
		return law.LeastError(&p.spec), nil
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
	best, err := class.Best(rows.X, rows.Y, nil)
	if rows != p.rows {
		err = errors.Join(err, rows.Close())
	}
	if errors.Is(err, concept.ErrNoExactMethod) {
		return 0, blame.Key("goal.above", "best: the least error of a %s on data has no exact method; "+
			`set "goal.above: 0", which makes alpha an absolute error`, p.class.Name)
	}
	if err != nil {
		return 0, fmt.Errorf("compute the least error on %s: %w", p.spec.Data.File, err)
	}
	return best, nil
}

// reopened returns the rows of the data in the order of the file, which it reads again after Close,
// but for halfspaces, whose least error has no method.
func (p *Problem) reopened() (*population.Rows, error) {
	if len(p.rows.Y) > 0 && p.rows.At == nil || concept.ShapeOf(p.class.Name) == concept.Ball {
		return p.rows, nil
	}
	data := *p.spec.Data
	return population.Read(&data, law.Spec(&p.spec, ""))
}
