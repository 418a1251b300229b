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

// A Draw requests len(Y) examples of a target: points into X, row-major, and their labels, -1 or +1,
// into Y. The target is a function of the words Target, and the examples of Target, Points and
// len(Y).
type Draw struct {
	Target, Points [2]uint64
	X, Y           []float64
}

// A Source draws examples of a problem of a plugin, in one of its processes.
type Source func([]Draw) error

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
	ahead   []Draw // announced and not used yet
	drawn   bool   // the examples of ahead have been drawn
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
		g.draw(blockWords(seed, block), blockX, blockY)
		n := copy(y[done:], blockY[first:])
		copy(x[done*dim:(done+n)*dim], blockX[first*dim:])
		done += n
	}
}

func blockWords(seed [2]uint64, block int) [2]uint64 {
	return [2]uint64{seed[0], seed[1] + uint64(block)}
}

// announce adds a draw of the present target to the next call of the plugin.
func (g *generated) announce(points [2]uint64, count int) {
	if g.drawn { // the rest of an interrupted session
		g.ahead, g.drawn = nil, false
	}
	g.ahead = append(g.ahead, newDraw(g.target, points, count, g.class.Dim))
}

func newDraw(target, points [2]uint64, count, dim int) Draw {
	return Draw{target, points, make([]float64, count*dim), make([]float64, count)}
}

// draw draws examples, unless there was an error before. If they were announced, it draws all
// examples that were.
func (g *generated) draw(points [2]uint64, x, y []float64) {
	if g.err != nil {
		return
	}
	if len(g.ahead) == 0 || g.ahead[0].Target != g.target || g.ahead[0].Points != points || len(g.ahead[0].Y) != len(y) {
		g.ahead, g.drawn = nil, false
		g.err = g.tryDraw([]Draw{{g.target, points, x, y}})
		return
	}
	if !g.drawn {
		g.drawn, g.err = true, g.tryDraw(g.ahead)
	}
	copy(x, g.ahead[0].X)
	copy(y, g.ahead[0].Y)
	g.ahead = g.ahead[1:]
	g.drawn = g.drawn && len(g.ahead) > 0
}

// tryDraw draws examples from the first source, and compares them with the examples of the others.
func (g *generated) tryDraw(draws []Draw) error {
	if len(g.sources) == 0 {
		return errors.New("the problem is not connected to its plugin")
	}
	if err := g.sources[0](draws); err != nil {
		return err
	}
	for _, d := range draws {
		if err := g.check(d.X); err != nil {
			return err
		}
	}
	for _, other := range g.sources[1:] {
		again := make([]Draw, len(draws))
		for i, d := range draws {
			again[i] = newDraw(d.Target, d.Points, len(d.Y), g.class.Dim)
		}
		if err := other(again); err != nil {
			return err
		}
		for i, d := range draws {
			if !equalBits(d.X, again[i].X) || !slices.Equal(d.Y, again[i].Y) {
				return &NondeterminismError{g.spec.Plugin.Name}
			}
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

// AnnounceSample announces that the present trial will draw its sample, of n examples. A plugin draws
// all announced examples by one call, when the first of them is needed. They must be drawn in the
// order in which they were announced, after another Begin of each trial. Only problems of plugins need
// it.
func (d *Drawer) AnnounceSample(n int) {
	if g, ok := d.sampler.(*generated); ok {
		g.announce(words(&d.points), n)
	}
}

// AnnouncePoints announces a call of Draw with from and count points. It is as AnnounceSample.
func (d *Drawer) AnnouncePoints(from, count int) {
	g, ok := d.sampler.(*generated)
	if !ok {
		return
	}
	seed, rows := words(&d.testing), blockRows(g.class.Dim)
	for block := from / rows; block*rows < from+count; block++ {
		g.announce(blockWords(seed, block), rows)
	}
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
