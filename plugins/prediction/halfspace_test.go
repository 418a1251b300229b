package prediction

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/numeric"
)

// A halfspaceTrial has a random target and blocks of Gaussian points labeled by it.
type halfspaceTrial struct {
	d      int
	target []float64 // d + 1 numbers, for the lift (x, -1)
	blocks []block
	r      *rand.Rand
}

// newHalfspaceTrial draws a target in general position and k blocks of m examples. Labels are
// flipped with probability noise.
func newHalfspaceTrial(d, k, m int, noise float64, seed uint64) *halfspaceTrial {
	t := &halfspaceTrial{d: d, r: rand.New(rand.NewPCG(seed, uint64(d)))}
	t.target = append(t.point(), 0.3*t.r.NormFloat64())
	for range k {
		b := block{}
		for range m {
			x := t.point()
			y := t.label(x)
			if t.r.Float64() < noise {
				y = -y
			}
			b.x, b.y = append(b.x, x...), append(b.y, y)
		}
		t.blocks = append(t.blocks, b)
	}
	return t
}

func (t *halfspaceTrial) point() []float64 {
	x := make([]float64, t.d)
	for j := range x {
		x[j] = t.r.NormFloat64()
	}
	return x
}

func (t *halfspaceTrial) label(x []float64) float64 {
	return sign(numeric.Dot(t.target[:t.d], x) - t.target[t.d])
}

func sign(v float64) float64 { return labelOf(v >= 0) }

// onto draws a Gaussian point and projects it to the hyperplane <v, (x, -1)> = 0.
func (t *halfspaceTrial) onto(v []float64) []float64 {
	x := t.point()
	a := v[:t.d]
	if square := squaredNorm(a); square > 0 {
		f := (numeric.Dot(a, x) - v[t.d]) / square
		for j := range x {
			x[j] -= f * a[j]
		}
	}
	return x
}

// play runs Algorithm 2 without noise. It returns the number of hard queries, whose share of votes
// is between 3/8 and 5/8.
func (t *halfspaceTrial) play(test testing.TB, g generator, queries int,
	next func(i int) []float64, heard func(x []float64, label float64)) (hard int) {
	test.Helper()
	k := float64(len(t.blocks))
	for i := range queries {
		x := next(i)
		label, q := 1.0, float64(g.votes(x))/k
		switch {
		case q < 3./8:
			label = -1
		case q <= 5./8:
			hard++
			label = float64(1 - 2*t.r.IntN(2))
			if err := g.hard(x, label); err != nil {
				test.Fatal(err)
			}
		}
		heard(x, label)
	}
	return hard
}

// error returns the share of 2000 fresh points on which the majority of the votes is wrong.
func (t *halfspaceTrial) error(g generator) float64 {
	wrong := 0
	for range 2000 {
		x := t.point()
		if sign(float64(2*g.votes(x)-len(t.blocks))) != t.label(x) {
			wrong++
		}
	}
	return float64(wrong) / 2000
}

func newHalfspaces(t testing.TB, blocks []block, dim int, affine bool) *halfspaces {
	t.Helper()
	g, err := newHalfspaceGenerator(blocks, dim, affine)
	if err != nil {
		t.Fatal(err)
	}
	return g.(*halfspaces)
}

// fixed is a generator that does not shrink.
type fixed struct{ *halfspaces }

func (fixed) hard([]float64, float64) error { return nil }

func ignore([]float64, float64) {}

// There are at most d hard queries against any adversary, and exactly d against these two. Without
// shrinking, most queries are hard.
func TestAtMostDHardQueries(t *testing.T) {
	const k, m, queries = 120, 40, 200
	for _, d := range []int{1, 2, 3, 5} {
		for seed := range uint64(2) {
			for _, adversary := range []string{"boundary", "adaptive"} {
				trial := newHalfspaceTrial(d, k, m, 0, seed)
				next, heard := func(int) []float64 { return trial.onto(trial.target) }, ignore
				if adversary == "adaptive" {
					next, heard = trial.adaptive(t)
				}
				g := newHalfspaces(t, trial.blocks, d, true)
				if hard := trial.play(t, g, queries, next, heard); hard != d {
					t.Errorf("d %d, seed %d, %s: %d hard queries", d, seed, adversary, hard)
				}
				if wrong := trial.error(g); wrong > 0.05 {
					t.Errorf("d %d, seed %d, %s: error %v", d, seed, adversary, wrong)
				}
				if d+1 <= maxCellDim && g.inexact() > 0 {
					t.Errorf("d %d, seed %d, %s: %d uncertain values", d, seed, adversary, g.inexact())
				}
			}
			trial := newHalfspaceTrial(d, k, m, 0, seed)
			still := fixed{newHalfspaces(t, trial.blocks, d, true)}
			boundary := func(int) []float64 { return trial.onto(trial.target) }
			if hard := trial.play(t, still, queries, boundary, ignore); hard < queries/4 {
				t.Errorf("d %d, seed %d: without shrinking %d of %d queries are hard", d, seed, hard, queries)
			}
		}
	}
}

