package plan

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// ladderBase searches epsilon for two algorithms at two n.
const ladderBase = `name: x
problem: {class: thresholds, domain: 64, distribution: uniform}
algorithms: [expmech/em, expmech/pf]
privacy: {epsilon: [1, 0.5, 2], delta: [1e-6, 1e-5]}
goal: {alpha: 0.1, beta: 0.1}
n: [200, 100]
search: epsilon
trials: {max: 3000}
`

// game is a sweep of games without a search.
const game = `name: x
task: online
problem: {class: thresholds, domain: 64, distribution: uniform}
algorithms: [online/soa]
adversary: {kind: planted}
goal: {alpha: [0.1, 0.2], beta: 0.1}
rounds: [10, 30, 20]
`

// rungsOf describes the ladders of a plan, each by its cells in order of position.
func rungsOf(t *testing.T, p *Plan) (lines []string) {
	t.Helper()
	rungs := map[*trial.Ladder][]*trial.Cell{}
	var order []*trial.Ladder
	for _, c := range p.Cells {
		if c.Rung == nil {
			continue
		}
		l := c.Rung.Ladder
		if rungs[l] == nil {
			order = append(order, l)
		}
		rungs[l] = append(rungs[l], c)
	}
	for _, l := range order {
		of := rungs[l]
		slices.SortFunc(of, func(a, b *trial.Cell) int { return int(a.Rung.Position - b.Rung.Position) })
		line := fmt.Sprintf("%s %s %v at n %v:", of[0].As, l.Axis, l.Direction(), of[0].N)
		for i, c := range of {
			if c.Rung.Position != int64(i)+1 || l.Values[i] != c.Rung.Value ||
				!slices.Equal(c.N, of[0].N) && !(l.OverRounds() && float64(c.N[0]) == c.Rung.Value) {
				t.Errorf("%s: rung %d is %+v at %v", line, i, *c.Rung, c.N)
			}
			line += fmt.Sprintf(" %v", c.Rung.Value)
		}
		lines = append(lines, line)
	}
	return lines
}

// A search over another number than n has a ladder for every combination of the other axes, with
// its values from the hardest to the easiest.
func TestLadders(t *testing.T) {
	for _, tt := range []struct {
		name, src string
		want      []string
	}{
		{"epsilon rises; delta does not apply to pure algorithms", ladderBase, []string{
			"expmech/em epsilon rises at n [100]: 0.5 1 2", "expmech/em epsilon rises at n [200]: 0.5 1 2",
			"expmech/pf epsilon rises at n [100]: 0.5 1 2", "expmech/pf epsilon rises at n [200]: 0.5 1 2",
		}},
		{"a rate falls, for each kind of noise", spoil(ladderBase, "uniform}",
			"uniform, noise: [{kind: random, rate: [0.1, 0.3, 0.2]}, {kind: adversarial, rate: [0.05, 0.1]}]}",
			"[1, 0.5, 2]", "1", "[200, 100]", "100", "search: epsilon", "search: noise.rate", ", expmech/pf", ""), []string{
			"expmech/em noise_rate falls at n [100]: 0.3 0.2 0.1", "expmech/em noise_rate falls at n [100]: 0.1 0.05",
		}},
		{"alpha rises, for each epsilon", spoil(ladderBase, "alpha: 0.1", "alpha: {from: 0.1, to: 0.3, steps: 3}",
			"[1, 0.5, 2]", "[1, 2]", "[200, 100]", "100", "search: epsilon", "search: {axis: alpha, confidence: 0.9}",
			", expmech/pf", ""), []string{
			"expmech/em alpha rises at n [100]: 0.1 0.2 0.3", "expmech/em alpha rises at n [100]: 0.1 0.2 0.3",
		}},
		{"a parameter, as the file says", `name: x
problem: {class: halfspace, d: 10, margin: 0.1, distribution: skew}
algorithms: [{use: boosting/hs-stl, rounds: [10, 30]}]
privacy: {epsilon: 1, delta: 1e-6}
goal: {alpha: 0.1, beta: 0.1}
n: 100
search: {axis: rounds, success: falls}
`, []string{"boosting/hs-stl p_rounds falls at n [100]: 30 10"}},
		{"the rounds of games, for each alpha", game + "search: rounds\n", []string{
			"online/soa rounds rises at n [10]: 10 20 30", "online/soa rounds rises at n [10]: 10 20 30",
		}},
		{"alpha, for each number of rounds", game + "search: alpha\nexclude: [{rounds: 20}]\n", []string{
			"online/soa alpha rises at n [10]: 0.1 0.2", "online/soa alpha rises at n [30]: 0.1 0.2",
		}},
		{"an exclusion takes a value away", ladderBase + "exclude: [{epsilon: 1, algorithm: expmech/pf}]\n", []string{
			"expmech/em epsilon rises at n [100]: 0.5 1 2", "expmech/em epsilon rises at n [200]: 0.5 1 2",
			"expmech/pf epsilon rises at n [100]: 0.5 2", "expmech/pf epsilon rises at n [200]: 0.5 2",
		}},
	} {
		p := mustResolve(t, tt.src, algorithms(), "")
		got := rungsOf(t, p)
		slices.Sort(got)
		slices.Sort(tt.want)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
		var words bytes.Buffer
		err := p.Explain(&words, 0)
		if err != nil || !strings.Contains(words.String(), "search      for the ") {
			t.Errorf("%s: %v %s", tt.name, err, words.String())
		}
	}
}

