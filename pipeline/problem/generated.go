package problem

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/problem/noise"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// A Source draws len(y) examples of a problem of a plugin, in one of its processes: points into x,
// row-major, and their labels, -1 or +1, into y. The target is a function of the words target, and
// the examples of target, points and len(y).
type Source func(target, points [2]uint64, x, y []float64) error

// resolveGenerated checks a problem of a plugin, whose declared facts are filled in already.
func resolveGenerated(p *schemas.Problem) error {
	if err := checkDeclared(p); err != nil {
		return err
	}
	if err := noise.Resolve(&p.Noise); err != nil {
		return err
	}
	if kind := noise.Lookup(p.Noise.Kind); kind.Points || kind.Step != nil {
		return refuse("noise.kind", "%s does not apply to a problem of a plugin; use random, or none", p.Noise.Kind)
	}
	return checkTest(p, false)
}

// checkDeclared checks the facts that a plugin declares of its problem.
func checkDeclared(p *schemas.Problem) error {
	name := p.Plugin.Name
	if e := p.Plugin.LeastError; e != nil && !(*e >= 0 && *e < 0.5) {
		return refuse("use", "%s declares the least error %v, which is outside [0, 0.5)", name, *e)
	}
	if p.Domain > concept.MaxDomain {
		return refuse("use", "%s declares the domain %d, which is above 2^40", name, p.Domain)
	}
	if p.Class == name { // a class of its own
		return checkDim(p, 1)
	}
	class, known := concept.Lookup(p.Class)
	switch {
	case !known || class.Shape == concept.InfiniteOrder || class.Shape == concept.Column:
		return refuse("use", "%s declares the class %q; declare none, or a class of Shatter with a fixed domain, "+
			"such as %s", name, p.Class, concept.Halfspace)
	case class.Shape.HasDomain() != (p.Domain > 0), !class.Shape.HasDim() && p.Dim > 1:
		return refuse("use", "%s declares points of %d coordinates and the domain %d, which do not fit the class %s",
			name, p.Dim, p.Domain, p.Class)
	case class.Shape.HasDim():
		return checkDim(p, 1)
	}
	p.Dim = 0 // a point is one number
	return nil
}

// blockRows returns the number of evaluation points of that many coordinates that share random
// numbers. A block is drawn whole, so that points do not depend on how many are read at once.
func blockRows(dim int) int { return max(1, min(1024, 1<<17/dim)) }

// generated draws examples from the sources of a plugin's problem. All sources must draw the same
// examples. After an error it draws nothing, and keeps the error.
type generated struct {
	spec    *schemas.Problem
	class   concept.Spec
	sources []Source
	target  [2]uint64
	copyX   []float64 // examples of another source, for comparison with the first
	copyY   []float64
	err     error
}

// Begin implements distribution.Sampler.
func (g *generated) Begin(target *rand.Rand) { g.target = words(target) }

// Target implements distribution.Sampler. The target is known to the plugin only.
func (g *generated) Target() concept.Target { return nil }

// Draw implements distribution.Sampler.
func (g *generated) Draw(r *rand.Rand, x, y []float64) { g.draw(words(r), x, y) }

// words returns two random numbers, the seed of a stream of a plugin.
func words(r *rand.Rand) [2]uint64 { return [2]uint64{r.Uint64(), r.Uint64()} }

// drawFrom draws the points number from, from+1, ... of the stream that r begins.
func (g *generated) drawFrom(from int, r *rand.Rand, x, y []float64) {
	seed, dim := words(r), g.class.Dim
	rows := blockRows(dim)
	blockX, blockY := make([]float64, rows*dim), make([]float64, rows)
	for done := 0; done < len(y) && g.err == nil; {
		block, first := (from+done)/rows, (from+done)%rows
		g.draw([2]uint64{seed[0], seed[1] + uint64(block)}, blockX, blockY)
		n := copy(y[done:], blockY[first:])
		copy(x[done*dim:(done+n)*dim], blockX[first*dim:])
		done += n
	}
}

// draw draws examples, unless there was an error before.
func (g *generated) draw(points [2]uint64, x, y []float64) {
	if g.err == nil {
		g.err = g.tryDraw(points, x, y)
	}
}

// tryDraw draws examples from the first source, and compares them with the examples of the others.
func (g *generated) tryDraw(points [2]uint64, x, y []float64) error {
	if len(g.sources) == 0 {
		return errors.New("the problem is not connected to its plugin")
	}
	if err := g.sources[0](g.target, points, x, y); err != nil {
		return err
	}
	if err := g.check(x); err != nil {
		return err
	}
	for _, other := range g.sources[1:] {
		g.copyX, g.copyY = slices.Grow(g.copyX[:0], len(x))[:len(x)], slices.Grow(g.copyY[:0], len(y))[:len(y)]
		if err := other(g.target, points, g.copyX, g.copyY); err != nil {
			return err
		}
		if !equalBits(x, g.copyX) || !slices.Equal(y, g.copyY) {
			return &NondeterminismError{g.spec.Plugin.Name}
		}
	}
	return nil
}

// A NondeterminismError reports that two processes of a problem's plugin drew different examples from
// equal random numbers.
type NondeterminismError struct{ Problem string }

func (e *NondeterminismError) Error() string {
	return fmt.Sprintf("the problem %s is not deterministic: two processes drew different examples from equal random "+
		"numbers; it must draw from its arguments only", e.Problem)
}

func equalBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(v, w float64) bool { return math.Float64bits(v) == math.Float64bits(w) })
}

// check returns an error if a point is not in the declared domain.
func (g *generated) check(x []float64) error {
	name := g.spec.Plugin.Name
	if side := concept.Side(g.class); side > 0 {
		for _, v := range x {
			if !(v >= 0 && v < float64(side) && v == math.Trunc(v)) {
				return fmt.Errorf("the problem %s drew a point with the coordinate %v, which is not in 0..%d", name, v, side-1)
			}
		}
	}
	if concept.ShapeOf(g.spec.Class) != concept.Ball {
		return nil
	}
	for row := range slices.Chunk(x, g.class.Dim) {
		if norm := math.Sqrt(numeric.Dot(row, row)); norm > 1+1e-9 {
			return fmt.Errorf("the problem %s drew a point of norm %v: points of halfspaces are in the unit ball", name, norm)
		}
	}
	return nil
}

// From sets the sources of examples of a plugin's problem. Each must draw the same: the first one
// counts, and the others are compared with it.
func (d *Drawer) From(sources ...Source) {
	d.sampler = &generated{spec: &d.p.spec, class: d.p.class, sources: sources}
}

// Err returns the first error of the sources of a plugin's problem. The examples that were drawn
// after it have no meaning.
func (d *Drawer) Err() error {
	if g, ok := d.sampler.(*generated); ok {
		return g.err
	}
	return nil
}

// Generated reports whether a plugin draws the examples, from the sources of Drawer.From.
func (p *Problem) Generated() bool { return p.spec.Plugin != nil }

// Posed returns a problem of a plugin with the facts that the plugin declares.
func Posed(p schemas.Problem, facts *pluginv1.Posed) schemas.Problem {
	plugin := *p.Plugin
	plugin.LeastError = facts.LeastError
	p.Class, p.Domain, p.Dim = cmp.Or(facts.GetClass(), plugin.Name), facts.GetDomain(), int(facts.GetDim())
	p.Plugin = &plugin
	return p
}
