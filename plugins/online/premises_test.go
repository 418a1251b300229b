package online

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/problem/adversary"
	"github.com/shatterlab/shatter/pipeline/problem/problemtest"
	"github.com/shatterlab/shatter/pipeline/theory"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// contenders are algorithms with their parameters.
// Those that end in "noise" are played with fresh noise and with noise that is drawn once.
var (
	contenders = spread(
		"online/soa", "online/halving", "online/follow-the-leader", "online/agnostic-experts", "online/hedge",
		"online/ftpl-gaussian noise", "online/ftpl-iid schedule=self-confident noise",
		"online/ftpl-iid law=exponential noise", "online/ftpl-iid law=laplace schedule=doubling noise",
		"online/ftpl-iid exact=true", "online/ftpl-uniform noise", "online/ftpl-laplace noise",
		"online/ftpl-approximable noise", "online/ftpl-real loss=absolute",
	)
)

// spread lists both kinds of noise.
func spread(texts ...string) (list []string) {
	for _, text := range texts {
		if plain, noisy := strings.CutSuffix(text, " noise"); noisy {
			list = append(list, plain+" noise=fresh", plain+" noise=once")
		} else {
			list = append(list, text)
		}
	}
	return list
}

// contend returns the setting of a contender before it knows the problem.
func contend(text string, rounds int) *pluginv1.Setting {
	words := strings.Fields(text)
	params := trial.Params{}
	for _, w := range words[1:] {
		name, value, _ := strings.Cut(w, "=")
		params[name] = value
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			params[name] = v
		} else if value == "true" {
			params[name] = true
		}
	}
	return &pluginv1.Setting{
		Algorithm: words[0], Task: pluginv1.Task_TASK_ONLINE, Parameters: params.Values(), Rounds: int64(rounds),
		Alpha: 0.1, Beta: 0.1,
	}
}

