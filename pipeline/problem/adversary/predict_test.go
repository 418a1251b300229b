package adversary

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem/distribution"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas"
)

// games returns problems on which adversaries of all kinds play.
func games(t testing.TB) []schemas.Problem {
	file := testkit.WriteFile(t, "class.csv", "a,b,c,d\n0,0,0,0\n0,1,1,0\n1,1,0,0\n1,0,0,1\n")
	list := []schemas.Problem{
		{Class: "thresholds", Distribution: "uniform", Domain: 1 << 20},
		{Class: "thresholds", Distribution: "needle", Mass: 0.1, Domain: 64},
		{Class: "thresholds", Distribution: "uniform", Domain: 2},
		{Class: "points", Distribution: "uniform", Domain: 1},
		{Class: "points", Distribution: "uniform", Domain: 50},
		{Class: "intervals", Distribution: "uniform", Domain: 50},
		{Class: "intervals", Distribution: "needle", Mass: 0.1, Domain: 50},
		{Class: "rectangles", Distribution: "uniform", Domain: 20, Dim: 3},
		{Class: "stumps", Distribution: "uniform", Domain: 5, Dim: 2},
		{Class: "conjunctions", Distribution: "uniform", Dim: 4},
		{Class: "parities", Distribution: "uniform", Dim: 4},
		{Class: "matrix", Distribution: "uniform", Matrix: &schemas.Matrix{File: file}},
		{Class: "halfspace", Distribution: "iso", Margin: 0.1, Dim: 3},
		{Class: "halfspace", Distribution: "ball-margin", Margin: 0.1, Dim: 1},
	}
	for i := range list {
		list[i] = open(t, list[i]).spec
	}
	return list
}

// dotOf returns the inner product of x and y, or that of x with itself if y is nil.
func dotOf(x, y []float64) (sum float64) {
	if y == nil {
		y = x
	}
	for j, v := range x {
		sum += v * y[j]
	}
	return sum
}

// asked plays a game with a fixed function of answers.
func asked(
	p *opened,
	a schemas.Adversary,
	n int64,
	queries int,
	answer func(x []float64, truth float64) (label float64, hard bool),
) (list [][]float64) {
	g := p.view.Queries(a, p.trial(5, 1), n, rand.NewPCG(2, 3))
	for range queries {
		x := make([]float64, p.Dim())
		truth := g.Next(x)
		list = append(list, x)
		label, hard := answer(x, truth)
		g.Observe(label, hard)
	}
	return list
}

func right(_ []float64, truth float64) (float64, bool) { return truth, false }

// A boundary adversary asks every point up to its width from the edge of the trial's target, on
// both sides, and no other points.
func TestBoundary(t *testing.T) {
	for _, name := range []string{concept.MiddleTarget, concept.RandomTarget, "77"} {
		p := open(t, schemas.Problem{Class: "thresholds", Distribution: "uniform", Domain: 1000, Target: name})
		edge := p.trial(5, 1).Target().(*concept.Box).Low[0]
		seen := map[float64]bool{}
		for _, x := range asked(p, schemas.Adversary{Kind: boundary.Name, Width: 10}, 100, 2000, right) {
			seen[x[0]] = true
		}
		for v := edge - 20; v < edge+20; v++ {
			if near := math.Abs(v-edge) <= 10; seen[v] != near {
				t.Errorf("target %s, edge %v: point %v asked: %v", name, edge, v, seen[v])
			}
		}
		for _, x := range asked(p, schemas.Adversary{Kind: repeat.Name}, 100, 10, right) {
			if x[0] != edge {
				t.Errorf("target %s, edge %v: repeat asks %v", name, edge, x)
			}
		}
	}
	middle := open(t, schemas.Problem{
		Class: "thresholds", Distribution: "uniform", Domain: 1000, Target: concept.MiddleTarget,
	})
	// Without a width all distances from domain/n on occur, about equally often on a log scale.
	bands := map[int]int{}
	for _, x := range asked(middle, schemas.Adversary{Kind: boundary.Name}, 100, 5000, right) {
		bands[int(math.Log2(max(5, math.Abs(x[0]-500))/5))]++
	}
	for b := range 6 { // to 10, 20, ..., 320
		if bands[b] < 100 {
			t.Errorf("%d of 5000 points are %d to %d from the edge", bands[b], 5<<b, 10<<b)
		}
	}
	plane := open(t, schemas.Problem{Class: "halfspace", Distribution: "iso", Margin: 0.1, Dim: 4})
	target := plane.trial(5, 1).Target().(*distribution.Plane)
	for _, x := range asked(plane, schemas.Adversary{Kind: boundary.Name}, 100, 50, right) {
		if along := dotOf(x, target.Normal); math.Abs(along) > 1e-12 || math.Abs(dotOf(x, nil)-1) > 1e-12 {
			t.Errorf("%v lies %v beside the hyperplane", x, along)
		}
	}
}

