package online

import (
	"context"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/plugins/algo"
)

// refusals checks that a accepts each of the settings or returns the wanted error.
func refusals[P any](t *testing.T, a algo.Algorithm[P], list []refused[P]) {
	t.Helper()
	for _, c := range list {
		s := settingOf(c.problem, c.rounds, c.params)
		if c.problem.Dim > 0 {
			s.Problem.Dim = c.problem.Dim
		}
		err := a.Check(&s)
		if c.want == "" && err != nil || c.want != "" && (!algo.IsInvalid(err) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %+v, %d rounds, %+v: %v, want %q", a.Name, c.problem, c.rounds, c.params, err, c.want)
		}
		if _, boundErr := a.Bound(&s); c.want == "" && boundErr != nil {
			t.Errorf("%s: bound: %v", a.Name, boundErr)
		}
	}
}

// A refused holds a setting and a text that the error must contain; if it is empty, there must be
// no error.
type refused[P any] struct {
	problem algo.Problem
	rounds  int
	params  P
	want    string
}

// problems returns problems that every learner rejects or that every learner accepts.
func problems[P any](params P) []refused[P] {
	return []refused[P]{
		{algo.Problem{Class: "halfspace", Dim: 3}, 5, params, "infinitely many functions"},
		{algo.Problem{Class: "threshold", Domain: 4}, 5, params, `unknown class "threshold"`},
		{algo.Problem{Class: "thresholds", Domain: 1}, 5, params, "domain 1"},
		{matrixProblem([]string{"010", "111", "010"}), 5, params, "row"},
		{algo.Problem{Class: "thresholds", Domain: 1 << 40}, 5, params, ""},
		{algo.Problem{Class: "intervals", Domain: 30}, 5, params, ""},
		{algo.Problem{Class: "points", Domain: 1}, 0, params, ""},
		{algo.Problem{Class: "points", Domain: 1}, 1, params, ""},
	}
}

func TestCheck(t *testing.T) {
	known := new(boards)
	refusals(t, followTheLeader(known), append(problems(struct{}{}),
		refused[struct{}]{algo.Problem{Class: "intervals", Domain: 1 << 20}, 5, struct{}{},
			"functions, the limit is 65536"},
		refused[struct{}]{algo.Problem{Class: "points", Domain: 5000}, 5, struct{}{}, ""},
	))
	for _, a := range []algo.Algorithm[struct{}]{soa(known), halving(known)} {
		refusals(t, a, append(problems(struct{}{}),
			refused[struct{}]{algo.Problem{Class: "points", Domain: 5000}, 5, struct{}{}, "use at most 4096"},
			refused[struct{}]{algo.Problem{Class: "stumps", Domain: 10, Dim: 4}, 5, struct{}{}, "online/hedge"},
		))
	}
	refusals(t, agnosticExperts(known), append(problems(agnosticParams{}),
		refused[agnosticParams]{algo.Problem{Class: "points", Domain: 4}, maxRounds + 1, agnosticParams{}, "16777217 rounds"},
		refused[agnosticParams]{algo.Problem{Class: "thresholds", Domain: maxSpaces}, maxSpaces, agnosticParams{},
			"65536 rounds with 65537 functions"},
		refused[agnosticParams]{algo.Problem{Class: "thresholds", Domain: maxSpaces}, maxSpaces - 1, agnosticParams{}, ""},
		refused[agnosticParams]{algo.Problem{Class: "thresholds", Domain: maxSpaces - 1}, maxSpaces, agnosticParams{}, ""},
	))
	points := algo.Problem{Class: "points", Domain: 4}
	refusals(t, hedge(known), append(problems(hedgeParams{Tuning: worstTuning}),
		refused[hedgeParams]{points, 5, hedgeParams{Tuning: fixedTuning}, "set rate"},
		refused[hedgeParams]{points, 5, hedgeParams{Tuning: worstTuning, Rate: 1}, "rate is not used"},
		refused[hedgeParams]{points, 5, hedgeParams{Tuning: smallTuning, Rate: 1}, "rate is not used"},
		refused[hedgeParams]{points, 5, hedgeParams{Tuning: fixedTuning, Rate: 1, LStar: 1}, "lstar is not used"},
		refused[hedgeParams]{points, 5, hedgeParams{Tuning: smallTuning, LStar: 3}, ""},
		refused[hedgeParams]{points, 0, hedgeParams{Tuning: fixedTuning, Rate: 2}, ""},
	))
	if len(Plugins()) < 5 {
		t.Errorf("%d plugins", len(Plugins()))
	}
}

// Points outside the domain and truths that are not labels end the game with an error that names
// them, before the learner changes.
func TestRounds(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		x, y []float64
		want string
	}{
		{[]float64{8}, []float64{1}, "point [8] is outside the domain"},
		{[]float64{-1}, []float64{1}, "point [-1] is outside the domain"},
		{[]float64{0.5}, []float64{1}, "from 0 to 7"},
		{[]float64{3, 1}, []float64{1}, "has 2 numbers"},
		{[]float64{3}, []float64{0}, "truth 0 of point [3]"},
	} {
		for _, class := range []string{"thresholds", "points"} {
			for name, l := range learners(t, algo.Problem{Class: class, Domain: 8}, 3) {
				x := algo.NewData(c.x, len(c.x), nil)
				if err := l.Observe(ctx, x, c.y); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: %v is observed: %v, want %q", name, c.x, err, c.want)
				}
				if err := l.Predict(ctx, x, make([]float64, 1)); c.y[0] != 0 &&
					(err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("%s: %v is predicted: %v, want %q", name, c.x, err, c.want)
				}
			}
		}
	}
}

// Truths that no function agrees with leave the version space unchanged, and are counted.
func TestContradictions(t *testing.T) {
	for _, p := range []algo.Problem{{Class: "thresholds", Domain: 8}, {Class: "points", Domain: 8}} {
		known := new(boards)
		for _, a := range []algo.Algorithm[struct{}]{soa(known), halving(known)} {
			e := begin(t, a, p, 6, struct{}{}).(*elimination)
			for _, r := range []round{{3, 1}, {3, -1}, {3, -1}, {5, 1}, {2, -1}, {3, -1}} {
				tell(t, e, []float64{float64(r.v)}, r.y)
			}
			want := 3
			if p.Class == "points" { // 5 is not the point 3
				want++
			}
			if e.contradictions != want || e.now.size() != 1 {
				t.Errorf("%s, %s: %d contradictions and %d functions left, want %d and 1", a.Name, p.Class, e.contradictions,
					e.now.size(), want)
			}
			if got := answer(t, e, []float64{3}); got != 1 {
				t.Errorf("%s, %s: says %v at 3", a.Name, p.Class, got)
			}
		}
	}
}
