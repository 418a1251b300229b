package plugintest

import (
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/host"
)

// A boundCase is a bound that an algorithm may state.
type boundCase struct {
	name  string // name of the case
	task  algo.Task
	want  string // a part of the error; "": none
	bound func(s *algo.Setting[params]) algo.Bound
}

// plugin returns an algorithm that states the bound.
func (c boundCase) plugin() algo.Algorithm[params] {
	a := algo.Algorithm[params]{
		Name: "test/bounded", Version: "1", Defaults: params{Mode: "mean"},
		Bound: func(s *algo.Setting[params]) ([]algo.Bound, error) { return []algo.Bound{c.bound(s)}, nil },
	}
	switch c.task {
	case algo.Learn:
		a.Learn, a.Metrics = majority().Learn, majority().Metrics
	case algo.Predict:
		a.Predict = playing(func(_ *[]float64, x []float64) float64 { return x[0] }).(algo.Algorithm[params]).Predict
	case algo.Online:
		a.Online = func(context.Context, *algo.Trial[params]) (algo.Learner, error) { return idle{}, nil }
	}
	if c.name == cleanOnly {
		a.Check = func(s *algo.Setting[params]) error {
			if s.Problem.NoiseRate > 0 {
				return algo.Invalid("labels with noise")
			}
			return nil
		}
	}
	return a
}

// cleanOnly names the case of an algorithm that rejects noise.
const cleanOnly = "refuses noise"

// idle answers every point with 0.
type idle struct{}

func (idle) Predict(_ context.Context, _ *algo.Data, out []float64) error {
	clear(out)
	return nil
}

func (idle) Observe(context.Context, *algo.Data, []float64) error { return nil }

// stated returns a proved bound.
func stated(value float64, premises ...algo.Premise) algo.Bound {
	return algo.Bound{Name: "b", Source: "Theorem 1", Value: value, Proved: true, Premises: premises}
}

// inUnit returns a bound that is stated in a unit.
func inUnit(u algo.Unit) func(*algo.Setting[params]) algo.Bound {
	return func(*algo.Setting[params]) algo.Bound {
		b := stated(60, algo.TargetInClass)
		b.Unit = u
		return b
	}
}

// sound returns a sample size that accounts for everything that makes a goal harder.
func sound(s *algo.Setting[params]) float64 {
	alpha, beta := s.Proof()
	return math.Ceil(math.Log(1/beta) / (alpha * (1 - 2*s.Problem.NoiseRate)))
}

// noiseless returns a sample size for clean labels.
func noiseless(s *algo.Setting[params]) float64 {
	alpha, beta := s.Proof()
	return math.Ceil(math.Log(1/beta) / alpha)
}

// seen returns a number that increases with the answers that the adversary sees.
func seen(s *algo.Setting[params]) float64 {
	return map[algo.Sight]float64{algo.SeesNothing: 150, algo.SeesPast: 180, algo.SeesAnswers: 200}[s.Sees]
}