// The rungs of a ladder share no data with each other or with cells of the same setting elsewhere;
// the ladders of two algorithms share data rung by rung. A drawn seed does not change that.
func TestRungsAreIndependent(t *testing.T) {
	p := mustResolve(t, ladderBase, algorithms(), "")
	for range 2 {
		data, keys := map[trial.Key]string{}, map[trial.Key]bool{}
		for _, c := range p.Cells {
			id := fmt.Sprint(c.Epsilon)
			if was, ok := data[c.DataKey]; ok && was != id {
				t.Errorf("epsilon %s and %s share data", was, id)
			}
			data[c.DataKey], keys[c.Key] = id, true
		}
		if len(data) != 3 || len(keys) != len(p.Cells) || len(p.Cells) != 12 {
			t.Errorf("%d data keys and %d keys in %d cells", len(data), len(keys), len(p.Cells))
		}
		list := spoil(ladderBase, "search: epsilon\n", "", "trials: {max: 3000}", "trials: 3000")
		plain := mustResolve(t, list, algorithms(), "")
		for _, c := range plain.Cells {
			if data[c.DataKey] != "" || keys[c.Key] {
				t.Errorf("a rung is the cell %v of a list, or shares its data", c.Epsilon)
			}
		}
		if err := p.SetSeed(trial.SweepSeed{Seed: schemas.NumberSeed(7)}); err != nil {
			t.Fatal(err)
		}
	}
	other := mustResolve(t, ladderBase+"seed: 7\n", algorithms(), "")
	if p.Digest() != other.Digest() {
		t.Error("a seed that is set later gives other keys than one of the file")
	}
	if got, want := p.Counts().TrialsMax, int64(4*3000); got != want {
		t.Errorf("at most %d trials, want %d", got, want)
	}
}

// For a game that a search plays, the algorithm is asked about its number of rounds and receives no
// goal: cells that differ only in their goal are the same game.
func TestGamesOfSearches(t *testing.T) {
	asked := map[int64]bool{}
	a := algorithms()
	soa := a.rows["online/soa"]
	soa.check = func(s *pluginv1.Setting, _ map[string]*pluginv1.Value) *pluginv1.Refusal {
		if s.GetAlpha() != 0 || s.GetBeta() != 0 || s.GetReference() != 0 {
			t.Errorf("a learner is told of a goal: %v", s)
		}
		asked[s.GetRounds()] = true
		return nil
	}
	a.rows["online/soa"] = soa
	p := mustResolve(t, game+"search: rounds\n", a, "")
	if want := map[int64]bool{10: true, 20: true, 30: true}; !maps.Equal(asked, want) {
		t.Errorf("asked about %v rounds, want %v", asked, want)
	}
	for _, c := range p.Cells {
		s := c.Setting(c.N[0])
		if s.GetRounds() != c.N[0] || s.GetN() != 0 || s.GetAlpha() != 0 || s.GetBeta() != 0 || !c.CanSucceed() ||
			c.Prior != nil {
			t.Errorf("%v: %v", c.N, s)
		}
	}
}

