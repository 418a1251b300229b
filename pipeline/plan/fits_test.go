package plan

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const fitted = `name: x
problem: {class: points, domain: [64, 2^8, 1024], distribution: [uniform, needle], mass: 0.1}
algorithms: [expmech/em, baseline/erm]
privacy: {epsilon: [0.5, 1]}
goal: {alpha: 0.1, beta: [0.1, 0.2]}
n: {from: 16, to: 1e6}
exclude: [{distribution: uniform}, {beta: 0.2, epsilon: 1, algorithm: expmech/em}]
fits:
  - {x: domain, scale: log}
  - {x: epsilon, scale: log-log, exponent: -1, source: Theorem 2}
`

// lines returns a plan's fits, one line for each group.
func lines(p *Plan) (out []string) {
	for i, f := range p.Fits {
		for _, g := range f.Groups {
			var at []string
			for _, point := range g.Points {
				where := fmt.Sprint(point.X)
				if point.Rounds > 0 && f.X != "rounds" {
					where += fmt.Sprint(" in ", point.Rounds)
				}
				at = append(at, where)
			}
			points := strings.Join(at, ", ")
			out = append(out, fmt.Sprintf("%d %s %s %s | %s | %s", i, f.X, f.Scale.Name, g.Algorithm, g.Words, points))
		}
	}
	return out
}

func TestFits(t *testing.T) {
	p := mustResolve(t, fitted, algorithms(), "")
	want := []string{
		"0 domain log expmech/em | epsilon 0.5, beta 0.1 | 64, 256, 1024",
		"0 domain log expmech/em | epsilon 0.5, beta 0.2 | 64, 256, 1024",
		"0 domain log expmech/em | epsilon 1, beta 0.1 | 64, 256, 1024",
		"0 domain log baseline/erm | beta 0.1 | 64, 256, 1024",
		"0 domain log baseline/erm | beta 0.2 | 64, 256, 1024",
		"1 epsilon log-log expmech/em | domain 64, beta 0.1 | 0.5, 1",
		"1 epsilon log-log expmech/em | domain 256, beta 0.1 | 0.5, 1",
		"1 epsilon log-log expmech/em | domain 1024, beta 0.1 | 0.5, 1",
	}
	if diff := cmp.Diff(want, lines(p)); diff != "" {
		t.Error(diff)
	}
	if f := p.Fits[1]; *f.Exponent != -1 || f.Source != "Theorem 2" {
		t.Errorf("%+v", f)
	}
	var words bytes.Buffer
	if err := p.Explain(&words, 0); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"fit         n* as a linear function of ln domain; one slope for each of 5 groups of cells that differ only in " +
			"domain\n",
		"fit         ln n* as a linear function of ln epsilon; one slope for each of 3 groups of cells that differ only in " +
			"epsilon; claimed slope -1 (Theorem 2)\n",
	} {
		if !strings.Contains(words.String(), line) {
			t.Errorf("%q is missing in %s", line, words.String())
		}
	}
	// fits do not enter keys, and adding one does not require extending a folder
	without := mustResolve(t, fitted[:strings.Index(fitted, "fits:")], algorithms(), "")
	if diff := cmp.Diff(string(resolvedOf(t, without)), string(resolvedOf(t, p))); diff != "" || without.Fits != nil {
		t.Error(diff)
	}
}

