package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

const infiniteSweep = `
name: infinite
task: online
rounds: [100]
trials: 2
grids:
  - problem: {class: thresholds-naturals}
    adversary: {kind: bisecting, from: [1, 2, 3, 4, 7, 8, 100, 2^20, 2^40]}
    algorithms: [online/soa]
  - problem: {class: thresholds-naturals}
    adversary: {kind: bisecting, from: 2^53}
    rounds: [5, 100]
    algorithms: [online/soa]
  - problem: {class: thresholds-naturals}
    adversary: {kind: bisecting, from: [1, 2^20]}
    algorithms: [online/follow-the-leader]
  - problem: {class: thresholds-dyadics}
    adversary: {kind: bisecting}
    rounds: [10, 53]
    algorithms: [online/follow-the-leader]
`

// Thresholds on infinite orders, through the whole path: the first point among the natural numbers
// decides how many mistakes soa makes, which is its bound; the plain leader, and on the dyadic
// numbers any learner, errs in every round; and some threshold never errs.
func TestInfiniteOrders(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	tmp := t.TempDir()
	file := write(t, filepath.Join(tmp, "infinite.yaml"), infiniteSweep)
	mustRun(t, file, filepath.Join(tmp, "out"), "--test-job-sizes", "1")
	want := map[string]float64{}
	for from, mistakes := range map[int64]float64{1: 1, 2: 2, 3: 2, 4: 3, 7: 3, 8: 4, 100: 7, 1 << 20: 21, 1 << 40: 41} {
		want[fmt.Sprintf("online/soa bisecting from %d 100", from)] = mistakes
	}
	want["online/soa bisecting from 9007199254740992 5"], want["online/soa bisecting from 9007199254740992 100"] = 5, 54
	want["online/follow-the-leader bisecting from 1 100"] = 100
	want["online/follow-the-leader bisecting from 1048576 100"] = 100
	want["online/follow-the-leader bisecting 10"], want["online/follow-the-leader bisecting 53"] = 10, 53
	for _, r := range table(t, filepath.Join(tmp, "out")) {
		id := fmt.Sprintf("%v %v %v", r["algorithm"], r["adversary"], r["rounds"])
		mistakes := want[id]
		delete(want, id)
		for _, column := range []string{"mistakes_mean", "mistakes_max", "regret_mean", "theory_regret"} {
			if r[column] != mistakes {
				t.Errorf("%s: %s is %v, want %v", id, column, r[column], mistakes)
			}
		}
		if r["best_loss"] != 0.0 || r["failed"] != 0.0 || r["paper_regret"] != nil || r["domain"] != nil ||
			r["distribution"] != nil ||
			r["theory_source"] == nil {
			t.Errorf("%s: %v", id, r)
		}
	}
	if len(want) > 0 {
		t.Errorf("no rows %v", want)
	}
	out, _, _ := shatter(t, "check", file)
	if !strings.Contains(out, "class thresholds-dyadics") ||
		!strings.Contains(out, "adversary bisecting from 9007199254740992\n") {
		t.Errorf("check says %s", out)
	}
}

func TestDescribeInfiniteOrders(t *testing.T) {
	t.Parallel()
	for _, class := range []string{"thresholds-naturals", "thresholds-dyadics"} {
		out, errs, code := shatter(t, "class", "describe", class)
		want := `class                  ` + class + `
points                 infinitely many
hypotheses             infinitely many
VC dimension           1
Littlestone dimension  infinite
representation (nats)  infinite
separator              none: separate class "` + class + `": no finite set of points separates infinitely many hypotheses
target                 none: an adversary says the labels
`
		if code != 0 || errs != "" || out != want {
			t.Errorf("exit %d: %s\n%s\nwant\n%s", code, errs, out, want)
		}
		d := describeClass(t, class)
		if *d.VC.Low != 1 || *d.VC.High != 1 || d.Ldim.Low != nil || d.Ldim.High != nil || d.Size != "" || d.Points != "" ||
			d.Separator != nil ||
			d.NoSeparator == "" {
			t.Errorf("%+v", d)
		}
		expect(t, exitUsage, []string{"its domain is infinite, leave it out"}, "class", "describe", class, "--domain", "8")
		expect(t, exitUsage, []string{"its points are single numbers"}, "class", "describe", class, "--d", "2")
		expect(t, exitUsage, []string{"infinitely many hypotheses"}, "class", "describe", class, "--tree")
	}
}