// A search over a number that cannot be searched is a mistake with its place and a remedy.
func TestFindMistakes(t *testing.T) {
	for _, tt := range []struct {
		name, src string
		want      string
	}{
		{"unknown", spoil(ladderBase, "search: epsilon", "search: epsilom"),
			`s:7:9: search: unknown number "epsilom", did you mean "epsilon"?`},
		{"beta", spoil(ladderBase, "search: epsilon", "search: beta"),
			`s:7:9: search: beta cannot be searched: it is part of the goal: the share of trials that may fail`},
		{"n", spoil(ladderBase, "search: epsilon", "search: n"),
			`s:7:9: search: n cannot be searched: search n* with "n: {from: 16, to: 1e6}"; search is for other numbers`},
		{"no number", spoil(ladderBase, "search: epsilon", "search: class"),
			`s:7:9: search: class is not a number: only numbers can be searched`},
		{"a single value", spoil(ladderBase, "[1, 0.5, 2]", "1"),
			`s:7:9: search: epsilon has a single value: list the values to search, as in "epsilon: {from: 0.1, to: 10, ` +
				`steps: 21, scale: log}"`},
		{"no direction", spoil(ladderBase, "search: epsilon", "search: domain", "domain: 64", "domain: [64, 128]"),
			`s:7:9: search: state whether success rises or falls as domain grows: search: {axis: domain, success: falls}`},
		{"wrong direction", spoil(ladderBase, "search: epsilon", "search: {axis: epsilon, success: fall}"),
			`s:7:34: search.success: unknown value "fall", did you mean "falls"?`},
		{"not private", spoil(ladderBase, "expmech/pf", "baseline/erm"),
			`s:7:9: search: baseline/erm is not private, so that epsilon does not apply to it: ` +
				`give it a grid of its own without search`},
		{"delta of a pure algorithm", spoil(ladderBase, "search: epsilon", "search: delta", ", expmech/pf", ""),
			`s:7:9: search: delta does not affect expmech/em: give it a grid of its own without search`},
		{"a parameter that one algorithm lacks", spoil(ladderBase, "search: epsilon", "search: rounds",
			"expmech/pf", "baseline/perceptron"),
			`s:7:9: search: unknown number "rounds"`},
		{"zip", spoil(ladderBase, "search: epsilon", "zip: [[epsilon, alpha]]\nsearch: epsilon",
			"alpha: 0.1", "alpha: [0.1, 0.2, 0.3]"),
			`s:8:9: search: zip pairs epsilon with alpha, but a search changes one number only: remove it from zip`},
		{"two searches", spoil(ladderBase, "n: [200, 100]", "n: {from: 16, to: 1e6}"),
			`s:6:4: n: epsilon is searched at a given n, so n cannot be searched too: write the sample sizes, ` +
				`"n: [2000]", or remove search`},
		{"trials of a list", spoil(ladderBase, "{max: 3000}", "3000"),
			`s:8:9: trials: with search write the number of trials of one search, "trials: {max: 50000}"`},
		{"games without a search", game, `s:6:7: goal: in task online a goal requires a search: add "search: rounds" to ` +
			`search the number of rounds from which on the regret per round is at most alpha, or leave goal out`},
		{"games without a goal", spoil(game, "goal: {alpha: [0.1, 0.2], beta: 0.1}", "search: rounds"),
			`s:1:1: "goal" is needed to search: {alpha: 0.1, beta: 0.05} makes a regret of at most 0.1 per round a success`},
		{"games without alpha", spoil(game, "alpha: [0.1, 0.2], ", "") + "search: rounds\n",
			`s:6:7: goal: "alpha" is needed: the regret per round that counts as success`},
		{"games with a reference", spoil(game, "beta: 0.1", "beta: 0.1, reference: 0.1") + "search: rounds\n",
			`s:6:49: goal.reference: does not apply to task online, where the reference is the best ` +
				`hypothesis in hindsight; leave it out`},
		{"one number of rounds", spoil(game, "[10, 30, 20]", "[10]") + "search: rounds\n",
			`s:8:9: search: rounds has a single value: list the values to search, as in "rounds: {from: 10, to: 10000, ` +
				`steps: 16, scale: log}"`},
		{"the n of games", game + "search: n\n",
			`s:8:9: search: n cannot be searched: games have rounds; use search: rounds`},
		{"the trials of games", game + "search: rounds\ntrials: 20\n",
			`s:9:9: trials: with search write the number of trials of one search, "trials: {max: 50000}"`},
		{"rounds of another task", spoil(ladderBase, "search: epsilon", "search: rounds", ", expmech/pf", ""),
			`s:7:9: search: unknown number "rounds"`},
		{"a fit", ladderBase + "fits: [{model: sum, in: alpha}]\n",
			`s:9:25: fits[0].in[0]: "alpha" has no value in this sweep`},
	} {
		_, err := resolve(t, tt.src, algorithms(), "")
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
}
