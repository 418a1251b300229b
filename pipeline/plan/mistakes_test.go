package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/sweep"
)

// sound is a sweep file without mistakes, one key per line.
const sound = `name: x
problem:
  class: halfspace
  d: [10, 20]
  margin: 0.1
  distribution: skew
algorithms:
  - {use: boosting/hs-stl, rounds: [30, 40], kappa: 0.2}
  - baseline/perceptron
privacy: {epsilon: [1, 2], delta: 1e-6}
goal: {alpha: 0.1, beta: [0.1, 0.2]}
n: [100]
trials: 20
zip: [[d, beta]]
exclude: [{algorithm: boosting/hs-stl, d: 20}]
limits: {trial: 5m}
fits: [{model: power, in: epsilon}]
`

// spoil replaces parts of src, all of which must exist.
func spoil(src string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(src, pairs[i]) {
			panic("nothing to spoil: " + pairs[i])
		}
		src = strings.Replace(src, pairs[i], pairs[i+1], 1)
	}
	return src
}

// All mistakes of a file, of all kinds, are reported at once, and no error that would disappear if
// the others were corrected.
func TestAllMistakesAtOnce(t *testing.T) {
	mustResolve(t, sound, algorithms(), "")
	const blocks = `name: x
task: learn
algorithms: [expmech/em]
privacy: {epsilon: 1}
goal: {alpha: 0.1, beta: 0.1}
n: [100]
grids:
  - problem: {class: points, domain: 64, distribution: uniform}
  - problem: {class: points, domain: 64, distribution: needle, mass: 0.1}
`
	for _, tt := range []struct {
		name, src string
		want      []string
	}{
		{"a key, an algorithm, a parameter's value, a distribution and alpha", spoil(sound, "limits:", "limts:",
			"baseline/perceptron", "perceptron", "rounds: [30, 40]", "rounds: [30, -4]", "skew", "skw", "alpha: 0.1", "alpha: 0.7"),
			[]string{
				`s:6:17: problem.distribution: unknown value "skw", did you mean "skew"?`,
				`s:8:41: algorithms[0].rounds[1]: -4 is outside [0, inf)`,
				`s:9:5: algorithms[1]: unknown algorithm "perceptron", did you mean "baseline/perceptron"?`,
				`s:11:15: goal.alpha: 0.7 is outside (0, 0.5): coins reach an error of 1/2 without data`,
				`s:16:1: limts: unknown key, did you mean "limits"?`}},
		{"data, algorithms, goal, sizes and limits", `name: x
problem: {class: halfspace, data: {file: /nowhere.csv, label: y}}
algorithms: [baseline/perceptrn, {use: baseline/erm, round: 3}]
goal: {alpha: 0.1, beta: 1.5}
n: {from: 100, to: 16, within: 0.5}
limits: {memory: 1 KiB}
`, []string{
			`s:2:35: problem.data.positive: missing; state the value of the label that means +1`,
			`s:2:35: problem.data.scale: missing; state a public bound: scale: B on the length of a row, or scale: ` +
				`{column: [low, high], ...} for each numeric column`,
			`s:2:42: problem.data.file: open /nowhere.csv: no such file or directory`,
			`s:3:14: algorithms[0]: unknown algorithm "baseline/perceptrn", did you mean "baseline/perceptron"?`,
			`s:3:54: algorithms[1].round: unknown parameter; there is use, as, replica`,
			`s:4:26: goal.beta: 1.5 is outside (0, 1)`,
			`s:5:4: n: from 100 is not below to 16`,
			`s:5:32: n.within: 0.5 is outside (1, inf)`,
			`s:6:18: limits.memory: 1 KiB is outside 1 MiB to 2^60 bytes: write it like 512 MiB or 2 GiB`}},
		{"keys of a distribution and of data", `name: x
grids:
  - problem: {class: halfspace, distribution: skew}
    algorithms: [baseline/perceptron]
  - problem: {class: halfspace, data: {file: /nowhere.csv, label: incom, positive: "1", features: [ag]}}
    algorithms: [baseline/perceptron]
goal: {alpha: 0.1, beta: 0.1, reference: 0}
n: [100]
`, []string{
			`s:3:14: grids[0].problem.d: missing; state the dimension, for example 10`,
			`s:3:14: grids[0].problem.margin: missing; state a number in (0, 1), for example 0.1`,
			`s:5:39: grids[1].problem.data.scale: missing; state a public bound: scale: B on the length of a row, or scale: ` +
				`{column: [low, high], ...} for each numeric column`,
			`s:5:46: grids[1].problem.data.file: open /nowhere.csv: no such file or directory`}},
		{"a problem that does not fit and an algorithm", spoil(sound, "skew", "needle", "baseline/perceptron", "nothing"), []string{
			`s:6:17: problem.distribution: "needle" does not fit the class halfspace; choose iso, skew, ball-margin, iso-fixed or ` +
				`skew-fixed`,
			`s:9:5: algorithms[1]: unknown algorithm "nothing"; there is baseline/erm, baseline/perceptron, boosting/hs-stl, ` +
				`expmech/em, expmech/pf, online/soa, test/game, test/greedy`}},

		{"what a misspelt key would hold is not missed", spoil(sound, "problem:", "problm:", "algorithms:", "algorithm:",
			"privacy:", "privcy:", "goal:", "gaol:", "n: [100]", "N: [100]"), []string{
			`s:2:1: problm: unknown key, did you mean "problem"?`,
			`s:7:1: algorithm: unknown key, did you mean "algorithms"?`,
			`s:10:1: privcy: unknown key, did you mean "privacy"?`,
			`s:11:1: gaol: unknown key, did you mean "goal"?`,
			`s:12:1: N: unknown key, did you mean "n"?`}},
		{"a wrong problem hides what the algorithms say of it", spoil(sound, "d: [10, 20]", "d: [10, 50, x]", "[30, 40]", "[30, 400]"), []string{
			`s:4:15: problem.d[2]: "x" is not a whole number`}},
		{"a wrong task hides all that depends on it", spoil(sound, "name: x", "name: x\ntask: lern", "n: [100]", "rounds: [100]"), []string{
			`s:2:7: task: unknown value "lern", did you mean "learn"?`}},
		{"a plugin that is not there may serve an algorithm", spoil(sound, "name: x", "name: x y\nplugins: [7]",
			"baseline/perceptron", "mine/own", "rounds: [30", "round: [30"), []string{
			`s:1:7: name: "x y" is not a name: it begins with a letter or digit and matches ^[A-Za-z0-9][A-Za-z0-9_-]*$, for example x-y`,
			`s:2:11: plugins[0]: text was expected, not the number 7: put it in quotes`,
			`s:9:28: algorithms[0].round: unknown parameter, did you mean "rounds"?`}},
		{"an algorithm that is unknown may have an axis that zip and exclude name", spoil(sound, "boosting/hs-stl, r",
			"boosting/hs-st, r", "[[d, beta]]", "[[d, rounds]]", "d: 20}", "kappa: 0.2}"), []string{
			`s:8:11: algorithms[0].use: unknown algorithm "boosting/hs-st", did you mean "boosting/hs-stl"?`}},

		{"each block on its own", spoil(blocks, "domain: 64", "domain: [64, x]", "mass: 0.1", "mass: 0.1, target: each"), []string{
			`s:8:43: grids[0].problem.domain[1]: "x" is not a whole number`,
			`s:9:83: grids[1].problem.target: each does not apply here; leave it out`}},
		{"a key of a block", spoil(blocks, "- problem: {class: points, domain: 64, d", "- problen: {class: points, domain: 64, d", "expmech/em", "expmech/me"), []string{
			`s:3:14: algorithms[0]: unknown algorithm "expmech/me", did you mean "expmech/em"?`,
			`s:8:5: grids[0].problen: unknown key, did you mean "problem"?`}},
		{"grids that are no list", spoil(blocks, "grids:\n  - problem: {class: points, domain: 64, distribution: uniform}\n  - ", "grids:\n  "), []string{
			`s:8:3: grids: a list was expected, not a mapping`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := resolve(t, tt.src, algorithms(), "")
			if diff := cmp.Diff(strings.Join(tt.want, "\n"), fmt.Sprint(err)); diff != "" {
				t.Errorf("%s\n%v", diff, err)
			}
		})
	}
}