// What does not fit these classes is refused at its place.
func TestBadInfiniteOrders(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	const good = `name: bad
task: online
problem: {class: thresholds-naturals}
algorithms: [online/soa]
rounds: [10]
adversary: {kind: bisecting, from: 8}
`
	const learn = "goal: {alpha: 0.1, beta: 0.1}\nn: [100]\n"
	for _, c := range []struct{ name, old, new, want string }{
		{
			"domain", "naturals", "naturals, domain: 64",
			":3:47: problem.domain: 64 does not apply to the class thresholds-naturals",
		},
		{"d", "naturals", "naturals, d: 2", ":3:42: problem.d: 2 does not apply to the class thresholds-naturals"},
		{
			"distribution", "naturals", "naturals, distribution: uniform",
			`:3:53: problem.distribution: "uniform" does not apply to the class thresholds-naturals`,
		},
		{"noise", "naturals", "naturals, noise: {kind: random, rate: 0.1}", "problem.noise: does not apply to task online"},
		{
			"test", "naturals", "naturals, test: 100",
			":3:45: problem.test: does not apply to task online, where every round is scored; leave it out",
		},
		{
			"class", "naturals", "natural",
			`:3:18: problem.class: unknown value "thresholds-natural", did you mean "thresholds-naturals"?`,
		},
		{"no first point", ", from: 8", "", "adversary.from: missing; state the first point x, for example 2^20"},
		{"first point 0", "from: 8", "from: 0", ":6:36: adversary.from: 0 is below 1"},
		{"first point 1.5", "from: 8", "from: 1.5", ":6:36: adversary.from: 1.5 is not a whole number"},
		{"first point -3", "from: 8", "from: -3", ":6:36: adversary.from: -3 is below 1"},
		{
			"first point above 2^53", "from: 8", "from: 9007199254740993",
			":6:36: adversary.from: 9007199254740993 is above 2^53, up to which float64 holds every whole number",
		},
		{"first point 2^63", "from: 8", "from: 2^63", ":6:36: adversary.from: 2^63 is too large"},
		{"second first point", "from: 8", "from: [8, 2^54]", "adversary.from: 18014398509481984 is above 2^53"},
		{
			"adversary", "bisecting, from: 8", "tree",
			`adversary.kind: "tree" does not play on the class thresholds-naturals, which has neither a law nor a finite ` +
				`Littlestone dimension; choose bisecting`,
		},
		{"from of a finite class", "{class: thresholds-naturals}", "{class: thresholds, domain: 8, distribution: uniform}",
			":6:36: adversary.from: 8 applies to the kind bisecting on the class thresholds-naturals only; leave it out"},
		{
			"from of another kind", "{class: thresholds-naturals}", "{class: thresholds-dyadics}",
			"adversary.from: 8 applies to the kind bisecting on the class thresholds-naturals only",
		},
		{
			"halving", "online/soa", "online/halving",
			`:4:14: algorithms[0]: online/halving refuses this: online: class "thresholds-naturals" has infinitely many ` +
				`functions`,
		},
		{"hedge", "online/soa", "online/hedge", "take online/soa or online/follow-the-leader, or thresholds on a domain"},
		{"agnostic", "online/soa", "online/agnostic-experts", "of infinite Littlestone dimension"},
		{"ftpl", "online/soa", "online/ftpl-laplace", `class "thresholds-naturals" has no finite list of hypotheses`},
		{"learn", good[strings.Index(good, "task"):],
			"problem: {class: thresholds-naturals}\nalgorithms: [baseline/erm]\n" + learn,
			":2:18: problem.class: thresholds-naturals belongs to task online: no law on its infinitely many points is uniform"},
		{"predict", good[strings.Index(good, "task"):], "task: predict\n" +
			"problem: {class: [thresholds, thresholds-dyadics], domain: 8, distribution: uniform}\n" +
			"algorithms: [prediction/composition]\nprivacy: {epsilon: 1, delta: 1e-6}\nqueries: 5\n" +
			"adversary: {kind: stochastic}\n" + learn,
			":3:31: problem.class[1]: thresholds-dyadics belongs to task online"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(good, c.old, c.new, 1)
			if text == good {
				t.Fatalf("%q is not in the file", c.old)
			}
			expect(t, exitUsage, []string{"bad.yaml:", c.want}, "check", write(t, filepath.Join(t.TempDir(), "bad.yaml"), text))
		})
	}
	dense := strings.NewReplacer("naturals", "dyadics", ", from: 8", "", "[10]", "[10, 54]").Replace(good)
	for learner, want := range map[string]string{
		"online/soa": "two parts of infinite Littlestone dimension, none of which is the larger one: " +
			"take online/follow-the-leader",
		"online/follow-the-leader": ":5:9: rounds: 54 are too many on the class thresholds-dyadics: " +
			"after 53 halvings of [0, 1) the next point may have more binary digits than a float64",
	} {
		text := strings.Replace(dense, "online/soa", learner, 1)
		if learner == "online/soa" {
			text = strings.Replace(text, ", 54", "", 1)
		}
		expect(t, exitUsage, []string{want}, "check", write(t, filepath.Join(t.TempDir(), "bad.yaml"), text))
	}
}
