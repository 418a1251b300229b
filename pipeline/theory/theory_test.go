package theory

import (
	"errors"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

func TestUnmet(t *testing.T) {
	in := func(change func(s *pluginv1.Setting)) *pluginv1.Setting {
		s := &pluginv1.Setting{
			Task: pluginv1.Task_TASK_LEARN, Alpha: 0.1, Beta: 0.1,
			Problem: &pluginv1.Problem{Realizable: true, Noise: "none"},
		}
		change(s)
		return s
	}
	same := func(*pluginv1.Setting) {}
	outside := func(s *pluginv1.Setting) { s.Problem.Realizable = false }
	noise := func(kind string) func(s *pluginv1.Setting) {
		return func(s *pluginv1.Setting) { s.Problem.Noise, s.Problem.NoiseRate = kind, 0.2 }
	}
	sees := func(what string) func(s *pluginv1.Setting) {
		return func(s *pluginv1.Setting) { s.Task, s.Sees = pluginv1.Task_TASK_ONLINE, what }
	}
	test := func(points uint64) func(s *pluginv1.Setting) {
		return func(s *pluginv1.Setting) { s.Test = points }
	}
	for _, c := range []struct {
		premises string
		setting  func(s *pluginv1.Setting)
		least    float64
		want     string // required part of the reason; "": the premise holds
	}{
		{TargetInClass, same, 0, ""},
		{TargetInClass, outside, 0.3, "target-in-class fails"},
		{BestReference, outside, 0.3, "the least error of the class is 0.3, and goal.reference is 0"},
		{BestReference, outside, math.NaN(), "the least error of the class is not known"},
		{BestReference, func(s *pluginv1.Setting) { s.Problem.Realizable, s.Reference = false, 0.3 }, 0.3, ""},
		{BestReference, same, 0, ""},
		{"", same, 0, "has no premise about the labels"},
		{TargetInClass + " " + CleanLabels, noise("random"), 0, "random noise at rate 0.2"},
		{TargetInClass + " " + IndependentNoise, noise("random"), 0, ""},
		{TargetInClass + " " + IndependentNoise, noise("adversarial"), 0, "adversarial noise at rate 0.2"},
		{TargetInClass, noise("adversarial"), 0, ""},
		{TargetInClass + " " + ExactError, same, 0, ""},
		{TargetInClass + " " + ExactError, test(10_000), 0, "errors are measured with the confidence of 10000"},
		{TargetInClass, test(10_000), 0, ""},
		{TargetInClass, test(9), 0, ""},
		{TargetInClass, func(s *pluginv1.Setting) { s.Reference = 0.2; test(9)(s) }, 0,
			"of 9 independent points, too few"},
		{"", sees(SeesAnswers), 0, ""},
		{FixedBeforehand, sees(SeesNothing), 0, ""},
		{FixedBeforehand, sees(SeesPast), 0, "reacts to the answers so far"},
		{UnseenAnswer, sees(SeesPast), 0, ""},
		{UnseenAnswer, sees(SeesAnswers), 0, "reacts to the answer of the round"},
		{UnseenAnswer + " " + TargetInClass, func(s *pluginv1.Setting) { outside(s); sees(SeesAnswers)(s) }, 0,
			"; unseen-answer"},
	} {
		b := &pluginv1.Bound{Name: "b", Premises: strings.Fields(c.premises)}
		if err := Check(b, pluginv1.Task_TASK_LEARN); err != nil {
			t.Fatal(err)
		}
		got := Unmet(b, Facts{in(c.setting), func() (float64, error) {
			if math.IsNaN(c.least) {
				return 0, errors.New("no exact method")
			}
			return c.least, nil
		}})
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("premises %q, want %q: %q", c.premises, c.want, got)
		}
	}
	b := &pluginv1.Bound{Name: "b", Fails: "k is too small", Premises: []string{CleanLabels}}
	if got := Unmet(b, Facts{Setting: in(noise("random"))}); got != "k is too small" {
		t.Errorf("a reason of the algorithm's own: %q", got)
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		bound *pluginv1.Bound
		want  string // "": accepted
	}{
		{&pluginv1.Bound{Name: "b", Value: math.Inf(1), Premises: Names()}, ""},
		{&pluginv1.Bound{Value: 1}, "no name"},
		{&pluginv1.Bound{Name: "b", Value: math.NaN()}, `bound "b" is NaN`},
		{&pluginv1.Bound{Name: "b", Value: -1}, `bound "b" is -1`},
		{&pluginv1.Bound{Name: "b", Premises: []string{"luck"}}, `premise "luck", which does not exist: use target-in-class,`},
		{&pluginv1.Bound{Name: "b", Premises: []string{CleanLabels, CleanLabels}}, "twice"},
	} {
		err := Check(c.bound, pluginv1.Task_TASK_LEARN)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.bound, err, c.want)
		}
	}
}

