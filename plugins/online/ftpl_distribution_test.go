package online

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

// gumbelDistribution returns the distribution of minus a Gumbel number: P(number > z) = exp(-e^z).
func gumbelDistribution() *distribution {
	return &distribution{
		lnAbove: func(ln float64) float64 { return math.Log(-ln) },
		below:   func(z float64) float64 { return -math.Expm1(-math.Exp(z)) },
		reach:   60,
	}
}

// above holds P(number > z) of each distribution.
var above = map[string]func(z float64) float64{
	gaussianNoise: func(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 },
	laplaceNoise: func(z float64) float64 {
		if z > 0 {
			return math.Exp(-z) / 2
		}
		return 1 - math.Exp(z)/2
	},
	exponentialNoise: func(z float64) float64 { return -math.Expm1(min(0, z)) },
	"gumbel":         func(z float64) float64 { return math.Exp(-math.Exp(z)) },
}

// distributions returns the distributions by name.
func distributions() map[string]*distribution {
	return map[string]*distribution{gaussianNoise: normalDistribution(), laplaceNoise: laplaceDistribution(),
		exponentialNoise: exponentialDistribution(),
		"gumbel":         gumbelDistribution()}
}

// chance computes the probability that level i is played, by the midpoint rule over the quantiles
// of the minimum of its numbers.
func chance(name string, levels []level, i int, scale float64, nodes int) (p float64) {
	l := distributions()[name]
	for k := range nodes {
		z, product := l.lnAbove(math.Log((float64(k)+0.5)/float64(nodes))/float64(levels[i].count)), 1.0
		for j, w := range levels {
			if j != i {
				product *= math.Pow(above[name](z+(levels[i].behind-w.behind)/scale), float64(w.count))
			}
		}
		p += product / float64(nodes)
	}
	return p
}

// checkShares checks that the frequency of each choice is within five standard deviations of its
// probability.
func checkShares(t *testing.T, name string, came []int, p []float64) {
	t.Helper()
	n := 0
	for _, c := range came {
		n += c
	}
	for i, c := range came {
		want := p[i] * float64(n)
		if math.Abs(float64(c)-want) > 5*math.Sqrt(want*(1-p[i])+1) {
			t.Errorf("%s: choice %d came %d times of %d, want about %.0f", name, i, c, n, want)
		}
	}
}

// The numbers of draw, which is used if noise is drawn once, have the same distribution.
func TestDrawDistribution(t *testing.T) {
	testkit.Serial(t)
	const draws = 20000
	r := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{gaussianNoise, laplaceNoise, exponentialNoise} {
		cuts := []float64{-3, -1, -0.3, 0, 0.5, 2}
		came, p := make([]int, len(cuts)+1), make([]float64, len(cuts)+1)
		for range draws {
			i, _ := slices.BinarySearch(cuts, distributions()[name].draw(r))
			came[i]++
		}
		last := 1.0
		for i, z := range cuts {
			p[i] = last - above[name](z)
			last = above[name](z)
		}
		p[len(cuts)] = last
		checkShares(t, name, came, p)
	}
}

// The coefficients at the points of a separator have the distributions named by the algorithms, and
// their signs are independent.
func TestFillDistribution(t *testing.T) {
	const draws = 1 << 17
	r := rand.New(rand.NewPCG(1, 3))
	for name, f := range map[string]struct {
		fill  func(c []float64, r *rand.Rand)
		unit  float64
		above func(z float64) float64
	}{
		"normals":      {normals(2), 2, above[gaussianNoise]},
		"halfLaplaces": {halfLaplaces, 0.5, above[laplaceNoise]},
		"halfUniforms": {halfUniforms, 0.5, func(z float64) float64 { return max(0, min(1, (1-z)/2)) }},
	} {
		c, cuts := make([]float64, draws), []float64{-3, -1, -0.6, -0.2, 0, 0.4, 0.9, 2}
		f.fill(c, r)
		came, p, signs := make([]int, len(cuts)+1), make([]float64, len(cuts)+1), make([]int, 4)
		for j, v := range c {
			i, _ := slices.BinarySearch(cuts, v/f.unit)
			came[i]++
			if j > 0 {
				pair := 0
				for k, w := range []float64{c[j-1], v} {
					if w > 0 {
						pair |= 1 << k
					}
				}
				signs[pair]++
			}
		}
		last := 1.0
		for i, z := range cuts {
			p[i] = last - f.above(z)
			last = f.above(z)
		}
		p[len(cuts)] = last
		checkShares(t, name, came, p)
		checkShares(t, name+", signs", signs, []float64{0.25, 0.25, 0.25, 0.25})
	}
}

