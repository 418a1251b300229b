package problem

import (
	"slices"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas"
)

// targetProblems returns problems of every class with a distribution of points on a small domain,
// whose errors are computed exactly, with all targets of the given names.
func targetProblems(t *testing.T, names ...string) (all []schemas.Problem) {
	t.Helper()
	file := testkit.WriteFile(t, "class.csv", "a,b,c\n0,0,0\n0,1,1\n1,1,0\n")
	for _, p := range []schemas.Problem{
		{Class: "thresholds", Domain: 6}, {Class: "points", Domain: 7}, {Class: "intervals", Domain: 6},
		{Class: "stumps", Domain: 3, Dim: 2}, {Class: "rectangles", Domain: 5, Dim: 2}, {Class: "conjunctions", Dim: 3},
		{Class: "monotone-conjunctions", Dim: 4}, {Class: "parities", Dim: 3},
		{Class: "matrix", Matrix: &schemas.Matrix{File: file}},
	} {
		for _, name := range names {
			p.Distribution, p.Target = "uniform", name
			all = append(all, p)
		}
	}
	return all
}

// signsOf writes labels as '-' and '+'.
func signsOf(y []float64) string {
	text := make([]byte, len(y))
	for i, v := range y {
		if text[i] = '-'; v > 0 {
			text[i] = '+'
		}
	}
	return string(text)
}

// A drawer draws one target for each trial from the distribution in the problem, for the sample
// and for the evaluation, for all sizes of the sample.
func TestDrawersDrawTargets(t *testing.T) {
	for _, q := range targetProblems(t, "random", "uniform") {
		p, err := Open(q, matrixFile(q))
		if err != nil {
			t.Fatal(err)
		}
		made, err := concept.New(p.class)
		if err != nil {
			t.Fatal(err)
		}
		class, d := made.(concept.Finite), p.Drawer(p.Test(0, 0))
		definition, _ := concept.Lookup(q.Class)
		x, y, w := make([]float64, d.TestLen()*p.Dim()), make([]float64, d.TestLen()), make([]float64, d.TestLen())
		d.Begin(new(seeded).trial(1, 0))
		d.Test(x, y, w)
		size := class.Size().Uint64()
		number, counts, want := map[string]uint64{}, make([]float64, size), make([]float64, size)
		for i := range size {
			labels := make([]float64, len(y))
			class.Member(i).Labels(x, labels)
			number[signsOf(labels)] = i
			if want[i] = 1 / float64(size); q.Target == "random" {
				want[i] = definition.Weight(p.class, p.spec.Literals, i)
			}
		}
		for rep := range uint64(2000) {
			d.Begin(new(seeded).trial(1, rep))
			n := 1 + int(rep%5)
			sampleX, sampleY := make([]float64, n*p.Dim()), make([]float64, n)
			d.Sample(n, sampleX, sampleY)
			d.Test(x, y, w)
			i, ok := number[signsOf(y)]
			if !ok {
				t.Fatalf("%+v: the evaluation is labelled %s", q, signsOf(y))
			}
			counts[i]++
			labels := make([]float64, n)
			if class.Member(i).Labels(sampleX, labels); !slices.Equal(labels, sampleY) {
				t.Fatalf("%+v: trial %d: sample and evaluation have different targets", q, rep)
			}
		}
		drawn, weights := counts[:0:0], want[:0:0]
		for i, v := range want {
			if v == 0 && counts[i] > 0 {
				t.Fatalf("%+v: drew hypothesis %d of weight 0", q, i)
			}
			if v > 0 {
				drawn, weights = append(drawn, counts[i]), append(weights, v)
			}
		}
		testkit.CheckCounts(t, drawn, weights)
	}
}

func matrixFile(q schemas.Problem) string {
	if q.Matrix == nil {
		return ""
	}
	return q.Matrix.File
}

