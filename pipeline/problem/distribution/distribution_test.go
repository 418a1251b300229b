package distribution

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas"
)

// stream returns one of the streams of a trial.
func stream(seed, rep, number uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, rep<<2|number)) }

// resolved fills in the defaults of the distribution's keys.
func resolved(t testing.TB, p schemas.Problem) schemas.Problem {
	t.Helper()
	for _, k := range Lookup(p.Distribution).Keys {
		if err := k.Resolve(&p); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// sample draws one sample of n for one trial.
func sample(t testing.TB, p schemas.Problem, seed, rep uint64, n int) (s Sampler, x, y []float64) {
	t.Helper()
	x, y = make([]float64, n*concept.Width(Spec(&p, ""))), make([]float64, n)
	s = Open(&p, "").Sampler()
	s.Begin(stream(seed, rep, 0))
	s.Draw(stream(seed, rep, 1), x, y)
	return s, x, y
}

// support returns all points of a distribution, with the labels of the sampler's trial.
func support(t testing.TB, p schemas.Problem, s Sampler) (x, y, w []float64) {
	t.Helper()
	all := Open(&p, "").Support
	if all == nil {
		t.Fatalf("%+v is not evaluated exactly", p)
	}
	if y = all.Y; y == nil {
		dim := concept.Width(Spec(&p, ""))
		for i := range all.W {
			y = append(y, s.Target().Label(all.X[i*dim:(i+1)*dim]))
		}
	}
	return all.X, y, all.W
}

// normal returns the normal of the target of a halfspace.
func normal(s Sampler) []float64 { return s.Target().(*Plane).Normal }

func near(a, b []float64, most float64) bool {
	return slices.EqualFunc(a, b, func(p, q float64) bool { return math.Abs(p-q) <= most })
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func norm(a []float64) float64 { return math.Sqrt(dot(a, a)) }

// atomsWant is the support of a distribution on an ordered domain, computed by hand.
var atomsWant = []struct {
	p       schemas.Problem
	x, y, w []float64
}{
	{
		schemas.Problem{Class: "thresholds", Distribution: "uniform", Domain: 5},
		[]float64{0, 1, 2, 3, 4},
		[]float64{-1, -1, 1, 1, 1},
		[]float64{.2, .2, .2, .2, .2},
	},
	{
		schemas.Problem{Class: "points", Distribution: "uniform", Domain: 3},
		[]float64{0, 1, 2},
		[]float64{-1, 1, -1},
		[]float64{1. / 3, 1. / 3, 1. / 3},
	},
	{schemas.Problem{Class: "points", Distribution: "uniform", Domain: 1}, []float64{0}, []float64{1}, []float64{1}},
	{
		schemas.Problem{Class: "intervals", Distribution: "uniform", Domain: 8},
		[]float64{0, 1, 2, 3, 4, 5, 6, 7},
		[]float64{-1, -1, 1, 1, 1, 1, -1, -1},
		[]float64{.125, .125, .125, .125, .125, .125, .125, .125},
	},
	{
		schemas.Problem{Class: "thresholds", Distribution: "needle", Domain: 16, Mass: 0.1},
		[]float64{7, 8, 15},
		[]float64{-1, 1, 1},
		[]float64{.1, .1, .8},
	},
	{
		schemas.Problem{Class: "thresholds", Distribution: "needle", Domain: 3, Mass: 0.5},
		[]float64{0, 1},
		[]float64{-1, 1},
		[]float64{.5, .5},
	},
	{
		schemas.Problem{Class: "points", Distribution: "needle", Domain: 16, Mass: 0.25},
		[]float64{8, 0},
		[]float64{1, -1},
		[]float64{.25, .75},
	},
	{
		schemas.Problem{Class: "intervals", Distribution: "needle", Domain: 16, Mass: 0.25},
		[]float64{7, 8, 9, 0},
		[]float64{-1, 1, -1, -1},
		[]float64{.25, .25, .25, .25},
	},
	{
		schemas.Problem{Class: "intervals", Distribution: "needle", Domain: 1 << 40, Mass: 0.125},
		[]float64{1<<39 - 1, 1 << 39, 1<<39 + 1, 0},
		[]float64{-1, 1, -1, -1},
		[]float64{.125, .125, .125, .625},
	},
}

func TestOrderedDistributionsAreTheirDefinition(t *testing.T) {
	for _, c := range atomsWant {
		c.p.Target = concept.MiddleTarget
		const n = 20_000
		d, x, y := sample(t, c.p, 1, 2, n)
		gotX, gotY, gotW := support(t, c.p, d)
		if !slices.Equal(gotX, c.x) || !slices.Equal(gotY, c.y) || !near(gotW, c.w, 1e-15) {
			t.Errorf("%+v: evaluation on %v %v %v, want %v %v %v", c.p, gotX, gotY, gotW, c.x, c.y, c.w)
		}
		counts := make([]float64, len(c.x))
		for i, v := range x {
			k := slices.Index(c.x, v)
			if k < 0 || y[i] != c.y[k] {
				t.Fatalf("%+v: drew (%v, %v)", c.p, v, y[i])
			}
			counts[k]++
		}
		testkit.CheckCounts(t, counts, c.w)
	}
}

// On the needle distribution one hypothesis of the class is good: all others err with probability
// at least a.
func TestNeedleHasOneGoodHypothesis(t *testing.T) {
	for _, c := range []struct {
		class  string
		domain uint64
		mass   float64
	}{{"thresholds", 3, 0.5}, {"thresholds", 17, 0.1}, {"points", 2, 0.3}, {"points", 9, 0.1}, {"intervals", 4, 0.3},
		{"intervals", 15, 0.1}} {
		p := schemas.Problem{Class: c.class, Distribution: "needle", Domain: c.domain, Mass: c.mass}
		d, _, _ := sample(t, p, 1, 2, 0)
		x, y, w := support(t, p, d)
		good := 0
		for _, h := range hypotheses(c.class, c.domain) {
			err := 0.0
			for i := range x {
				if h.Label(x[i]) != y[i] {
					err += w[i]
				}
			}
			switch {
			case err == 0:
				good++
			case err < c.mass-1e-12:
				t.Errorf("%+v: %v has error %v", c, h, err)
			}
		}
		if good != 1 {
			t.Errorf("%+v: %d good hypotheses", c, good)
		}
	}
}

// hypotheses lists a class; thresholds without the constant -1.
func hypotheses(class string, domain uint64) (all []concept.Range) {
	for a := range domain {
		switch class {
		case "thresholds":
			all = append(all, concept.Threshold(float64(a)))
		case "points":
			all = append(all, concept.Point(float64(a)))
		case "intervals":
			for b := a; b < domain; b++ {
				all = append(all, concept.Interval(float64(a), float64(b)))
			}
		}
	}
	if class == "intervals" {
		all = append(all, concept.Empty())
	}
	return all
}

// Every distribution on the sphere satisfies |x| = 1 and y<u,x> >= tau, the fixed ones with
// equality in the latter.
func TestMargins(t *testing.T) {
	for _, distribution := range []string{"iso", "skew", "iso-fixed", "skew-fixed", "ball-margin"} {
		for _, dim := range []int{1, 2, 3, 10, 300, 5000} {
			for _, tau := range []float64{1e-6, 0.01, 0.1, 0.5, 0.999999} {
				if dim == 1 && distribution != "ball-margin" {
					continue
				}
				p := resolved(t, schemas.Problem{Class: "halfspace", Distribution: distribution, Dim: dim, Margin: tau})
				d, x, y := sample(t, p, 5, 6, 20+20_000/dim)
				u := normal(d)
				if n := norm(u); math.Abs(n-1) > 1e-14 {
					t.Fatalf("|u| = %v", n)
				}
				for i := range y {
					row := x[i*dim : (i+1)*dim]
					margin := y[i] * dot(u, row)
					if !(math.Abs(norm(row)-1) <= 1e-12 && margin >= tau-1e-12) {
						t.Fatalf("%s d=%d: norm 1%+g, margin %v%+g", distribution, dim, norm(row)-1, tau, margin-tau)
					}
					if strings.HasSuffix(distribution, "-fixed") && margin > tau+1e-12 {
						t.Fatalf("%s d=%d: margin %v%+g", distribution, dim, tau, margin-tau)
					}
				}
			}
		}
	}
}

// The inverse of a margin under iso and skew is uniform on [1, 1/tau], for both labels and both
// sides of the orthogonal part.
func TestRandomMarginsAreTheirDefinition(t *testing.T) {
	const bins, n, dim = 20, 40_000, 5
	even := slices.Repeat([]float64{1. / bins / 4}, 4*bins)
	for _, distribution := range []string{"iso", "skew"} {
		for _, tau := range []float64{0.001, 0.1, 0.5, 0.8} {
			p := resolved(t, schemas.Problem{Class: "halfspace", Distribution: distribution, Dim: dim, Margin: tau})
			if distribution == "skew" {
				p.Minority = 0.5 // both sides of e are equally likely
			}
			d, x, y := sample(t, p, 14, 15, n)
			u := normal(d)
			v := orthogonalTo(u)
			counts := make([]float64, 4*bins)
			for i := range y {
				row := x[i*dim : (i+1)*dim]
				inverse := (1/(y[i]*dot(u, row)) - 1) / (1/tau - 1)
				bin := min(max(int(inverse*bins), 0), bins-1)
				counts[4*bin+int(y[i]+1)+int(math.Copysign(0.5, dot(v, row))+0.5)]++
			}
			testkit.CheckCounts(t, counts, even)
		}
	}
}

// In R^3 a coordinate of a uniform unit vector is uniform on [-1, 1], and so is the angle of a
// vector orthogonal to it.
func TestTargetsAreUniform(t *testing.T) {
	p := resolved(t, schemas.Problem{Class: "halfspace", Distribution: "skew", Dim: 3, Margin: 0.1})
	s := Open(&p, "").Sampler().(*skewSampler)
	const bins = 8
	coordinate := [3][]float64{make([]float64, bins), make([]float64, bins), make([]float64, bins)}
	angle := make([]float64, bins)
	for rep := range uint64(20_000) {
		s.Begin(stream(7, rep, 0))
		if math.Abs(dot(s.Normal, s.e)) > 1e-14 || math.Abs(norm(s.e)-1) > 1e-14 {
			t.Fatalf("u = %v, e = %v", s.Normal, s.e)
		}
		for j, v := range s.Normal {
			coordinate[j][int((v+1)/2*bins)]++
		}
		// Two fixed directions orthogonal to u: a = u x (0,0,1), b = u x a.
		a := []float64{s.Normal[1], -s.Normal[0], 0}
		b := []float64{-s.Normal[2] * a[1], s.Normal[2] * a[0], s.Normal[0]*a[1] - s.Normal[1]*a[0]}
		turn := math.Atan2(dot(s.e, b)/norm(b), dot(s.e, a)/norm(a))/(2*math.Pi) + 0.5
		angle[min(int(turn*bins), bins-1)]++
	}
	even := slices.Repeat([]float64{1. / bins}, bins)
	for _, counts := range append(coordinate[:], angle) {
		testkit.CheckCounts(t, counts, even)
	}
}

// The orthogonal part of iso is uniform: in R^4 its coordinate along any orthogonal direction is
// uniform on [-1, 1].
func TestIsoIsUniformAroundTheTarget(t *testing.T) {
	const tau, bins = 0.3, 10
	for _, distribution := range []string{"iso", "iso-fixed"} {
		p := resolved(t, schemas.Problem{Class: "halfspace", Distribution: distribution, Dim: 4, Margin: tau})
		d, x, y := sample(t, p, 8, 9, 20_000)
		u := normal(d)
		v := orthogonalTo(u)
		counts, positives := make([]float64, bins), 0.0
		for i := range y {
			row := x[i*4 : (i+1)*4]
			along := y[i] * dot(v, row) / cosine(dot(u, row))
			counts[min(max(int((along+1)/2*bins), 0), bins-1)]++
			positives += (y[i] + 1) / 2
		}
		testkit.CheckCounts(t, counts, slices.Repeat([]float64{1. / bins}, bins))
		testkit.CheckCounts(t, []float64{positives, 20_000 - positives}, []float64{0.5, 0.5})
	}
}

// In R^3 the orthogonal part of skew has the direction of q = s e + (cos a e + sin a f)/2 with a
// uniform: within 30 degrees of s e.
func TestSkewIsItsDefinition(t *testing.T) {
	const tau, bins, n, fine = 0.3, 12, 30_000, 1_000_000
	bin := func(alongE, alongF float64) int {
		return min(int((math.Atan2(alongF, alongE)/(math.Pi/3)+0.5)*bins), bins-1)
	}
	want := make([]float64, bins)
	for i := range fine {
		sin, cos := math.Sincos((float64(i) + 0.5) / fine * 2 * math.Pi)
		want[bin(1+cos/2, sin/2)] += 1. / fine
	}
	for k, minority := range []float64{0, 0.05, 0.5, 0.3} {
		name := []string{"skew", "skew", "skew", "skew-fixed"}[k]
		p := resolved(t, schemas.Problem{Class: "halfspace", Distribution: name, Dim: 3, Margin: tau, Minority: minority})
		d, x, y := sample(t, p, 10, 11, n)
		u, e := normal(d), d.(*skewSampler).e
		f := []float64{u[1]*e[2] - u[2]*e[1], u[2]*e[0] - u[0]*e[2], u[0]*e[1] - u[1]*e[0]}
		turns, signs := make([]float64, bins), make([]float64, 2)
		for i := range y {
			row := x[i*3 : (i+1)*3]
			s := math.Copysign(1, y[i]*dot(e, row))
			signs[int(s+1)/2]++
			turns[bin(s*y[i]*dot(e, row), y[i]*dot(f, row))]++
		}
		if minority == 0 {
			minority = 0.2
		}
		testkit.CheckCounts(t, signs, []float64{minority, 1 - minority})
		testkit.CheckCounts(t, turns, want)
	}
}

// The margin t of ball-margin has a density proportional to (1-t^2)^((d-3)/2) on [tau, 1], for
// both ways to draw it.
func TestBallMarginIsItsDefinition(t *testing.T) {
	const n, bins = 10_000, 10
	for _, c := range []struct {
		dim int
		tau float64
	}{{2, 0.1}, {2, 0.6}, {3, 0.3}, {10, 0.05}, {10, 0.3}, {50, 0.2}} {
		for _, naive := range []bool{true, false} {
			p := resolved(t, schemas.Problem{Class: "halfspace", Distribution: "ball-margin", Dim: c.dim, Margin: c.tau})
			s := Open(&p, "").Sampler().(*ballMarginSampler)
			s.naive = naive
			s.Begin(stream(12, 13, 0))
			x, y := make([]float64, n*c.dim), make([]float64, n)
			s.Draw(stream(12, 13, 1), x, y)
			cut, v := margins(c.dim, c.tau, bins), orthogonalTo(s.Normal)
			counts, positives, sides := make([]float64, bins), 0.0, 0.0
			for i := range y {
				row := x[i*c.dim : (i+1)*c.dim]
				k, _ := slices.BinarySearch(cut, y[i]*dot(s.Normal, row))
				counts[k]++
				positives += (y[i] + 1) / 2
				sides += (math.Copysign(1, dot(v, row)) + 1) / 2
			}
			testkit.CheckCounts(t, counts, slices.Repeat([]float64{1. / bins}, bins))
			testkit.CheckCounts(t, []float64{positives, n - positives}, []float64{0.5, 0.5})
			testkit.CheckCounts(t, []float64{sides, n - sides}, []float64{0.5, 0.5})
		}
	}
}

// margins divides [tau, 1] into bins of equal probability. With t = cos a the density is
// sin(a)^(d-2) on [0, acos tau].
func margins(dim int, tau float64, bins int) (cut []float64) {
	const fine = 1_000_000
	most := math.Acos(tau)
	density := func(i int) float64 { return math.Pow(math.Sin((float64(i)+0.5)/fine*most), float64(dim-2)) }
	total := 0.0
	for i := range fine {
		total += density(i)
	}
	sum := 0.0
	for i := range fine {
		sum += density(i)
		if sum >= total*float64(len(cut)+1)/float64(bins) && len(cut) < bins-1 {
			cut = append(cut, math.Cos(float64(i+1)/fine*most))
		}
	}
	slices.Reverse(cut)
	return cut
}

// orthogonalTo returns a unit vector orthogonal to u.
func orthogonalTo(u []float64) []float64 {
	r, v := rand.New(rand.NewPCG(1, 1)), make([]float64, len(u))
	for i := range v {
		v[i] = r.NormFloat64()
	}
	along := dot(u, v)
	for i := range v {
		v[i] -= along * u[i]
	}
	n := norm(v)
	for i := range v {
		v[i] /= n
	}
	return v
}