// The bisector finds the edge of a learner that answers like a threshold, in log2 X queries, and
// then asks the two points next to it.
func TestBisector(t *testing.T) {
	p := open(t, schemas.Problem{Class: "thresholds", Distribution: "uniform", Domain: 1 << 20})
	for _, edge := range []float64{0, 1, 12345, 1<<20 - 1, 1 << 20} {
		threshold := func(x []float64, _ float64) (float64, bool) {
			if x[0] >= edge {
				return 1, false
			}
			return -1, false
		}
		list := asked(p, schemas.Adversary{Kind: adaptive.Name, Sees: seesLabels}, 100, 26, threshold)
		got := []float64{list[24][0], list[25][0]}
		slices.Sort(got)
		want := []float64{max(edge-1, 0), min(edge, 1<<20-1)}
		if !slices.Equal(got, want) {
			t.Errorf("edge %v: asks %v in the end, want %v", edge, got, want)
		}
	}
	// With marks it restarts inside the range that a hard query leaves.
	calls := 0
	list := asked(
		p,
		schemas.Adversary{Kind: adaptive.Name, Sees: seesMarks},
		100,
		3,
		func(x []float64, _ float64) (float64, bool) {
			calls++
			return 1, calls == 2
		},
	)
	if list[0][0] != 1<<19 || list[1][0] != 1<<18 || list[2][0] != 1<<17 {
		t.Errorf("with marks it asks %v", list)
	}
}

// The splitter halves the hypotheses that agree with the answers, and asks random points once one
// row is left.
func TestSplitter(t *testing.T) {
	p := open(t, games(t)[11])
	list := asked(
		p,
		schemas.Adversary{Kind: adaptive.Name, Sees: seesLabels},
		100,
		3,
		func([]float64, float64) (float64, bool) { return 1, false },
	)
	if list[0][0] != 0 || list[1][0] != 1 {
		t.Errorf("asks %v", list)
	}
}

// The queries of a fitter converge to the plane of a learner that answers like a halfspace.
func TestFitter(t *testing.T) {
	p := open(t, schemas.Problem{Class: "halfspace", Distribution: "iso", Margin: 0.1, Dim: 3})
	w := []float64{0.6, 0, 0.8}
	list := asked(
		p,
		schemas.Adversary{Kind: adaptive.Name, Sees: seesLabels},
		100,
		400,
		func(x []float64, _ float64) (float64, bool) {
			return math.Copysign(1, dotOf(x, w)), false
		},
	)
	far := 0.0
	for _, x := range list[300:] {
		far = max(far, math.Abs(dotOf(x, w)))
	}
	if far > 0.1 {
		t.Errorf("after 300 answers it still asks points %v beside the plane", far)
	}
}

// A fitter that sees marks continues in the space that the hard queries leave, as long as that is
// a plane.
func TestFitterSeesMarks(t *testing.T) {
	p := open(t, schemas.Problem{Class: "halfspace", Distribution: "iso", Margin: 0.1, Dim: 5})
	for _, sees := range []string{seesLabels, seesMarks} {
		var hards [][]float64
		queries := 0
		asked(p, schemas.Adversary{Kind: adaptive.Name, Sees: sees}, 100, 200, func(x []float64, _ float64) (float64, bool) {
			far := 0.0
			for _, h := range hards[:min(3, len(hards))] { // after three of them a plane is left
				far = max(far, math.Abs(dotOf(x, h)))
			}
			if len(hards) > 0 && (far < 1e-9) != (sees == seesMarks) || math.Abs(dotOf(x, nil)-1) > 1e-9 {
				t.Errorf("sees %s: query %d has inner product %v with a hard one", sees, queries, far)
			}
			queries++
			hard := queries%20 == 7
			if hard {
				hards = append(hards, slices.Clone(x))
			}
			return math.Copysign(1, x[0]+x[1]), hard
		})
	}
}

