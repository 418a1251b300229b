package problem

import (
	"fmt"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem/adversary"
	"github.com/shatterlab/shatter/pipeline/problem/distribution"
	"github.com/shatterlab/shatter/pipeline/problem/noise"
	"github.com/shatterlab/shatter/pipeline/problem/population"
	"github.com/shatterlab/shatter/schemas"
)

// Streams are the sources of randomness of one trial. A stream that the problem does not use may
// be nil.
type Streams struct{ Target, Points, LabelNoise, TestPoints rand.Source }

// Drawer draws the data of trials, one trial after the other: Begin, Sample, then Test until
// TestLen; or Begin, then Queries or Rounds. It holds the scratch memory of one slot and is not
// safe for concurrent use. After the first trials it allocates nothing.
type Drawer struct {
	p        *Problem
	sampler  distribution.Sampler
	flipper  noise.Flipper
	target   rand.Rand
	points   rand.Rand
	flipping rand.Rand
	testing  rand.Rand
	test     int // number of evaluation points of a trial
	tested   int // number of points returned in this trial
}

// Drawer creates a drawer of trials with that many evaluation points, as computed by
// Problem.Test. If the evaluation is exact, test is ignored.
func (p *Problem) Drawer(test int) *Drawer {
	d := &Drawer{p: p, sampler: p.sampler(), flipper: noise.New(p.spec.Noise, concept.ShapeOf(p.class.Name)), test: test}
	if p.exact != nil {
		d.test = p.points()
	}
	return d
}

// Begin starts a new trial: it draws the target.
func (d *Drawer) Begin(s Streams) {
	d.target, d.points = *rand.New(s.Target), *rand.New(s.Points)
	d.flipping, d.testing = *rand.New(s.LabelNoise), *rand.New(s.TestPoints)
	d.tested = 0
	d.sampler.Begin(&d.target)
}

// Sample draws n labeled examples, with label noise, into x (n*dim numbers, row-major) and y (n
// labels, -1 or +1). It must be called once per trial. Without adversarial or malicious noise,
// the sample of n is a prefix of that of any larger size from the same streams, except for problems
// of plugins.
func (d *Drawer) Sample(n int, x, y []float64) {
	x, y = x[:n*d.p.class.Dim], y[:n]
	d.sampler.Draw(&d.points, x, y)
	d.flipper.Flip(&d.flipping, x, y)
}

// TestLen returns the number of evaluation points of a trial.
func (d *Drawer) TestLen() int { return d.test }

// Test fills x, y and w with the next len(y) evaluation points of this trial, in order, with
// clean labels and with weights that sum to 1 over all TestLen of them. x has len(y)*dim numbers;
// it may be nil for data without a disguise, whose population is shared. w may be nil too: see
// Problem.Weights. Requesting more points than TestLen is a programming error and panics.
func (d *Drawer) Test(x, y, w []float64) {
	from, to := d.tested, d.tested+len(y)
	if to > d.TestLen() {
		panic(fmt.Sprintf("problem: evaluation points %d..%d of %d", from, to, d.TestLen()))
	}
	d.tested = to
	e, dim := d.p.exact, d.p.class.Dim
	if e == nil {
		d.sampler.Draw(&d.testing, x[:len(y)*dim], y)
		if w != nil {
			fill(w[:len(y)], 1/float64(d.test))
		}
		return
	}
	if d.p.rows != nil {
		d.rows(from, to, x, y)
	} else {
		points := e.X[from*dim : to*dim]
		if x != nil {
			copy(x[:len(points)], points)
		}
		if e.Y != nil {
			copy(y, e.Y[from:to])
		} else {
			d.sampler.Target().Labels(points, y)
		}
	}
	switch {
	case w == nil:
	case e.W != nil:
		copy(w[:len(y)], e.W[from:to])
	default:
		fill(w[:len(y)], 1/float64(d.p.points()))
	}
}

// rows fills x, unless it is nil, and y with the rows from..to-1 of the data, disguised if
// necessary.
func (d *Drawer) rows(from, to int, x, y []float64) {
	all, dim := d.p.rows, d.p.class.Dim
	copy(y, all.Y[from:to])
	if x == nil {
		return
	}
	for i := range to - from {
		copy(x[i*dim:(i+1)*dim], all.Row(from+i))
	}
	if g, ok := d.sampler.(*population.Disguised); ok {
		g.Apply(x[:(to-from)*dim], y)
	}
}

// Error returns the error of h in the current trial against clean labels, computed by a formula.
// It returns false if there is no formula for h.
func (d *Drawer) Error(h concept.Hypothesis) (float64, bool) {
	if exact, ok := d.sampler.(distribution.Exact); ok {
		return exact.Error(h)
	}
	return 0, false
}

// Block returns the least number of points, from count on, that Draw draws without drawing others in vain: a plugin
// draws whole blocks.
func (d *Drawer) Block(count int) int {
	if !d.p.Generated() {
		return count
	}
	rows := blockRows(d.p.class.Dim)
	return (count + rows - 1) / rows * rows
}

// Draw fills x and y with len(y) further points of the distribution or rows of the data, with
// clean labels, from the stream TestPoints. They do not count as evaluation points. x has
// len(y)*dim numbers. from is the number of points that the trial has drawn before. The stream must
// be where they left it or, for a problem of a plugin, at its beginning.
func (d *Drawer) Draw(from int, x, y []float64) {
	x = x[:len(y)*d.p.class.Dim]
	if g, ok := d.sampler.(*generated); ok {
		g.drawFrom(from, &d.testing, x, y)
		return
	}
	d.sampler.Draw(&d.testing, x, y)
}

func fill(w []float64, v float64) {
	for i := range w {
		w[i] = v
	}
}

// Queries starts a game of task predict against the target of the drawer's current trial. The
// drawer then serves only this game until its end. a is a resolved adversary, n the size of the
// sample, r the adversary's own randomness.
func (d *Drawer) Queries(a schemas.Adversary, n int64, r rand.Source) adversary.Queries {
	return d.p.view.Queries(a, d.sampler, n, r)
}

// Rounds starts a game of task online on the target of the drawer's current trial. The drawer
// then serves only this game until its end. The number of rounds is public, r is the adversary's
// own randomness. The error is that of adversary.View.Rounds.
func (d *Drawer) Rounds(a schemas.Adversary, rounds int64, r rand.Source) (adversary.Rounds, error) {
	return d.p.view.Rounds(a, d.sampler, rounds, r)
}
