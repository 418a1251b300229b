package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// underUniform is a sweep over one class under the uniform distribution; %s is replaced by the rest
// of its problem.
const underUniform = `name: x
problem: {distribution: uniform, %s}
algorithms: [baseline/erm]
goal: {alpha: 0.1, beta: 0.1}
n: 100
`

// targetsOf returns the target and the literals of each cell of a sweep.
func targetsOf(t *testing.T, src, dir string) (got []string) {
	t.Helper()
	for _, c := range mustResolve(t, src, algorithms(), dir).Cells {
		text := c.Problem.Class + " " + c.Problem.Target
		if c.Problem.Literals > 0 {
			text += fmt.Sprint(" ", c.Problem.Literals)
		}
		got = append(got, text)
	}
	return got
}

// Targets form an axis; "each" yields all hypotheses in their order.
func TestTargets(t *testing.T) {
	for _, c := range []struct {
		problem string
		want    []string
	}{
		{"class: thresholds, domain: 64", []string{"thresholds random"}},
		{"class: thresholds, domain: 64, target: [random, middle, 5, 2^4]",
			[]string{"thresholds random", "thresholds middle", "thresholds 5", "thresholds 16"}},
		{"class: thresholds, domain: 3, target: each",
			[]string{"thresholds 0", "thresholds 1", "thresholds 2", "thresholds 3"}},
		{"class: points, domain: 2, target: [random, each, middle]",
			[]string{"points random", "points 0", "points 1", "points middle"}},
		{"class: intervals, domain: 64, target: [16..49, nowhere]", []string{"intervals 16..49", "intervals nowhere"}},
		{"class: rectangles, domain: 64, d: 2, target: 16..49 x 0..63", []string{"rectangles 16..49 x 0..63"}},
		{"class: stumps, domain: 64, d: 2, target: [x1>=5, x2<5]", []string{"stumps x1>=5", "stumps x2<5"}},
		{"class: parities, d: 4, target: [0110, 0001]", []string{"parities 0110", "parities 0001"}},
		{"class: conjunctions, d: 4, target: [10xx, xxxx]", []string{"conjunctions 10xx", "conjunctions xxxx"}},
		{"class: conjunctions, d: [1, 4]", []string{"conjunctions random 1", "conjunctions random 2"}},
		{"class: monotone-conjunctions, d: 4, literals: [1, 3]",
			[]string{"monotone-conjunctions random 1", "monotone-conjunctions random 3"}},
		{"class: [thresholds, points], domain: 64, target: [uniform, 7]",
			[]string{"thresholds uniform", "thresholds 7", "points uniform", "points 7"}},
	} {
		got := targetsOf(t, fmt.Sprintf(underUniform, c.problem), "")
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.problem, diff)
		}
	}
	// each, for a matrix whose file is next to the sweep file
	file := testkit.WriteFile(t, "class.csv", "a,b\n0,0\n0,1\n1,1\n")
	got := targetsOf(t, fmt.Sprintf(underUniform, "class: matrix, target: each, file: "+file), "")
	if diff := cmp.Diff([]string{"matrix 1", "matrix 2", "matrix 3"}, got); diff != "" {
		t.Error(diff)
	}
	// zipped and excluded by name
	src := fmt.Sprintf(underUniform, "class: thresholds, domain: [64, 128, 256], target: [32, 64, 128]") +
		"zip: [[domain, target]]\nexclude: [{target: 64}]\n"
	var pairs []string
	for _, c := range mustResolve(t, src, algorithms(), "").Cells {
		pairs = append(pairs, fmt.Sprint(c.Problem.Domain, " ", c.Problem.Target))
	}
	if diff := cmp.Diff([]string{"64 32", "256 128"}, pairs); diff != "" {
		t.Error(diff)
	}
}

// Two texts of one hypothesis yield one cell, and two targets yield two.
func TestTargetsAreKeys(t *testing.T) {
	keys := map[string]bool{}
	for _, target := range []string{"5", "005", "random", "uniform", "middle", "6"} {
		p := mustResolve(t, fmt.Sprintf(underUniform, "class: thresholds, domain: 64, target: "+target), algorithms(), "")
		keys[p.Cells[0].DataKey.String()+p.Cells[0].Key.String()] = true
	}
	if len(keys) != 5 {
		t.Errorf("%d keys, want 5", len(keys))
	}
}

