package plan

import (
	"bytes"
	"fmt"
	"math"
	"slices"
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
  - {model: sum, in: [ln domain, 1]}
  - {model: power, in: 1/epsilon, claimed: 1, source: Theorem 2}
  - {model: power, in: [epsilon, domain], claimed: [1, 1]}
`

// lines returns a plan's fits, one line for each group.
func lines(p *Plan) (out []string) {
	for i, f := range p.Fits {
		for _, g := range f.Groups {
			var at []string
			for _, point := range g.Points {
				where := ""
				for _, x := range point.X {
					where += fmt.Sprintf(" %.4g", x)
				}
				if point.Rounds > 0 && !slices.Contains(f.Terms, "rounds") {
					where += fmt.Sprint(" in ", point.Rounds)
				}
				at = append(at, where[1:])
			}
			points := strings.Join(at, ", ")
			var terms []string
			for _, k := range g.Terms {
				terms = append(terms, f.Terms[k])
			}
			out = append(out, fmt.Sprintf("%d %s %s: %s | %s | %s", i, f.Form.Name, strings.Join(terms, ", "), g.Algorithm,
				g.Words, points))
		}
	}
	return out
}

func TestFits(t *testing.T) {
	p := mustResolve(t, fitted, algorithms(), "")
	want := []string{
		"0 sum ln domain, 1: expmech/em | epsilon 0.5, beta 0.1 | 4.159 1, 5.545 1, 6.931 1",
		"0 sum ln domain, 1: expmech/em | epsilon 0.5, beta 0.2 | 4.159 1, 5.545 1, 6.931 1",
		"0 sum ln domain, 1: expmech/em | epsilon 1, beta 0.1 | 4.159 1, 5.545 1, 6.931 1",
		"0 sum ln domain, 1: baseline/erm | beta 0.1 | 4.159 1, 5.545 1, 6.931 1",
		"0 sum ln domain, 1: baseline/erm | beta 0.2 | 4.159 1, 5.545 1, 6.931 1",
		"1 power 1/epsilon: expmech/em | domain 64 | 2, 1",
		"1 power 1/epsilon: expmech/em | domain 256 | 2, 1",
		"1 power 1/epsilon: expmech/em | domain 1024 | 2, 1",
		"2 power epsilon, domain: expmech/em | beta 0.1 | 0.5 64, 1 64, 0.5 256, 1 256, 0.5 1024, 1 1024",
		"2 power domain: expmech/em | beta 0.2 | 64, 256, 1024",
		"2 power domain: baseline/erm | beta 0.1 | 64, 256, 1024",
		"2 power domain: baseline/erm | beta 0.2 | 64, 256, 1024",
	}
	if diff := cmp.Diff(want, lines(p)); diff != "" {
		t.Error(diff)
	}
	if f := p.Fits[1]; f.Claimed[0] != 1 || f.Source != "Theorem 2" {
		t.Errorf("%+v", f)
	}
	var words bytes.Buffer
	if err := p.Explain(&words, 0); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"fit         n* = a ln domain + b, for 5 groups of cells that differ only in these numbers\n",
		"fit         n* = C (1/epsilon)^a, for 3 groups of cells that differ only in these numbers; claimed: 1 (Theorem 2)\n",
		"fit         n* = C epsilon^a domain^b, for 4 groups of cells that differ only in these numbers; claimed: 1, 1\n",
	} {
		if !strings.Contains(words.String(), line) {
			t.Errorf("%q is missing in %s", line, words.String())
		}
	}
	// fits do not enter keys, and adding one does not require extending a folder
	without := mustResolve(t, fitted[:strings.Index(fitted, "fits:")], algorithms(), "")
	if without.Digest() != p.Digest() || without.Fits != nil {
		t.Error("fits change the digest")
	}
}

// Quantities that follow from x vary with it: parameters of a preset, axes that zip pairs, the kind
// of evaluation.
func TestFitsAlong(t *testing.T) {
	for _, c := range []struct{ name, src, fits, want string }{
		{"parameter", `problem: {class: halfspace, d: 10, margin: 0.1, distribution: skew}
algorithms: [{use: boosting/hs-stl, lambda: [2, 4, 8], kappa: [0.1, 0.2]}, baseline/perceptron]`,
			"{model: sum, in: [p_lambda]}",
			"boosting/hs-stl | p_kappa 0.1 | 2, 4, 8; boosting/hs-stl | p_kappa 0.2 | 2, 4, 8"},
		{"resolved with x", `problem: {class: halfspace, d: [10, 20], margin: 0.1, distribution: skew}
algorithms: [{use: boosting/hs-stl, preset: [paper, calibrated]}]`, "{model: sum, in: [d]}",
			"boosting/hs-stl | p_preset paper | 10, 20; boosting/hs-stl | p_preset calibrated | 10, 20"},
		{"zip", `problem: {class: halfspace, d: [10, 20, 30], margin: [0.1, 0.2, 0.3], distribution: skew}
algorithms: [{use: boosting/hs-stl, rounds: [1, 2, 3], lambda: [4, 5]}]
zip: [[d, margin, rounds]]`, "{model: power, in: [margin]}",
			"boosting/hs-stl | p_lambda 4 | 0.1, 0.2, 0.3; boosting/hs-stl | p_lambda 5 | 0.1, 0.2, 0.3"},
		{"evaluation", `problem: {class: points, domain: [64, 2^20], distribution: uniform}
algorithms: [expmech/em]`, "{model: power, in: [domain]}", "expmech/em |  | 64, 1.049e+06"},
		{"grids", `grids:
  - {problem: {class: points, domain: 64, distribution: uniform}, algorithms: [expmech/em]}
  - {problem: {class: points, domain: [128, 256], distribution: uniform}, algorithms: [expmech/em, expmech/pf]}`,
			"{model: power, in: [domain]}", "expmech/em |  | 64, 128, 256; expmech/pf |  | 128, 256"},
		{"noise", `problem: {class: points, domain: 64, distribution: uniform, noise: [{kind: none}, {kind: random, rate: [0.1, 0.2]}]}
algorithms: [expmech/em]`, "{model: sum, in: [noise_rate]}", "expmech/em |  | 0.1, 0.2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := "name: x\n" + c.src + "\nprivacy: {epsilon: 1, delta: 1e-6}\n" +
				"goal: {alpha: 0.1, beta: 0.1, reference: 0}\nn: {from: 16, to: 1e6}\nfits: [" + c.fits + "]\n"
			var got []string
			for _, line := range lines(mustResolve(t, src, algorithms(), "")) {
				got = append(got, strings.SplitN(line, ": ", 2)[1])
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
fits: [{model: power, in: [rounds]}, {model: power, in: [domain]}]
`

func TestFitsOfGames(t *testing.T) {
	want := []string{
		"0 power rounds: online/soa | domain 4 | 10, 100",
		"0 power rounds: online/soa | domain 8 | 10, 100",
		"1 power domain: online/soa | rounds 10 | 4 in 10, 8 in 10",
		"1 power domain: online/soa | rounds 100 | 4 in 100, 8 in 100",
	}
	p := mustResolve(t, fittedGames, algorithms(), "")
	if diff := cmp.Diff(want, lines(p)); diff != "" {
		t.Error(diff)
	}
	begin := "the mean regret = C rounds^a, for 2 groups"
	if got := p.Fits[0].String(); !strings.HasPrefix(got, begin) {
		t.Error(got)
	}
}

func TestTerms(t *testing.T) {
	of := map[string]float64{"d": 3, "epsilon": 0.5, "alpha": 0.1, "domain": math.E * math.E}
	for text, want := range map[string]float64{
		"d": 3, "1": 1, "1/epsilon": 2, "ln domain": 2, "ln(domain)/(epsilon alpha)": 40, "1/alpha^2": 100, "d^0.5 d^0.5": 3,
		"d * ln domain": 6, "d^-1/epsilon": 2.0 / 3, "ln domain^2": 4, "1 / (alpha*epsilon^2)": 40,
	} {
		got, err := parseTerm(text)
		if v := got.value(of); err != nil || math.Abs(v-want) > 1e-12*want {
			t.Errorf("%s: %v, %v, want %v", text, v, err, want)
		}
	}
	for _, text := range []string{"(d epsilon)^2", "ln(d epsilon)", "d/epsilon alpha", "(d)", "d)", "1/(d", "ln", "ln 2"} {
		if got, err := parseTerm(text); err == nil {
			t.Errorf("%s is read as %v", text, got)
		}
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
		{"{model: power, in: weight}", `s:7:27: fits[0].in[0]: unknown quantity "weight"; there is alpha, beta, d, `},
		{"{model: power, in: [d, epsilom]}", `s:7:31: fits[0].in[1]: unknown quantity "epsilom", did you mean "epsilon"?`},
		{"{model: power, in: 1/lamda}", `s:7:27: fits[0].in[0]: unknown quantity "lamda", did you mean "lambda"?`},
		{"{model: power, in: domain}", `s:7:27: fits[0].in[0]: "domain" has no value in this sweep; there is alpha, `},
		{"{model: power, in: [d, margin]}", `s:7:31: fits[0].in[1]: no two cells differ in "margin" alone`},
		{"{model: power, in: unit}", `s:7:27: fits[0].in[0]: "unit" has no numbers`},
		{"{model: power, in: distribution}", `s:7:27: fits[0].in[0]: "distribution" has no numbers`},
		{"{model: power, in: replica}", `s:7:27: fits[0].in[0]: a replica is a copy with other noise, not a quantity`},
		{"{model: power, in: n_star}", `s:7:27: fits[0].in[0]: the fit is of n against other numbers`},
		{"{model: power, in: rounds}", `s:7:27: fits[0].in[0]: no two cells differ in "rounds" alone`},
		{"{model: power, in: lambda}",
			`s:7:27: fits[0].in[0]: the term has the value 0 where lambda = 0: use another model`},
		{"{model: sum, in: [1, 1/lambda]}", `s:7:29: fits[0].in[1]: the term has the value +Inf where lambda = 0`},
		{"{model: sum, in: [1, ln noise_rate]}", `s:7:29: fits[0].in[1]: the term has the value -Inf where noise_rate = 0`},
		{"{model: power, in: [d, 1]}", `s:7:31: fits[0].in[1]: the term 1 is the constant of model: sum`},
		{"{model: sum, in: [d//2]}", `s:7:26: fits[0].in[0]: "d//2": a term is a product such as epsilon`},
		{"{model: sum, in: [2 d]}", `s:7:26: fits[0].in[0]: "2 d": a term`},
		{"{model: sum, in: [ln]}", `s:7:26: fits[0].in[0]: "ln": a term`},
		{"{model: power, in: d, source: me}", `s:7:38: fits[0].source: a source requires the claimed exponents`},
		{"{model: power, in: d, claimed: [1, 2]}", `s:7:39: fits[0].claimed: 2 claims for 1 term`},
		{"{model: power, in: d}, {model: power, in: w}", `s:7:50: fits[1].in[0]: unknown quantity "w"`},
	} {
		_, err := resolve(t, fmt.Sprintf(src, c.fit), algorithms(), "")
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", c.fit, err, c.want)
		}
	}
}

