package plugintest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// A generator is a problem of the plugin with some parameters, which the suite checks.
type generator struct {
	*suite
	posed *problem.Problem
}

// generatorChecks lists the checks of a problem, in their order.
var generatorChecks = []struct {
	name string
	run  func(*generator) error
}{
	{"facts", (*generator).checkFacts},
	{"examples", (*generator).checkExamples},
	{"same-numbers-same-examples", (*generator).checkRepeats},
	{"independent-examples", (*generator).checkRows},
	{"targets", (*generator).checkTargets},
}

// Sizes of the checks of a problem.
const (
	drawnTrials   = 20
	drawnExamples = 200
)

// pose makes a setting of a problem the current one. Only its parameters matter.
func (s *suite) pose(setting Setting) (*generator, error) {
	w, err := wire(s.algorithm, setting)
	if err != nil {
		return nil, err
	}
	s.setting = &pluginv1.Setting{Algorithm: w.Algorithm, Task: w.Task, Parameters: w.Parameters}
	r, err := s.check(s.setting)
	switch {
	case err != nil:
		return nil, err
	case r.Refusal != nil:
		return nil, &refusalError{r.Refusal}
	case r.Posed == nil:
		return nil, errors.New("it does not declare its points")
	}
	s.setting.Parameters = r.Parameters
	p := problem.Posed(schemas.Problem{Plugin: &schemas.Plugin{Name: s.algorithm.Name}}, r.Posed)
	g := &generator{suite: s}
	g.posed, err = problem.Open(p, "")
	return g, err
}

// runGenerator runs the checks of a problem in a setting, whose class is its name.
func (s *suite) runGenerator(setting Setting) error {
	g, err := s.pose(setting)
	if err != nil {
		return err
	}
	short := Setting{Problem: algo.Problem{Class: s.algorithm.Name}, Parameters: setting.Parameters}.short()
	for _, c := range generatorChecks {
		if s.wanted(c.name) {
			s.options.Begin(Result{Algorithm: s.algorithm.Name, Setting: short, Check: c.name})
			s.add(short, c.name, timed(func() (string, error) { return "", c.run(g) }))
		}
	}
	return nil
}

// checkFacts checks that resolved parameters are accepted, and resolve to themselves.
func (g *generator) checkFacts() error {
	r, err := g.check(g.setting)
	switch {
	case err != nil:
		return err
	case r.Refusal != nil:
		return fmt.Errorf("it refuses the parameters that it has resolved itself: %s", r.Refusal.Message)
	case !proto.Equal(&pluginv1.Setting{Parameters: r.Parameters}, &pluginv1.Setting{Parameters: g.setting.Parameters}):
		return errors.New("it resolves parameters that it has resolved before to others")
	}
	return nil
}

// source returns the examples that a process draws.
func (g *generator) source(p *host.Process) problem.Source {
	return func(draws []problem.Draw) error { return p.Draw(g.ctx, g.setting, draws) }
}

// draw returns n examples of a trial, whose target and points have the given numbers, with sources that
// must agree.
func (g *generator) draw(target, points uint64, n int, sources ...problem.Source) (x, y []float64, err error) {
	d := g.posed.Drawer(0)
	d.From(sources...)
	d.Begin(problem.Streams{
		Target: rand.NewPCG(target, 1), Points: rand.NewPCG(points, 2),
		LabelNoise: rand.NewPCG(0, 3), TestPoints: rand.NewPCG(0, 4),
	})
	x, y = make([]float64, n*g.posed.Dim()), make([]float64, n)
	d.Sample(n, x, y)
	return x, y, d.Err()
}

// checkExamples draws samples of several sizes.
func (g *generator) checkExamples() error {
	p, err := g.running()
	for _, n := range []int{1, 2, drawnExamples, 20_000} {
		if err == nil {
			_, _, err = g.draw(1, 1, n, g.source(p))
		}
	}
	return err
}

// checkRepeats draws samples again: in the same process after others, and in another process in which
// they are the first ones.
func (g *generator) checkRepeats() error {
	p, err := g.running()
	if err != nil {
		return err
	}
	for trial := range uint64(drawnTrials) {
		if _, _, err := g.draw(trial, trial+100, drawnExamples, g.source(p), g.source(p)); err != nil {
			return why(err, "a second time in the same process")
		}
	}
	for _, trial := range []uint64{drawnTrials - 1, 0} { // two processes suffice
		fresh, err := host.Start(g.ctx, g.command)
		if err != nil {
			return err
		}
		_, _, err = g.draw(trial, trial+100, drawnExamples, g.source(p), g.source(fresh))
		fresh.Stop()
		if err != nil {
			return why(err, "a second time in another process")
		}
	}
	g.repeated += drawnTrials
	return nil
}

// checkRows checks that the share of positive labels depends neither on the place of an example nor on the
// number of examples: those of a trial must be independent, with one distribution.
func (g *generator) checkRows() error {
	p, err := g.running()
	if err != nil {
		return err
	}
	const small, large = 16, 1024
	var first, second, few, count float64 // positive labels in halves of large samples and in small ones; examples
	for trial := range uint64(drawnTrials) {
		_, y, err := g.draw(trial, 0, large, g.source(p))
		if err != nil {
			return err
		}
		first, second = first+positive(y[:large/2]), second+positive(y[large/2:])
		for k := range uint64(large / small) {
			if _, y, err = g.draw(trial, k+1, small, g.source(p)); err != nil {
				return err
			}
			few += positive(y)
		}
		count += large
	}
	many := first + second
	// A difference of two sums of count independent labels has a standard deviation of at most sqrt(count/2).
	limit := 6 * math.Sqrt(count/2)
	switch {
	case math.Abs(first-second) > limit:
		return fmt.Errorf("%v of the first examples of %d samples are positive, and %v of the others: examples must be "+
			"independent, with one distribution", first, drawnTrials, second)
	case math.Abs(few-many) > limit:
		return fmt.Errorf("%v of %v examples are positive in samples of %d, and %v in samples of %d: their distribution "+
			"must not depend on the size", few, count, small, many, large)
	}
	return nil
}

// positive returns the number of positive labels.
func positive(y []float64) (sum float64) {
	for _, label := range y {
		sum += (label + 1) / 2
	}
	return sum
}

// checkTargets checks that examples depend on both the target and the points of a trial.
func (g *generator) checkTargets() error {
	p, err := g.running()
	if err != nil {
		return err
	}
	firstX, firstY, err := g.draw(0, 0, drawnExamples, g.source(p))
	if err != nil {
		return err
	}
	targets, points, labels := false, false, map[float64]bool{}
	for trial := range uint64(drawnTrials) {
		x, y, err := g.draw(trial+1, 0, drawnExamples, g.source(p))
		if err != nil {
			return err
		}
		targets = targets || !slices.Equal(y, firstY) || !slices.Equal(x, firstX)
		for _, label := range y {
			labels[label] = true
		}
		if x, _, err = g.draw(0, trial+1, drawnExamples, g.source(p)); err != nil {
			return err
		}
		points = points || !slices.Equal(x, firstX)
	}
	switch {
	case !targets:
		return fmt.Errorf("%d targets have equal examples: is the target drawn from its random numbers? A learner that "+
			"knows the only target needs no data", drawnTrials)
	case !points:
		return fmt.Errorf("%d samples have equal points: are points drawn from their random numbers?", drawnTrials)
	case len(labels) < 2:
		return fmt.Errorf("all labels of %d trials are equal: a constant answer needs no data", drawnTrials)
	}
	return nil
}