// Quantities that follow from x vary with it: parameters of a preset, axes that zip pairs, the kind
// of evaluation.
func TestFitsAlong(t *testing.T) {
	for _, c := range []struct{ name, src, fits, want string }{
		{"parameter", `problem: {class: halfspace, d: 10, margin: 0.1, distribution: skew}
algorithms: [{use: boosting/hs-stl, lambda: [2, 4, 8], kappa: [0.1, 0.2]}, baseline/perceptron]`, "{x: p_lambda, scale: linear}",
			"boosting/hs-stl | p_kappa 0.1 | 2, 4, 8; boosting/hs-stl | p_kappa 0.2 | 2, 4, 8"},
		{"resolved with x", `problem: {class: halfspace, d: [10, 20], margin: 0.1, distribution: skew}
algorithms: [{use: boosting/hs-stl, preset: [paper, calibrated]}]`, "{x: d, scale: linear}",
			"boosting/hs-stl | p_preset paper | 10, 20; boosting/hs-stl | p_preset calibrated | 10, 20"},
		{"zip", `problem: {class: halfspace, d: [10, 20, 30], margin: [0.1, 0.2, 0.3], distribution: skew}
algorithms: [{use: boosting/hs-stl, rounds: [1, 2, 3], lambda: [4, 5]}]
zip: [[d, margin, rounds]]`, "{x: margin, scale: log}",
			"boosting/hs-stl | p_lambda 4 | 0.1, 0.2, 0.3; boosting/hs-stl | p_lambda 5 | 0.1, 0.2, 0.3"},
		{"evaluation", `problem: {class: points, domain: [64, 2^20], distribution: uniform}
algorithms: [expmech/em]`, "{x: domain, scale: log}", "expmech/em |  | 64, 1.048576e+06"},
		{"grids", `grids:
  - {problem: {class: points, domain: 64, distribution: uniform}, algorithms: [expmech/em]}
  - {problem: {class: points, domain: [128, 256], distribution: uniform}, algorithms: [expmech/em, expmech/pf]}`, "{x: domain, scale: log}",
			"expmech/em |  | 64, 128, 256; expmech/pf |  | 128, 256"},
		{"noise", `problem: {class: points, domain: 64, distribution: uniform, noise: [{kind: none}, {kind: random, rate: [0.1, 0.2]}]}
algorithms: [expmech/em]`, "{x: noise_rate, scale: linear}", "expmech/em | noise random | 0.1, 0.2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := "name: x\n" + c.src + "\nprivacy: {epsilon: 1, delta: 1e-6}\n" +
				"goal: {alpha: 0.1, beta: 0.1, reference: 0}\nn: {from: 16, to: 1e6}\nfits: [" + c.fits + "]\n"
			var got []string
			for _, line := range lines(mustResolve(t, src, algorithms(), "")) {
				got = append(got, strings.SplitN(line, " ", 4)[3])
			}
			if diff := cmp.Diff(c.want, strings.Join(got, "; ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

const fittedGames = `name: x
task: online
problem: {class: points, domain: [4, 8], distribution: uniform}
algorithms: [online/soa]
adversary: {kind: random}
rounds: [10, 100]
fits: [{x: rounds, scale: log-log}, {x: domain, scale: log}]
`

func TestFitsOfGames(t *testing.T) {
	want := []string{
		"0 rounds log-log online/soa | domain 4 | 10, 100",
		"0 rounds log-log online/soa | domain 8 | 10, 100",
		"1 domain log online/soa | rounds 10 | 4 in 10, 8 in 10",
		"1 domain log online/soa | rounds 100 | 4 in 100, 8 in 100",
	}
	p := mustResolve(t, fittedGames, algorithms(), "")
	if diff := cmp.Diff(want, lines(p)); diff != "" {
		t.Error(diff)
	}
	begin := "ln the mean regret as a linear function of ln rounds; one slope for each of 2 groups"
	if got := p.Fits[0].String(); !strings.HasPrefix(got, begin) {
		t.Error(got)
	}
}

func TestFitMistakes(t *testing.T) {
	const src = `name: x
problem: {class: halfspace, d: [10, 20], margin: 0.1, distribution: skew, noise: [{kind: random, rate: [0, 0.1]}]}
algorithms: [{use: boosting/hs-stl, lambda: [1, 0], unit: [true, false]}]
privacy: {epsilon: 1, delta: 1e-6}
goal: {alpha: 0.1, beta: 0.1, reference: 0}
n: {from: 16, to: 1e6}
fits: [%s]
`
	for _, c := range []struct{ fit, want string }{
		{"{x: weight, scale: log}", `s:7:12: fits[0].x: unknown quantity "weight"; there is alpha, beta, d, delta, epsilon, kappa, lambda, margin, minority, noise_rate, rounds`},
		{"{x: epsilom, scale: log}", `s:7:12: fits[0].x: unknown quantity "epsilom", did you mean "epsilon"?`},
		{"{x: lamda, scale: log}", `s:7:12: fits[0].x: unknown quantity "lamda", did you mean "lambda"?`},
		{"{x: domain, scale: log}", `s:7:12: fits[0].x: "domain" has no value in this sweep; there is alpha, `},
		{"{x: margin, scale: log}", `s:7:12: fits[0].x: no two cells differ in "margin" alone: give it a list of values`},
		{"{x: unit, scale: log}", `s:7:12: fits[0].x: "unit" has no numbers to fit against; there is `},
		{"{x: distribution, scale: log}", `s:7:12: fits[0].x: "distribution" has no numbers to fit against; there is `},
		{"{x: replica, scale: log}", `s:7:12: fits[0].x: a replica is a copy with other noise, not a quantity; there is `},
		{"{x: n_star, scale: log}", `s:7:12: fits[0].x: the fit is of n against x: name a number that n depends on`},
		{"{x: rounds, scale: log}", `s:7:12: fits[0].x: no two cells differ in "rounds" alone`},
		{"{x: lambda, scale: log}", `s:7:27: fits[0].scale: "lambda" has the value 0, which has no logarithm: use ` +
			`scale: linear or semilog, or exclude the value`},
		{"{x: noise_rate, scale: log-log}", `s:7:31: fits[0].scale: "noise_rate" has the value 0`},
		{"{x: d, scale: log, source: me}", `s:7:35: fits[0].source: a source requires the claimed exponent: add ` +
			`"exponent: 0.5"`},
		{"{x: d, scale: log}, {x: w, scale: log}", `s:7:32: fits[1].x: unknown quantity "w"`},
	} {
		_, err := resolve(t, fmt.Sprintf(src, c.fit), algorithms(), "")
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", c.fit, err, c.want)
		}
	}
}