// serve returns a process that serves the algorithms of this package: this test again, which is not
// to do anything before.
func serve(t *testing.T) *host.Process {
	t.Helper()
	if os.Getenv(pluginv1.CookieKey) == pluginv1.CookieValue {
		algo.Serve(Plugins()...)
		t.SkipNow()
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := host.Start(t.Context(), host.Command{Path: path, Args: []string{"-test.run", "^" + t.Name() + "$"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

// unmet returns why none of the proved bounds on the regret holds under a setting, "" where one
// does. ok is false where the algorithm refuses the setting.
func unmet(t *testing.T, p *host.Process, s *pluginv1.Setting) (why string, ok bool) {
	t.Helper()
	checked, err := p.Check(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if checked.Refusal != nil {
		return "", false
	}
	r, err := p.Bound(t.Context(), s)
	if err != nil || r.Refusal != nil {
		t.Fatal(r, err)
	}
	why = "no bound"
	for _, b := range r.Bounds {
		if err := theory.Check(b, s.Task); err != nil {
			t.Errorf("%s: %v", s.Algorithm, err)
		}
		if !b.Proved {
			continue
		}
		if why = theory.Unmet(b, theory.Facts{Setting: s}); why == "" {
			break
		}
	}
	return why, true
}

// duel is one row of a table: a contender against an adversary on a problem.
type duel struct {
	name      string
	setting   *pluginv1.Setting
	problem   *problem.Problem
	adversary schemas.Adversary
}

// play plays the duel on as many sequences as given, and returns the regret of each and the bound
// on it that was reported, NaN for none.
func (d *duel) play(t *testing.T, p *host.Process, sequences int) (regret, proved []float64) {
	t.Helper()
	class, err := concept.New(concept.SpecOf(d.setting.Problem))
	if err != nil {
		t.Fatal(err)
	}
	type game struct {
		adversary.Rounds
		coin *rand.Rand
		x, y []float64
		loss float64
	}
	games, counts := make([]game, sequences), make([]uint32, sequences)
	open := host.OpenRequest{Setting: d.setting}
	for j := range games {
		open.Seeds = append(open.Seeds, uint64(j), 1)
		stream := func(number uint64) rand.Source { return rand.NewPCG(uint64(j), number) }
		drawer := d.problem.Drawer(0)
		drawer.Begin(problem.Streams{Target: stream(2), Points: stream(3), LabelNoise: stream(4), TestPoints: stream(5)})
		rounds, err := drawer.Rounds(d.adversary, d.setting.Rounds, stream(6))
		if err != nil {
			t.Fatal(err)
		}
		games[j], counts[j] = game{Rounds: rounds, coin: rand.New(stream(7))}, 1
	}
	session, faults, err := p.Open(t.Context(), open, nil)
	if err != nil || len(faults) > 0 {
		t.Fatal(d.name, faults, err)
	}
	dim, truths := d.problem.Dim(), []float64(nil)
	for range d.setting.Rounds {
		answers, faults, err := session.Round(t.Context(), counts, truths, func(x []float64) {
			for j := range games {
				games[j].Next(x[j*dim : (j+1)*dim])
				games[j].x = append(games[j].x, x[j*dim:(j+1)*dim]...)
			}
		})
		if err != nil || len(faults) > 0 {
			t.Fatal(d.name, faults, err)
		}
		truths = truths[:0]
		for j, a := range answers {
			g := &games[j]
			y, label := g.Truth(a), 1.0
			if 2*g.coin.Float64()-1 >= a {
				label = -1
			}
			g.Observe(label)
			g.y, g.loss = append(g.y, y), g.loss+(1-y*a)/2
			truths = append(truths, y)
		}
	}
	metrics, faults, err := session.CloseRound(t.Context(), truths)
	if err != nil || len(faults) > 0 {
		t.Fatal(d.name, faults, err)
	}
	for _, g := range games {
		best, err := class.Best(g.x, g.y, slices.Repeat([]float64{1}, len(g.y)))
		if err != nil {
			t.Fatal(err)
		}
		regret = append(regret, g.loss-best)
	}
	return regret, metrics[theory.ProvedRegret]
}

// duels lists contenders against all adversaries, with all that these can see, on a problem.
func duels(t *testing.T, contenders []string, spec schemas.Problem, rounds int) (list []duel) {
	t.Helper()
	problemtest.Resolve(t, &spec)
	file := ""
	if spec.Matrix != nil {
		file = spec.Matrix.File
	}
	opened, err := problem.Open(spec, file)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range adversary.All() {
		for _, sees := range append(slices.Clone(k.Sees), "")[:max(1, len(k.Sees))] {
			for _, rate := range []float64{0, 0.1} {
				a := schemas.Adversary{Kind: k.Name, Sees: sees, Rate: rate}
				if adversary.Resolve(schemas.TaskOnline, &spec, &a) != nil || rate > 0 && k.Rate.Default == rate {
					continue
				}
				for _, text := range contenders {
					s := contend(text, rounds)
					s.Problem = trial.PublicOf(opened.Public(), schemas.TaskOnline, &a)
					s.Sees = trial.SightOf(&a)
					name := fmt.Sprintf("%s against %v on %s, %d rounds", text, a, spec.Class, rounds)
					list = append(list, duel{name, s, opened, a})
				}
			}
		}
	}
	return list
}

// Learners report their bounds where the premises of one hold, and only there.
func TestReportsFollowPremises(t *testing.T) {
	p := serve(t)
	spec := schemas.Problem{Class: "points", Domain: 4, Distribution: "uniform"}
	for _, d := range duels(t, contenders, spec, 2) {
		why, ok := unmet(t, p, d.setting)
		if !ok {
			continue
		}
		if _, proved := d.play(t, p, 1); math.IsNaN(proved[0]) != (why != "") {
			t.Errorf("%s: reports %v; premises: %q", d.name, proved[0], why)
		}
	}
}

// Each bound has the premises that its proof needs.
func TestPremises(t *testing.T) {
	p := serve(t)
	for _, c := range []struct {
		contender, class string
		want             string // the premises of each bound
	}{
		{"online/soa", "points", "ldim [target-in-class]"},
		{"online/halving", "points", "halvings [target-in-class] halving-printed [target-in-class]"},
		{"online/follow-the-leader", "points", "one-mistake-each [target-in-class] turns []"},
		{"online/agnostic-experts", "points", "agnostic []"},
		{"online/hedge tuning=small-loss", "points", "worst-case [] small-loss []"},
		{"online/ftpl-gaussian", "points", "explicit [unseen-answer] theorem-1 [unseen-answer]"},
		{"online/ftpl-gaussian noise=once", "points", "explicit [fixed-beforehand] theorem-1 [fixed-beforehand]"},
		{"online/ftpl-gaussian noise=once schedule=paper", "points",
			"explicit [fixed-beforehand] theorem-1 [fixed-beforehand] theorem-1-display [fixed-beforehand]"},
		{"online/ftpl-gaussian separator=cube exact=true", "parities", "explicit [] theorem-1 []"},
		{"online/ftpl-iid exact=true", "points", "explicit []"},
		{"online/ftpl-iid schedule=doubling", "points", "explicit [unseen-answer] +Inf"},
		{"online/ftpl-iid schedule=self-confident noise=once", "points", "explicit [fixed-beforehand] +Inf"},
		{"online/ftpl-uniform noise=once", "points", "explicit [fixed-beforehand] dudik-2020 [fixed-beforehand]"},
		{"online/ftpl-laplace", "points", "explicit [unseen-answer] syrgkanis-2016 [unseen-answer]"},
		{"online/ftpl-approximable", "points", "explicit [unseen-answer] approximable [unseen-answer]"},
		{"online/ftpl-real loss=absolute", "points", "theorem-1 [unseen-answer] explicit [unseen-answer]"},
		{"online/ftpl-iid noise=once", "matrix", "single []"},
	} {
		s := contend(c.contender, 10)
		s.Problem = &pluginv1.Problem{Class: c.class, Domain: 4, Dim: 1}
		switch c.class {
		case "parities":
			s.Problem.Domain, s.Problem.Dim = 0, 3
		case "matrix":
			s.Problem.Matrix = "0110"
		}
		r, err := p.Bound(t.Context(), s)
		if err != nil || r.Refusal != nil {
			t.Fatal(c.contender, r, err)
		}
		var words []string
		for _, b := range r.Bounds {
			words = append(words, b.Name, fmt.Sprint(b.Premises))
			if math.IsInf(b.Value, 1) {
				words = append(words, "+Inf")
			}
		}
		if got := strings.Join(words, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.contender, got, c.want)
		}
	}
}