// The target of a resolved problem has defaults; resolving again changes nothing.
func TestDefaultTargets(t *testing.T) {
	for _, c := range []struct {
		p        schemas.Problem
		target   string
		literals int
	}{
		{schemas.Problem{Class: "thresholds", Distribution: "uniform", Domain: 8}, "random", 0},
		{schemas.Problem{Class: "thresholds", Distribution: "needle", Domain: 8, Mass: 0.1}, "middle", 0},
		{schemas.Problem{Class: "thresholds", Distribution: "needle", Domain: 8, Mass: 0.1, Target: "middle"}, "middle", 0},
		{schemas.Problem{Class: "halfspace", Distribution: "iso", Dim: 3, Margin: 0.1}, "random", 0},
		{schemas.Problem{Class: "conjunctions", Distribution: "uniform", Dim: 3}, "random", 2},
		{schemas.Problem{Class: "conjunctions", Distribution: "uniform", Dim: 1}, "random", 1},
		{schemas.Problem{Class: "conjunctions", Distribution: "uniform", Dim: 4, Literals: 4}, "random", 4},
		{schemas.Problem{Class: "conjunctions", Distribution: "uniform", Dim: 3, Target: "uniform"}, "uniform", 0},
		{schemas.Problem{Class: "conjunctions", Distribution: "uniform", Dim: 3, Target: "1x0"}, "1x0", 0},
		{schemas.Problem{Class: "thresholds-naturals"}, "", 0},
	} {
		p := c.p
		for range 2 {
			if err := Resolve(&p); err != nil || p.Target != c.target || p.Literals != c.literals {
				t.Errorf("%+v: resolved to the target %q of %d literals, %v", c.p, p.Target, p.Literals, err)
			}
		}
	}
}

func TestTargetsRefused(t *testing.T) {
	data := overData("intervals", 8)
	data.Data.File = testkit.WriteFile(t, "data.csv", "v,y\n3,p\n5,q\n7,p\n")
	with := func(p schemas.Problem, target string, literals int) schemas.Problem {
		p.Target, p.Literals = target, literals
		return p
	}
	uniform := schemas.Problem{Class: "thresholds", Distribution: "uniform", Domain: 64}
	needle := schemas.Problem{Class: "intervals", Distribution: "needle", Domain: 64, Mass: 0.1}
	bits := schemas.Problem{Class: "conjunctions", Distribution: "uniform", Dim: 3}
	ball := schemas.Problem{Class: "halfspace", Distribution: "iso", Dim: 3, Margin: 0.1}
	for _, c := range []struct {
		p    schemas.Problem
		want string
	}{
		{with(uniform, "65", 0), "problem.target: 65 is outside 0..64, where a threshold t has to be; write t of 0..X"},
		{with(uniform, "randm", 0), `problem.target: "randm" is not a threshold t, a whole number; did you mean "random"?`},
		{with(uniform, "each", 0), "problem.target: each means all hypotheses"},
		{with(uniform, "", 2), "problem.literals: 2 does not apply to the class thresholds, only to conjunctions or " +
			"monotone-conjunctions; leave it out"},
		{with(needle, "random", 0), `problem.target: "random" does not apply to the distribution needle: its few ` +
			"points belong to a fixed target"},
		{with(needle, "5..6", 0), `problem.target: "5..6" does not apply to the distribution needle`},
		{with(bits, "", 4), "problem.literals: 4 is outside [1, 3]: there are d = 3 bits"},
		{with(bits, "", -1), "problem.literals: -1 is outside [1, 3]"},
		{with(bits, "middle", 2), "problem.literals: 2 does not apply to the target middle, only to random"},
		{with(bits, "10", 0), `problem.target: "10" has 2 characters`},
		{with(ball, "middle", 0), "problem.target: the class halfspace has infinitely many hypotheses"},
		{with(data, "random", 0), `problem.target: "random" does not apply here: the labels are those of the data; leave it out`},
		{with(data, "", 2), `problem.literals: 2 does not apply here: the labels are those of the data`},
		{schemas.Problem{Class: "thresholds-dyadics", Target: "random"},
			`problem.target: "random" does not apply here: on the class thresholds-dyadics an adversary chooses the labels`},
	} {
		checkError(t, Resolve(&c.p), c.want)
	}
	for _, c := range []struct {
		p    schemas.Problem
		want string
	}{
		{schemas.Problem{Class: "thresholds", Distribution: "uniform", Domain: 1 << 16},
			"problem.target: each: the class thresholds has 65537 hypotheses here, and 4096 is the most: too many hypotheses to " +
				"list; take a smaller class, or list some of them"},
		{needle, "problem.target: each does not apply here"},
		{data, "problem.target: each does not apply here"},
		{schemas.Problem{Class: "thresholds", Distribution: "uniform"}, "problem.domain: missing"},
	} {
		_, err := Hypotheses(c.p)
		checkError(t, err, c.want)
	}
	if list, err := Hypotheses(bits); len(list) != 28 || err != nil {
		t.Errorf("%q, %v", list, err)
	}
}