func TestCheckUnit(t *testing.T) {
	const learn, predict, online = pluginv1.Task_TASK_LEARN, pluginv1.Task_TASK_PREDICT, pluginv1.Task_TASK_ONLINE
	for _, c := range []struct {
		unit string
		task pluginv1.Task
		want string // "": accepted
	}{
		{"", learn, ""},
		{"", online, ""},
		{Examples, learn, ""},
		{Examples, predict, ""},
		{Regret, online, ""},
		{Mistakes, online, ""},
		{Regret, learn, `bound "b" has the unit "regret": in the task learn use examples`},
		{Mistakes, predict, `bound "b" has the unit "mistakes": in the task predict use examples`},
		{Examples, online, `bound "b" has the unit "examples": in the task online use regret or mistakes`},
		{"rounds", online, `bound "b" has the unit "rounds": in the task online use regret or mistakes`},
	} {
		got := ""
		if err := Check(&pluginv1.Bound{Name: "b", Value: 1, Unit: c.unit}, c.task); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q in %v: %q, want %q", c.unit, c.task, got, c.want)
		}
	}
}

// A learner with the safe true error is measured to fail at most as often as the reserved part of
// beta, and a slightly larger error exceeds it.
func TestSafe(t *testing.T) {
	for _, g := range []Goal{
		{Alpha: 0.1, Beta: 0.05, Test: 10_000}, {Alpha: 0.1, Beta: 0.05, Test: 300},
		{Reference: 0.25, Alpha: 0.05, Beta: 0.2, Test: 10_000}, {Alpha: 0.1, Beta: 0.05, Test: 2000, Queries: 50},
	} {
		alpha, beta, ok := g.Safe()
		if !ok || !(alpha > 0 && alpha < g.Alpha) || !(beta > 0.9*g.Beta && beta < g.Beta) {
			t.Fatalf("%+v: %v %v %v", g, alpha, beta, ok)
		}
		misses := func(p float64) float64 {
			most := math.Floor((g.Reference+g.Alpha)*float64(g.Test) + 1e-9)
			return float64(max(1, min(1, g.Queries)*4*(g.Queries+1))) * (1 - distuv.Binomial{N: float64(g.Test), P: p}.CDF(most))
		}
		if q := misses(g.Reference + alpha); q > g.Beta-beta {
			t.Errorf("%+v: measured above the goal in %v of trials, %v are spared", g, q, g.Beta-beta)
		}
		if q := misses(g.Reference + (alpha+g.Alpha)/2); q < g.Beta-beta {
			t.Errorf("%+v: a larger alpha would do: %v", g, q)
		}
	}
	if alpha, beta, ok := (Goal{Alpha: 0.1, Beta: 0.05}).Safe(); alpha != 0.1 || beta != 0.05 || !ok {
		t.Errorf("an exact error: %v %v %v", alpha, beta, ok)
	}
	if alpha, _, ok := (Goal{Alpha: 0.1, Beta: 0.05, Test: 9}).Safe(); !ok || alpha > 0.01 {
		t.Errorf("9 points: %v %v: an error of 0 is always measured as 0, and hardly any other", alpha, ok)
	}
	if _, _, ok := (Goal{Reference: 0.2, Alpha: 0.05, Beta: 0.05, Test: 9}).Safe(); ok {
		t.Error("9 points are enough beside a reference error")
	}
}