// planted lists mistakes, each on a separate line, that are found next to any other mistakes.
var planted = []struct {
	line     int
	old, new string
}{
	{1, "name: x", "name: x/y"},
	{3, "class: halfspace", "class: halfspce"},
	{4, "d: [10, 20]", "d: [10, 0]"},
	{5, "margin: 0.1", "margn: 0.1"},
	{6, "distribution: skew", "distribution: [skew, iso, skew]"},
	{8, "rounds: [30, 40]", "rounds: [30, x]"},
	{9, "baseline/perceptron", "baseline/perceptrons"},
	{10, "delta: 1e-6", "delta: 0"},
	{11, "alpha: 0.1", "alpha: 0.5"},
	{12, "n: [100]", "n: [100, -5]"},
	{13, "trials: 20", "trial: 20"},
	{14, "[[d, beta]]", "[[d]]"},
	{15, "d: 20}", "dd: 20}"},
	{16, "5m", "5 parsecs"},
	{17, "in: epsilon", "exponent: 1, X: epsilon"},
}

// For any combination of mistakes, each is reported at its line, and no other line is.
func TestPlantedMistakes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want []int
		src := sound
		for i := range planted {
			if rapid.IntRange(0, 2).Draw(t, fmt.Sprint("plant ", i)) == 0 {
				want = append(want, planted[i].line)
				src = spoil(src, planted[i].old, planted[i].new)
			}
		}
		_, err := Resolve(context.Background(), sweep.Read("s", []byte(src)), algorithms(), Options{})
		var got []int
		for _, line := range strings.Split(fmt.Sprint(err), "\n") {
			var n int
			if _, err := fmt.Sscanf(line, "s:%d:", &n); err == nil {
				got = append(got, n)
			}
		}
		if !slices.Equal(slices.Compact(got), want) {
			t.Fatalf("lines %v, want %v:\n%s\n%v", got, want, src, err)
		}
	})
}