var boundCases = []boundCase{
	{"sound", algo.Learn, "",
		func(s *algo.Setting[params]) algo.Bound { return stated(sound(s), algo.TargetInClass) }},
	{"states a premise that does not " +
		"exist", algo.Learn, `bound "b" has the premise "no-noise", which does not exist: use target-in-class`,
		func(s *algo.Setting[params]) algo.Bound { return stated(sound(s), algo.TargetInClass, "no-noise") }},
	{"states a premise twice", algo.Learn, `bound "b" states the premise "target-in-class" twice`,
		func(s *algo.Setting[params]) algo.Bound {
			return stated(sound(s), algo.TargetInClass, algo.TargetInClass)
		}},
	{"states a bound without a " +
		"source", algo.Learn, `bound "b" of source "" is 1: give a source and a positive number (or +Inf)`,
		func(s *algo.Setting[params]) algo.Bound { return algo.Bound{Name: "b", Value: 1} }},
	{"no regret", algo.Online, "",
		func(*algo.Setting[params]) algo.Bound { return stated(0) }},

	{"mistakes", algo.Online, "", inUnit(algo.Mistakes)},
	{"states a regret in the task learn", algo.Learn, `bound "b" has the unit "regret": in the task learn use examples`,
		inUnit(algo.Regret)},
	{"states examples in the task " +
		"online", algo.Online, `bound "b" has the unit "examples": in the task online use regret or mistakes`,
		inUnit(algo.Examples)},
	{"has a unit that does not " +
		"exist", algo.Online, `bound "b" has the unit "rounds": in the task online use regret or mistakes`,
		inUnit("rounds")},

	{"has no premise about labels", algo.Learn, `bound "b" has no premise about the labels: state the premise ` +
		`target-in-class, or best-reference if it bounds the excess over the best hypothesis`,
		func(s *algo.Setting[params]) algo.Bound { return stated(sound(s)) }},
	{"printed", algo.Learn, "",
		func(s *algo.Setting[params]) algo.Bound {
			return algo.Bound{Name: "b", Source: "Theorem 1", Value: 3 / s.Alpha}
		}},
	{"fails anyhow", algo.Learn, "",
		func(s *algo.Setting[params]) algo.Bound {
			b := stated(1 / s.Alpha)
			b.Fails = "k = 40 blocks, and the proof needs 400"
			return b
		}},

	{"depends on the target without a " +
		"premise", algo.Learn, `bound "b" is 24 if problem.realizable is set and 240 if it is not: ` +
		`state the premise target-in-class`,
		func(s *algo.Setting[params]) algo.Bound {
			if s.Problem.Realizable {
				return stated(sound(s), algo.BestReference)
			}
			return stated(10*sound(s), algo.BestReference)
		}},
	{"depends on the target and says so", algo.Learn, "",
		func(s *algo.Setting[params]) algo.Bound {
			if s.Problem.Realizable {
				return stated(sound(s), algo.TargetInClass)
			}
			return stated(10*sound(s), algo.BestReference)
		}},

	{"ignores noise", algo.Learn, `whether labels are clean or have random noise at rate 0.1: compute it from the ` +
		`noise, or state the premise clean-labels`,
		func(s *algo.Setting[params]) algo.Bound {
			return stated(noiseless(s), algo.TargetInClass, algo.IndependentNoise)
		}},
	{"ignores adversarial noise", algo.Learn, `whether labels are clean or have adversarial noise at rate 0.05: ` +
		`compute it from the noise, or state the premise clean-labels or independent-noise`,
		func(s *algo.Setting[params]) algo.Bound {
			if s.Problem.Noise == "random" {
				return stated(sound(s), algo.TargetInClass)
			}
			return stated(noiseless(s), algo.TargetInClass)
		}},
	{"clean labels", algo.Learn, "",
		func(s *algo.Setting[params]) algo.Bound {
			return stated(noiseless(s), algo.TargetInClass, algo.CleanLabels)
		}},
	{cleanOnly, algo.Learn, "",
		func(s *algo.Setting[params]) algo.Bound { return stated(noiseless(s), algo.TargetInClass) }},
	{"adversarial noise is too much", algo.Learn, "",
		func(s *algo.Setting[params]) algo.Bound {
			if s.Problem.Noise == "adversarial" && s.Alpha < 2*s.Problem.NoiseRate {
				return stated(math.Inf(1), algo.TargetInClass)
			}
			return stated(sound(s), algo.TargetInClass)
		}},
	{"another number rules", algo.Learn, "",
		func(s *algo.Setting[params]) algo.Bound { return stated(max(60, sound(s)), algo.TargetInClass) }},
	{"another number rules always", algo.Learn, "",
		func(s *algo.Setting[params]) algo.Bound { return stated(max(1e6, sound(s)), algo.TargetInClass) }},
	{"no sample is needed", algo.Learn, "",
		func(*algo.Setting[params]) algo.Bound { return stated(1, algo.TargetInClass) }},
	{"no size is enough", algo.Learn, "",
		func(s *algo.Setting[params]) algo.Bound {
			if s.Alpha < 0.1 {
				return stated(math.Inf(1), algo.TargetInClass)
			}
			return stated(sound(s), algo.TargetInClass)
		}},

	{"ignores the measurement of " +
		"errors", algo.Learn, `whether errors are computed exactly or measured on 200 points: compute it at ` +
		`Setting.Proof, or state the premise exact-error`,
		func(s *algo.Setting[params]) algo.Bound {
			return stated(3/s.Alpha, algo.TargetInClass, algo.CleanLabels)
		}},
	{"exact errors", algo.Learn, "",
		func(s *algo.Setting[params]) algo.Bound {
			return stated(3/s.Alpha, algo.TargetInClass, algo.CleanLabels, algo.ExactError)
		}},

	{"depends on the sight of an adversary of queries without a " +
		"premise", algo.Predict, `bound "b" is 150 if Setting.sees is "nothing" and 180 if it is "past": ` +
		`state the premise fixed-beforehand or unseen-answer`,
		func(s *algo.Setting[params]) algo.Bound { return stated(seen(s), algo.TargetInClass) }},
	{"depends on the sight of an adversary of rounds without a " +
		"premise", algo.Online, `bound "b" is 180 if Setting.sees is "past" and 200 if it is "answers": ` +
		`state the premise fixed-beforehand or unseen-answer`,
		func(s *algo.Setting[params]) algo.Bound { return stated(max(180, seen(s))) }},
	{"truths that react, and it says so", algo.Online, "",
		func(s *algo.Setting[params]) algo.Bound {
			if s.Sees == algo.SeesAnswers {
				return stated(200)
			}
			return stated(180, algo.UnseenAnswer)
		}},
}

// bounded returns the algorithms that state the bounds of the cases, the i-th under the name
// bound/i.
func bounded() (plugins []algo.Plugin) {
	for i, c := range boundCases {
		a := c.plugin()
		a.Name = fmt.Sprintf("bound/%d", i)
		plugins = append(plugins, a)
	}
	return plugins
}

// The suite finds exactly the bounds with missing premises.
func TestBounds(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := host.Command{Path: path, Env: []string{roleVariable + "=bounds"}}
	p, err := host.Start(t.Context(), command)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	for i, c := range boundCases {
		s := &suite{ctx: t.Context(), command: command, algorithm: p.Describe().Algorithms[i], process: p}
		if err := s.adopt(Setting{Problem: problems[0], Task: c.task}); err != nil {
			t.Fatal(c.name, err)
		}
		err = checks{s}.checkBounds()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