// The prices use shifts of the noise that keep the hypothesis f that is played before a round:
// after the round, f is played once the noise is shifted by -f(z_j)/(2h) at all points. If the
// point of the round is z_j, a shift of y/2 at z_j suffices for every f.
func TestShifts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(listedProblems).Draw(t, "problem")
		kind := rapid.SampledFrom([]string{"standard", "cube", "greedy"}).Draw(t, "separator")
		at, err := newSite(finite.Place{Spec: specOf(p), Kind: kind})
		if err != nil {
			t.Fatal(err)
		}
		z, w := at.separator, at.scratch
		losses := make([]int32, at.listing.size)
		for i := range losses {
			losses[i] = int32(rapid.IntRange(0, 6).Draw(t, "loss"))
		}
		c := make([]float64, z.Len())
		normals(rapid.Float64Range(0.1, 4).Draw(t, "scale"))(c, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)))
		lead := func(c []float64) int {
			at.listing.sums(c, w.work, w.sums)
			return lowestSum(losses, w.sums, 1)
		}
		f, labels := lead(c), make([]float64, z.Len())
		at.class.Member(uint64(f)).Labels(z.Points, labels)
		j, y := rapid.IntRange(0, z.Len()-1).Draw(t, "j"), rapid.SampledFrom([]float64{-1, 1}).Draw(t, "y")
		x := z.Points[j*z.Dim : (j+1)*z.Dim]
		at.listing.column(x, w.column)
		for i, label := range w.column {
			if float64(2*int(label)-1) != y {
				losses[i]++
			}
		}
		against, linear := slices.Clone(c), slices.Clone(c)
		for k, label := range labels {
			against[k] -= label / (2 * float64(z.Hamming))
		}
		linear[j] += y / 2
		if g := lead(against); g != f {
			t.Errorf("against hypothesis %d, %d is played", f, g)
		}
		if g := lead(linear); g != f {
			t.Errorf("after hypothesis %d, %d is played", f, g)
		}
	})
}

// No two numbers of a distribution differ by its reach, below bounds its lower tail, and lnAbove
// inverts the upper tail.
func TestDistributionLimits(t *testing.T) {
	for name, l := range distributions() {
		least, most := l.lnAbove(math.Log(1-0x1p-53)/(1<<20)), l.lnAbove(math.Log(0x1p-53))
		if name != "gumbel" && !(most-least < l.reach && least > -100) {
			t.Errorf("%s: numbers from %v to %v, reach %v", name, least, most, l.reach)
		}
		for z := -12.0; z < 3; z += 0.01 {
			if b := l.below(z); b < (1-above[name](z))*(1-1e-12)-1e-15 {
				t.Fatalf("%s: below(%v) = %v, want %v or more", name, z, b, 1-above[name](z))
			}
		}
		for z := -6.0; z < -0.01; z += 0.1 {
			if got := l.lnAbove(math.Log(above[name](z))); !near(got, z, 1e-6) {
				t.Fatalf("%s: lnAbove of ln P(number > %v) is %v", name, z, got)
			}
		}
	}
}

// One round changes no probability by more than the stability in the prices, for some losses of
// four hypotheses and all sets of hypotheses that err.
func TestStability(t *testing.T) {
	testkit.Serial(t)
	const scale = 1.5
	distributions := map[string]price{laplaceNoise: purePrice(0, 1), exponentialNoise: purePrice(0, 1),
		gaussianNoise: unitPrice(2, math.Log(4), 100, 1)}
	single := func(name string, losses []float64) (p []float64) {
		for i, v := range losses {
			levels := []level{{v, 1}}
			for j, w := range losses {
				if j != i {
					levels = append(levels, level{w, 1})
				}
			}
			p = append(p, chance(name, levels, 0, scale, 1000))
		}
		return p
	}
	for name, cost := range distributions {
		eps, worst := cost.stability(scale), 0.0
		for _, before := range [][]float64{{0, 0, 0, 0}, {0, 1, 2, 5}, {3, 0, 0, 1}} {
			p := single(name, before)
			for hit := range 16 {
				after := slices.Clone(before)
				for i := range after {
					after[i] += float64(hit >> i & 1)
				}
				for i, q := range single(name, after) {
					worst = max(worst, p[i]-math.Exp(eps)*q)
				}
			}
		}
		if delta := cost.slack / 100; worst > delta+1e-5 {
			t.Errorf("%s: P(f_t = f) exceeds e^eps P(g_t = f) by %v, allowed %v", name, worst, delta)
		}
	}
}