func TestTargetMistakes(t *testing.T) {
	data := testkit.WriteFile(t, "data.csv", "v,y\n3,p\n5,q\n7,p\n")
	for _, c := range []struct{ src, want string }{
		{fmt.Sprintf(underUniform, "class: thresholds, domain: 64, target: [5, 65]"),
			`s:2:77: problem.target[1]: 65 is outside 0..64, where a threshold t has to be; write t of 0..X, from which on it ` +
				`is +1, such as 5 or 2^10, or random, uniform or middle`},
		{fmt.Sprintf(underUniform, "class: intervals, domain: 64, target: 16-49"),
			`s:2:72: problem.target: "16-49" is not an interval a..b; write a..b with both ends inside it`},
		{fmt.Sprintf(underUniform, "class: thresholds, domain: 2^16, target: each"),
			`s:2:75: problem.target: each: the class thresholds has 65537 hypotheses here, and 4096 is the most: too many`},
		{fmt.Sprintf(underUniform, "class: thresholds, domain: [8, 16], target: each"),
			`s:2:78: problem.target: each lists the hypotheses of one class, but domain has 2 values: write one grid per value`},
		{fmt.Sprintf(underUniform, "class: thresholds, domain: [8, 16], target: [1, 2, 3]") + "zip: [[domain, target]]",
			`s:6:7: zip[0]: lengths differ: "domain" has 2 values, "target" has 3`},
		{fmt.Sprintf(underUniform, "class: conjunctions, d: 3, literals: [2, 4]"),
			`s:2:75: problem.literals[1]: 4 is outside [1, 3]: there are d = 3 bits`},
		{fmt.Sprintf(underUniform, "class: thresholds, domain: 8, literals: 2"),
			`s:2:74: problem.literals: 2 does not apply to the class thresholds`},
		{fmt.Sprintf(underUniform, "class: thresholds, target: each"), `s:2:10: problem.domain: missing`},
		{strings.Replace(fmt.Sprintf(underUniform, "class: intervals, domain: 8, target: random, data: {file: "+data+
			", label: y, positive: p}"), "distribution: uniform, ", "", 1),
			`s:2:48: problem.target: "random" does not apply here: the labels are those of the data; leave it out`},
		{strings.Replace(fmt.Sprintf(underUniform, "class: thresholds, domain: 64, mass: 0.1, target: random"),
			"uniform", "needle", 1),
			`s:2:83: problem.target: "random" does not apply to the distribution needle: its few points belong`},
		{"name: x\ntask: online\nproblem: {class: thresholds-dyadics, target: random}\nalgorithms: [online/soa]\n" +
			"adversary: {kind: bisecting}\nrounds: 10\n", `s:3:46: problem.target: "random" does not apply here: on the class ` +
			`thresholds-dyadics an adversary chooses the labels; leave it out`},
	} {
		_, err := resolve(t, c.src, algorithms(), "")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n%v\nwant %s", c.src, err, c.want)
		}
	}
}

// A goal over data that a constant reaches yields one warning for each.
func TestConstantSuffices(t *testing.T) {
	data := testkit.WriteFile(t, "rows.csv", "x,y\n3,p\n5,q\n9,q\n7,q\n")
	src := "name: x\ntask: learn\nproblem: {class: thresholds, domain: 16, data: {file: " + data + ", label: y, " +
		"positive: p}}\nalgorithms: [baseline/erm]\ngoal: {alpha: [0.1, 0.2, 0.25], beta: 0.1, " +
		"reference: [0, 0.05]}\nn: [10, 20]\n"
	p := mustResolve(t, src, algorithms(), "")
	const warning = "rows.csv: a constant hypothesis, which needs no example, errs on 25 % of the rows: a success at alpha"
	if diff := cmp.Diff([]string{warning + " 0.2 above 0.05 (1 cell)", warning + " 0.25 above 0 (1 cell)",
		warning + " 0.25 above 0.05 (1 cell)"}, p.Warnings); diff != "" {
		t.Error(diff)
	}
	want := &trial.Population{Positive: 0.25, Report: []string{"rows.csv: 4 rows", `label "y": "p" is +1, "q" is -1`,
		`1 feature: "x"`}}
	if diff := cmp.Diff(want, p.Cells[0].Population); diff != "" {
		t.Error(diff)
	}
}