// Names of groups and descriptions of cells distinguish the cells of an algorithm, and name no key
// that does not apply to them.
func TestNamesOfCells(t *testing.T) {
	p := mustResolve(t, `name: x
algorithms: [expmech/em]
privacy: {epsilon: [0.5, 1]}
goal: {alpha: [0.1, 0.2], beta: 0.1}
n: {from: 16, to: 1e6}
grids:
  - problem: {class: points, domain: [64, 2^8], distribution: needle, mass: 0.1}
  - problem: {class: parities, d: 4, distribution: uniform, noise: {kind: random, rate: [0, 0.1]}}
fits: [{model: power, in: epsilon}]
`, algorithms(), "")
	want := []string{
		"class points, domain 64, distribution needle, mass 0.1, target middle, noise none, alpha 0.1",
		"class points, domain 64, distribution needle, mass 0.1, target middle, noise none, alpha 0.2",
		"class points, domain 256, distribution needle, mass 0.1, target middle, noise none, alpha 0.1",
		"class points, domain 256, distribution needle, mass 0.1, target middle, noise none, alpha 0.2",
		"class parities, d 4, distribution uniform, target random, noise random, noise_rate 0, alpha 0.1",
		"class parities, d 4, distribution uniform, target random, noise random, noise_rate 0, alpha 0.2",
		"class parities, d 4, distribution uniform, target random, noise random, noise_rate 0.1, alpha 0.1",
		"class parities, d 4, distribution uniform, target random, noise random, noise_rate 0.1, alpha 0.2",
	}
	var got []string
	for _, g := range p.Fits[0].Groups {
		got = append(got, g.Words)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	described := map[string]bool{}
	for _, c := range p.Cells {
		described[c.Description()] = true
	}
	const one = "expmech/em on points, needle, domain 64, epsilon 0.5, mass 0.1, target middle, noise none, alpha 0.1"
	if len(described) != len(p.Cells) || !described[one] {
		t.Errorf("%d descriptions of %d cells: %v", len(described), len(p.Cells), described)
	}
}
