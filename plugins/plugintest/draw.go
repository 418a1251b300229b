package plugintest

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// infiniteSide is the number of points of an infinite order that samples are drawn from.
const infiniteSide = 1024

// problems are the problems for authors who name no settings. The task online also uses endless,
// the classes on infinite orders, which have no distribution of points.
var problems, endless = classExamples()

// classExamples makes the problems of the examples of all classes.
func classExamples() (drawn, undrawn []algo.Problem) {
	for _, name := range concept.Names() {
		class, _ := concept.Lookup(name)
		for _, spec := range class.Examples {
			p := algo.Problem{
				Class: spec.Name, Domain: spec.Domain, Dim: concept.Width(spec), Matrix: spec.Matrix,
				Noise: "none", Realizable: true,
			}
			if class.Literals {
				p.Literals = min(concept.DefaultLiterals, p.Dim)
			}
			switch class.Shape {
			case concept.InfiniteOrder:
				undrawn = append(undrawn, p)
				continue
			case concept.Ball:
				p.Margin = 0.1
			}
			p.Target = concept.RandomTarget
			drawn = append(drawn, p)
		}
	}
	return drawn, undrawn
}

// classOf returns the class whose points and hypotheses are used for a problem: its own, or, for a
// class that only the plugin supports, the thresholds or the halfspaces.
func classOf(p algo.Problem) *concept.Definition {
	class, known := concept.Lookup(p.Class)
	switch {
	case !known && p.Domain > 0:
		class, _ = concept.Lookup(concept.Thresholds)
	case !known:
		class, _ = concept.Lookup(concept.Halfspace)
	}
	return class
}

// draw fills x, and y if it is not nil, with examples of a problem. The key determines the target
// and the points.
func draw(p algo.Problem, key uint64, x, y []float64) {
	r := rand.New(rand.NewPCG(key, 0x706c7567696e74))
	class := classOf(p)
	if class.Shape == concept.InfiniteOrder {
		place := func(v uint64) float64 { return class.Place(v, infiniteSide) }
		cut := place(r.Uint64N(infiniteSide))
		drawLine(infiniteSide, place, cut, r, x)
		concept.Threshold(cut).Labels(x, y)
		return
	}
	spec := concept.Spec{Name: class.Name, Domain: p.Domain, Dim: p.Dim, NoConstant: p.NoConstant, Matrix: p.Matrix}
	target := class.Random(spec, min(concept.DefaultLiterals, p.Dim))
	target.Begin(r)
	switch class.Shape {
	case concept.Scalar:
		low := min(target.(*concept.Box).Low[0], float64(p.Domain-1))
		drawLine(p.Domain, func(v uint64) float64 { return float64(v) }, low, r, x)
	case concept.Ball:
		drawBall(p, target.(*concept.Linear).W, r, x)
	default:
		for i := range x {
			x[i] = float64(r.Uint64N(concept.Side(spec)))
		}
	}
	target.Labels(x, y)
}

// poolSize is the number of examples that are drawn of a problem of the plugin.
const poolSize = 4096

// examples are drawn examples of a problem of the plugin.
type examples struct{ x, y []float64 }

// draw fills x, and y if it is not nil, with examples of the current problem. The key determines them.
func (s *suite) draw(key uint64, x, y []float64) {
	if s.examples == nil {
		draw(s.problem, key, x, y)
		return
	}
	r, dim := rand.New(rand.NewPCG(key, 0x706f6f6c)), s.problem.Dim
	for i := range len(x) / dim {
		k := r.IntN(poolSize)
		copy(x[i*dim:(i+1)*dim], s.examples.x[k*dim:])
		if y != nil {
			y[i] = s.examples.y[k]
		}
	}
}

// posedSettings returns a setting for each problem of a plugin that can be posed with its default
// parameters. The checks of the problems report the errors of the others.
func posedSettings(ctx context.Context, c host.Command, served []*pluginv1.Algorithm) (settings []Setting) {
	s := &suite{ctx: ctx, command: c}
	defer s.stop()
	for _, a := range served {
		if s.algorithm = a; !a.IsProblem() {
			continue
		}
		if setting, err := s.posedSetting(); err == nil {
			settings = append(settings, setting)
		}
	}
	return settings
}

// posedSetting returns the setting for a problem, which is the suite's algorithm.
func (s *suite) posedSetting() (setting Setting, err error) {
	g, err := s.pose(Setting{})
	if err != nil {
		return setting, err
	}
	p, err := s.running()
	if err != nil {
		return setting, err
	}
	public := g.posed.Public()
	setting.Problem = algo.Problem{
		Class: public.Class, Domain: public.Domain, Dim: int(public.Dim), Noise: public.Noise, Target: public.Target,
		Realizable: public.Realizable,
	}
	setting.examples = new(examples)
	setting.examples.x, setting.examples.y, err = g.draw(1, 1, poolSize, g.source(p))
	return setting, err
}

// drawLine draws points of a line. place returns the first side points in ascending order. A
// quarter of the points are low, so that single points can be learned too.
func drawLine(side uint64, place func(v uint64) float64, low float64, r *rand.Rand, x []float64) {
	for i := range x {
		x[i] = place(r.Uint64N(side))
		if r.IntN(4) == 0 {
			x[i] = low
		}
	}
}

// drawBall draws points of the unit ball whose distance from the hyperplane through 0 with the unit
// normal vector w is at least the margin, with equal probability on either side.
func drawBall(p algo.Problem, w []float64, r *rand.Rand, x []float64) {
	for i := range len(x) / p.Dim {
		v := x[i*p.Dim : (i+1)*p.Dim]
		concept.Direction(r, v)
		along := 0.0
		for k := range v {
			along += v[k] * w[k]
		}
		label := 1.0
		if r.IntN(2) == 0 {
			label = -1
		}
		// Keep the component orthogonal to w, whose length is at most 1, and choose the component
		// along w.
		distance := p.Margin + (1-p.Margin)*r.Float64()
		across := math.Sqrt(1 - distance*distance)
		for k := range v {
			v[k] = across*(v[k]-along*w[k]) + label*distance*w[k]
		}
	}
}
