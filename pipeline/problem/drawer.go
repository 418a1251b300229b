package problem

import (
	"fmt"
	"math/rand/v2"
)

// Streams are the sources of randomness of one trial. One that the problem does not use may be nil.
type Streams struct{ Target, Points, LabelNoise, TestPoints rand.Source }

// Drawer draws the data of trials, one trial after the other: Begin, Sample, then Test until TestLen. It is the scratch of one
// slot, not safe for concurrent use, and allocates nothing in the long run.
type Drawer struct {
	p       *Problem
	law     law
	target  rand.Rand
	points  rand.Rand
	noise   rand.Rand
	testing rand.Rand
	tested  int // evaluation points handed out in this trial
	flipper flipper
}

// Drawer makes a drawer.
func (p *Problem) Drawer() *Drawer { return &Drawer{p: p, law: p.newLaw()} }

// Begin starts a new trial: it draws the target.
func (d *Drawer) Begin(s Streams) {
	d.target, d.points = *rand.New(s.Target), *rand.New(s.Points)
	d.noise, d.testing = *rand.New(s.LabelNoise), *rand.New(s.TestPoints)
	d.tested = 0
	d.law.begin(&d.target)
}

// Sample draws n labelled examples, with label noise, into x (n*dim numbers, row-major) and y (n labels, -1 or +1). Called once
// a trial. Without adversarial noise the sample of n is a prefix of that of any larger size from the same streams.
func (d *Drawer) Sample(n int, x, y []float64) {
	x, y = x[:n*d.p.dim], y[:n]
	d.law.draw(&d.points, x, y)
	switch noise := d.p.spec.Noise; noise.Kind {
	case random:
		for i := range y {
			if d.noise.Float64() < noise.Rate {
				y[i] = -y[i]
			}
		}
	case adversarial:
		d.flipper.flip(flips(noise.Rate, n), shapeOf(d.p.spec.Class), x, y)
	}
}

// TestLen is the number of evaluation points of a trial.
func (d *Drawer) TestLen() int {
	if e := d.p.exact; e != nil {
		return len(e.x) / d.p.dim
	}
	return d.p.spec.Test
}

// Test fills the next len(y) evaluation points of this trial, in order, with clean labels and with weights that sum to 1 over all
// TestLen of them. x has len(y)*dim numbers; it may be nil for data, whose population is shared. More points than TestLen
// are a programming error and panic.
func (d *Drawer) Test(x, y, w []float64) {
	from, to := d.tested, d.tested+len(y)
	if to > d.TestLen() {
		panic(fmt.Sprintf("problem: evaluation points %d..%d of %d", from, to, d.TestLen()))
	}
	d.tested = to
	e := d.p.exact
	if e == nil {
		d.law.draw(&d.testing, x[:len(y)*d.p.dim], y)
		fill(w[:len(y)], 1/float64(d.p.spec.Test))
		return
	}
	at := e.x[from*d.p.dim : to*d.p.dim]
	if x != nil {
		copy(x[:len(at)], at)
	}
	if e.y != nil {
		copy(y, e.y[from:to])
	} else {
		d.law.(*evenly).labels(at, y)
	}
	if e.w != nil {
		copy(w[:len(y)], e.w[from:to])
	} else {
		fill(w[:len(y)], 1/float64(len(e.y)))
	}
}

func fill(w []float64, v float64) {
	for i := range w {
		w[i] = v
	}
}