// The bisector's first query does not reveal the target.
func TestBisectorBeginsAnywhere(t *testing.T) {
	p := open(t, schemas.Problem{Class: "rectangles", Distribution: "uniform", Domain: 1000, Dim: 2})
	a := schemas.Adversary{Kind: adaptive.Name, Sees: seesLabels}
	first, along := map[float64]bool{}, map[bool]bool{}
	for seed := range uint64(100) {
		x, next := make([]float64, 2), make([]float64, 2)
		g := p.view.Queries(a, p.trial(5, 1), 100, rand.NewPCG(2, seed))
		g.Next(x)
		g.Observe(1, false)
		g.Next(next)
		first[x[0]], first[x[1]] = true, true
		along[x[0] == next[0]] = true
	}
	if len(first) < 100 || len(along) != 2 {
		t.Errorf("%d numbers in 100 first queries, of the two coordinates it moves %d", len(first), len(along))
	}
}

// A target that is -1 everywhere has an empty box, and an edge beyond the domain.
func TestEmptyBox(t *testing.T) {
	r, x := rand.New(rand.NewPCG(1, 1)), []float64{0}
	for range 100 {
		boxEdge(&concept.Box{Low: []float64{50}, High: []float64{49}}, 49, 3)(r, x)
		if x[0] < 47 || x[0] > 49 {
			t.Errorf("asks %v", x)
		}
	}
}

// A fitter stores a bounded number of answers, for any number of queries.
func TestFitterForgets(t *testing.T) {
	p := open(t, schemas.Problem{Class: "halfspace", Distribution: "iso", Margin: 0.1, Dim: 3})
	a := schemas.Adversary{Kind: adaptive.Name, Sees: seesLabels}
	g := p.view.Queries(a, p.trial(5, 1), 100, rand.NewPCG(2, 3)).(*fitter)
	x := make([]float64, 3)
	for i := range 5 * fitWindow {
		g.Observe(g.Next(x), false)
		if n := len(g.y); n > 2*fitWindow || n < min(i+1, fitWindow) || len(g.x) != 3*n || !slices.Equal(g.x[3*n-3:], x) {
			t.Fatalf("%d answers and %d numbers are remembered after %d queries", n, len(g.x), i+1)
		}
	}
}

func TestResolveAdversaryRefuses(t *testing.T) {
	threshold := schemas.Problem{Class: "thresholds", Distribution: "uniform", Domain: 64}
	for _, c := range []struct {
		a    schemas.Adversary
		p    schemas.Problem
		want string
	}{
		{schemas.Adversary{}, threshold, "adversary.kind: missing"},
		{schemas.Adversary{Kind: "tree"}, threshold, `adversary.kind: "tree" does not ask queries`},
		{schemas.Adversary{Kind: boundary.Name}, schemas.Problem{Class: "thresholds", Domain: 5, Data: &schemas.Data{}},
			"needs a known target, and data has none; choose stochastic"},
		{schemas.Adversary{Kind: boundary.Name, Rate: 0.1}, threshold,
			"adversary.rate: 0.1 does not apply to queries, only to the rounds of task online; leave it out"},
		{schemas.Adversary{Kind: boundary.Name, From: 8}, threshold, "adversary.from: 8 does not apply to queries"},
		{schemas.Adversary{Kind: boundary.Name, Width: 64}, threshold, "adversary.width: 64 is outside [0, 64)"},
		{schemas.Adversary{Kind: boundary.Name, Width: 3}, schemas.Problem{Class: "halfspace", Dim: 2},
			"adversary.width: 3 applies to the kind boundary on whole numbers only"},
	} {
		if err := Resolve(false, &c.p, &c.a); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.a, err, c.want)
		}
	}
}