// adaptive returns an adversary that fits a halfspace to the answers every five queries, by hinge
// loss, and queries points on its boundary.
func (t *halfspaceTrial) adaptive(test testing.TB) (next func(int) []float64, heard func([]float64, float64)) {
	var answers []float64
	f, v := newFinder(t.d+1), append(t.point(), 0)
	next = func(i int) []float64 {
		if i%5 == 0 && i > 0 {
			z, err := f.witness(answers, nil)
			if err != nil {
				test.Fatal(err)
			}
			v = z.v
		}
		return t.onto(v)
	}
	heard = func(x []float64, label float64) {
		u := append(slices.Clone(x), -1)
		normalize(u)
		for _, c := range u {
			answers = append(answers, label*c)
		}
	}
	return next, heard
}

// A block's hypothesis depends only on this block and the hard queries, although all blocks share
// scratch memory. Privacy relies on this.
func TestBlocksDoNotTouch(t *testing.T) {
	for _, d := range []int{1, 2, 4} {
		trial := newHalfspaceTrial(d, 12, 15, 0.1, 13)
		trial.blocks[3].x, trial.blocks[3].y = trial.blocks[3].x[:2*d], trial.blocks[3].y[:2]
		together := newHalfspaces(t, trial.blocks, d, true)
		alone := make([]*halfspaces, len(trial.blocks))
		for i, b := range trial.blocks {
			alone[i] = newHalfspaces(t, []block{b}, d, true)
		}
		for hards := 0; ; hards++ {
			for i, g := range alone {
				if got := together.hypothesis(i); !slices.Equal(got, g.v) {
					t.Errorf("d %d, %d hard queries, block %d: %v, and alone %v", d, hards, i, got, g.v)
				}
			}
			if hards == d {
				break
			}
			x := trial.onto(trial.target)
			for _, g := range append(alone, together) {
				if err := g.hard(x, 1); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// A query in the span of the hard ones is on every boundary: all hypotheses vote +1 regardless of
// rounding, and the query changes nothing.
func TestQueriesInTheSpan(t *testing.T) {
	trial := newHalfspaceTrial(4, 30, 30, 0, 3)
	g := newHalfspaces(t, trial.blocks, 4, true)
	a, b := trial.onto(trial.target), trial.onto(trial.target)
	for _, x := range [][]float64{a, b} {
		if err := g.hard(x, -1); err != nil {
			t.Fatal(err)
		}
	}
	before, codim := slices.Clone(g.v), g.w.codim()
	for _, f := range []float64{0, 0.3, 1, -7} {
		x := make([]float64, 4)
		for j := range x {
			x[j] = float64(f*a[j]) + float64((1-f)*b[j]) // lifts to a combination of the two lifts
		}
		if got := g.votes(x); got != 30 {
			t.Errorf("%d of 30 votes at %v on the line through two hard queries", got, f)
		}
		if err := g.hard(x, 1); err != nil || g.w.codim() != codim || !slices.Equal(before, g.v) {
			t.Errorf("hard query in the span: codimension %d, error %v", g.w.codim(), err)
		}
		if g.public(x) != 1 {
			t.Errorf("public label at %v on the line is not +1", f)
		}
	}
	for i := range 30 {
		v := g.hypothesis(i)
		if g.w.along(v) > 1e-12 || math.Abs(squaredNorm(v)-1) > 1e-12 {
			t.Errorf("hypothesis %d is not a unit vector of W: %v", i, v)
		}
	}
}

// The public halfspace depends on hard queries and released labels, but not on the sample.
func TestPublicHalfspace(t *testing.T) {
	first, second := newHalfspaceTrial(3, 20, 30, 0, 1), newHalfspaceTrial(3, 20, 30, 0, 2)
	g, other := newHalfspaces(t, first.blocks, 3, true), newHalfspaces(t, second.blocks, 3, true)
	hear := func(x []float64, label float64) {
		g.released(x, label)
		other.released(x, label)
	}
	for i := range 300 {
		x := first.point()
		if i%100 == 0 {
			x = first.onto(first.target)
			for _, h := range []*halfspaces{g, other} {
				if err := h.hard(x, 1); err != nil {
					t.Fatal(err)
				}
			}
			continue
		}
		hear(x, first.label(x))
	}
	wrong := 0
	for range 1000 {
		x := first.point()
		if g.public(x) != other.public(x) {
			t.Fatalf("public label of %v depends on the sample", x)
		}
		if g.public(x) != first.label(x) {
			wrong++
		}
	}
	if wrong > 20 { // after three hard queries on the boundary W is the target's line, and its sign is known
		t.Errorf("%d of 1000 public labels wrong", wrong)
	}
	silent := newHalfspaces(t, first.blocks, 3, true)
	if v := silent.public(first.point()); v != 1 && v != -1 {
		t.Errorf("public label %v before anything was released", v)
	}
}

func TestDegenerateBlocks(t *testing.T) {
	one, both := []float64{1, 1, 1, 1}, []float64{1, -1, 1, -1}
	for _, c := range []struct {
		name   string
		x, y   []float64
		value  int // result for 4, affine
		linear int // the same, through the origin
	}{
		{"one label", []float64{1, 2, 3, 4, -5, 6, 7, -8}, one, 4, 4},
		{"equal points, one label", []float64{1, 2, 1, 2, 1, 2, 1, 2}, one, 4, 4},
		{"equal points, both labels", []float64{1, 2, 1, 2, 1, 2, 1, 2}, both, 2, 2},
		{"zeros, one label", make([]float64, 8), one, 4, 0},
		{"zeros, both labels", make([]float64, 8), both, 2, 0},
		{"on a line", []float64{1, 1, 2, 2, 3, 3, 4, 4}, both, 3, 2},
		{"huge and tiny", []float64{1e300, 1e300, 1e-300, 1e-300, -1e300, 1e300, -1e-310, 0}, one, 4, 4},
	} {
		for _, affine := range []bool{true, false} {
			want := c.value
			if !affine {
				want = c.linear
			}
			g := newHalfspaces(t, []block{{c.x, c.y}}, 2, affine)
			rows := g.blocks[0]
			if got, _ := depth(rows, g.v); got != want {
				t.Errorf("%s, affine %v: %d right, want %d", c.name, affine, got, want)
			}
			for i := range 3 {
				if err := g.hard([]float64{1, float64(i)}, 1); err != nil {
					t.Errorf("%s, affine %v: %v", c.name, affine, err)
				}
				if !(math.Abs(squaredNorm(g.v)-1) < 1e-12) {
					t.Errorf("%s, affine %v: hypothesis %v", c.name, affine, g.v)
				}
			}
		}
	}
	single := newHalfspaces(t, []block{{[]float64{3}, []float64{-1}}}, 1, true)
	if single.votes([]float64{3}) != 0 {
		t.Error("a block of one example is not fitted")
	}
	empty := newHalfspaces(t, []block{{}}, 2, true)
	if got := empty.votes([]float64{1, 2}); got != 0 && got != 1 {
		t.Errorf("%d votes of an empty block", got)
	}
}

func TestHalfspaceGeneratorRefuses(t *testing.T) {
	blocks := []block{{[]float64{1, 2}, []float64{1}}, {[]float64{1, math.NaN()}, []float64{1}}}
	_, err := newHalfspaceGenerator(blocks, 2, true)
	if want := "block 1: example 0 is [1 NaN]: every coordinate must be finite"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
	g := newHalfspaces(t, []block{{[]float64{1, 2}, []float64{1}}}, 2, true)
	if err := g.hard([]float64{math.Inf(1), 0}, 1); err == nil ||
		!strings.Contains(err.Error(), "hard query [+Inf 0]: every coordinate must be finite") {
		t.Errorf("error %v", err)
	}
}

func (g *halfspaces) hypothesis(i int) []float64 {
	v := make([]float64, len(g.u))
	for j := range v {
		v[j] = g.v[j*len(g.blocks)+i]
	}
	return v
}

// Votes are those of the current hypotheses, regardless of earlier queries: points repeat, also
// after a hard query. No hypothesis labels a point that is not finite +1.
func TestVotesAreThoseOfThePresentHypotheses(t *testing.T) {
	for _, d := range []int{1, 3} {
		trial := newHalfspaceTrial(d, 45, 3, 0.1, 17)
		g := newHalfspaces(t, trial.blocks, d, true)
		points := [][]float64{make([]float64, d), make([]float64, d)}
		points[1][0] = math.Copysign(0, -1)
		for range 300 {
			points = append(points, trial.point())
		}
		for hards := 0; ; hards++ {
			for range 2 {
				for _, x := range points {
					want := len(g.blocks)
					if g.lift(x); g.w.distance(g.u) > redundant {
						want = 0
						for i := range g.blocks {
							if numeric.Dot(g.hypothesis(i), g.u) >= 0 {
								want++
							}
						}
					}
					if got := g.votes(x); got != want {
						t.Fatalf("d %d, %d hard queries: %d votes on %v, want %d", d, hards, got, x, want)
					}
				}
			}
			if hards == d {
				break
			}
			points[0] = trial.onto(trial.target)
			if err := g.hard(points[0], 1); err != nil {
				t.Fatal(err)
			}
		}
		for _, v := range []float64{math.NaN(), math.Inf(1)} {
			if points[1][0] = v; g.votes(points[1]) != 0 {
				t.Errorf("votes on %v", points[1])
			}
		}
	}
}