var listedProblems = []algo.Problem{
	{Class: "parities", Dim: 4}, {Class: "thresholds", Domain: 9}, {Class: "thresholds", Domain: 9, NoConstant: true},
	{Class: "points", Domain: 7},
}

func specOf(p algo.Problem) concept.Spec {
	return concept.Spec{Name: p.Class, Domain: p.Domain, Dim: max(1, p.Dim), NoConstant: p.NoConstant, Matrix: p.Matrix}
}

// The fast sums equal the sums over all labels.
func TestSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(listedProblems).Draw(t, "problem")
		kind := rapid.SampledFrom([]string{"standard", "cube", "greedy", "code"}).Draw(t, "separator")
		if kind == "code" && p.Class != "parities" {
			kind = "cube"
		}
		at, err := newSite(finite.Place{Spec: specOf(p), Kind: kind})
		if err != nil {
			t.Fatal(err)
		}
		z, w := at.separator, at.scratch
		for j := range w.c {
			w.c[j] = rapid.Float64Range(-2, 2).Draw(t, "c")
		}
		at.listing.sums(w.c, w.work, w.sums)
		labels := make([]float64, z.Len())
		for f, got := range w.sums {
			at.class.Member(uint64(f)).Labels(z.Points, labels)
			want := 0.0
			for j, label := range labels {
				want += label * w.c[j]
			}
			if math.Abs(got-want) > 1e-9 {
				t.Fatalf("hypothesis %d: %v, want %v", f, got, want)
			}
		}
	})
}

// A listed class has the same losses and plays the same hypotheses as a search over the class with
// the same noise.
func TestListingIsSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(listedProblems).Draw(t, "problem")
		at, err := newSite(finite.Place{Spec: specOf(p), Kind: "standard"})
		if err != nil {
			t.Fatal(err)
		}
		n := noise{fill: halfLaplaces, once: rapid.Bool().Draw(t, "once")}
		a, b := rand.New(rand.NewPCG(1, 1)), rand.New(rand.NewPCG(1, 1))
		list := newTable(at, n, a)
		find, err := newSearch(at, n, b)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range []chooser{list, find} {
			if err := f.draw(1, []*rand.Rand{a, b}[i]); err != nil {
				t.Fatal(err)
			}
		}
		top := max(2, int(p.Domain))
		for range rapid.IntRange(0, 30).Draw(t, "rounds") {
			x, y := make([]float64, at.class.Dim()), float64(2*rapid.IntRange(0, 1).Draw(t, "y")-1)
			for j := range x {
				x[j] = float64(rapid.IntRange(0, top-1).Draw(t, "x"))
			}
			scale := rapid.SampledFrom([]float64{0.3, 2}).Draw(t, "scale")
			restart := rapid.IntRange(0, 9).Draw(t, "restart") == 0
			var answers, least, overall, moved [2]float64
			for i, f := range []chooser{list, find} {
				if _, moved[i], err = f.observe(x, y); err != nil {
					t.Fatal(err)
				}
				if restart {
					f.restart()
				}
				if err := f.draw(scale, []*rand.Rand{a, b}[i]); err != nil {
					t.Fatal(err)
				}
				f.predict(x, answers[i:i+1])
				l, _ := f.least()
				o, _ := f.overall()
				least[i], overall[i] = float64(l), float64(o)
			}
			if answers[0] != answers[1] || least[0] != least[1] || overall[0] != overall[1] || least[0] > overall[0] ||
				moved[0] != moved[1] {
				t.Fatalf("answers %v, least losses %v, in all %v, moved %v", answers, least, overall, moved)
			}
		}
	})
}
