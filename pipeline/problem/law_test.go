package problem

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

// open opens a problem that must be valid.
func open(t testing.TB, p schemas.Problem) *Problem {
	t.Helper()
	o, err := Open(p, "")
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// sample draws one sample of n for one trial.
func sample(p *Problem, seed, rep uint64, n int) (d *Drawer, x, y []float64) {
	d = p.Drawer()
	d.Begin(new(seeded).trial(seed, rep))
	x, y = make([]float64, n*p.Dim()), make([]float64, n)
	d.Sample(n, x, y)
	return d, x, y
}

// evaluation reads all evaluation points of the drawer's trial.
func evaluation(d *Drawer) (x, y, w []float64) {
	n := d.TestLen()
	x, y, w = make([]float64, n*d.p.dim), make([]float64, n), make([]float64, n)
	d.Test(x, y, w)
	return x, y, w
}

// atomsWant is the support of a law on an ordered domain, written out by hand.
var atomsWant = []struct {
	p       schemas.Problem
	x, y, w []float64
}{
	{schemas.Problem{Class: "thresholds", Distribution: "uniform", Domain: 5}, []float64{0, 1, 2, 3, 4}, []float64{-1, -1, 1, 1, 1}, []float64{.2, .2, .2, .2, .2}},
	{schemas.Problem{Class: "points", Distribution: "uniform", Domain: 3}, []float64{0, 1, 2}, []float64{-1, 1, -1}, []float64{1. / 3, 1. / 3, 1. / 3}},
	{schemas.Problem{Class: "points", Distribution: "uniform", Domain: 1}, []float64{0}, []float64{1}, []float64{1}},
	{schemas.Problem{Class: "intervals", Distribution: "uniform", Domain: 8}, []float64{0, 1, 2, 3, 4, 5, 6, 7}, []float64{-1, -1, 1, 1, 1, 1, -1, -1}, []float64{.125, .125, .125, .125, .125, .125, .125, .125}},
	{schemas.Problem{Class: "thresholds", Distribution: "needle", Domain: 16, Mass: 0.1}, []float64{7, 8, 15}, []float64{-1, 1, 1}, []float64{.1, .1, .8}},
	{schemas.Problem{Class: "thresholds", Distribution: "needle", Domain: 3, Mass: 0.5}, []float64{0, 1}, []float64{-1, 1}, []float64{.5, .5}},
	{schemas.Problem{Class: "points", Distribution: "needle", Domain: 16, Mass: 0.25}, []float64{8, 0}, []float64{1, -1}, []float64{.25, .75}},
	{schemas.Problem{Class: "intervals", Distribution: "needle", Domain: 16, Mass: 0.25}, []float64{7, 8, 9, 0}, []float64{-1, 1, -1, -1}, []float64{.25, .25, .25, .25}},
	{schemas.Problem{Class: "intervals", Distribution: "needle", Domain: 1 << 40, Mass: 0.125}, []float64{1<<39 - 1, 1 << 39, 1<<39 + 1, 0}, []float64{-1, 1, -1, -1}, []float64{.125, .125, .125, .625}},
}

func TestOrderedLawsAreTheirDefinition(t *testing.T) {
	for _, c := range atomsWant {
		p := open(t, c.p)
		const n = 20_000
		d, x, y := sample(p, 1, 2, n)
		gotX, gotY, gotW := evaluation(d)
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
		checkCounts(t, counts, c.w)
	}
}

// On the needle law one hypothesis of the class is good: all others err with probability a or more.
func TestNeedleHasOneGoodHypothesis(t *testing.T) {
	for _, c := range []struct {
		class  string
		domain uint64
		mass   float64
	}{{"thresholds", 3, 0.5}, {"thresholds", 17, 0.1}, {"points", 2, 0.3}, {"points", 9, 0.1}, {"intervals", 4, 0.3}, {"intervals", 15, 0.1}} {
		p := open(t, schemas.Problem{Class: c.class, Distribution: "needle", Domain: c.domain, Mass: c.mass})
		x, y, w := evaluation(p.Drawer())
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

func TestLargeUniformDomain(t *testing.T) {
	for class, target := range map[string]concept.Range{
		"thresholds": {Lo: 1 << 39, Hi: 1<<40 - 1}, "points": {Lo: 1 << 39, Hi: 1 << 39}, "intervals": {Lo: 1 << 38, Hi: 3<<38 - 1},
	} {
		p := open(t, schemas.Problem{Class: class, Distribution: "uniform", Domain: 1 << 40})
		if p.Exact() || p.Evaluation() != "10000" {
			t.Errorf("%s: evaluation %s", class, p.Evaluation())
		}
		d, x, y := sample(p, 3, 4, 4000)
		testX, testY, _ := evaluation(d)
		x, y = append(x, testX...), append(y, testY...)
		counts := make([]float64, 16)
		for i, v := range x {
			if v != math.Trunc(v) || y[i] != target.Label(v) {
				t.Fatalf("%s: drew (%v, %v)", class, v, y[i])
			}
			counts[uint64(v)>>36]++
		}
		checkCounts(t, counts, slices.Repeat([]float64{1. / 16}, 16))
	}
}

// Every law on the sphere keeps |x| = 1 and y<u,x> >= tau, and iso and skew keep the latter with equality.
func TestMargins(t *testing.T) {
	for _, law := range []string{"iso", "skew", "ball-margin"} {
		for _, dim := range []int{1, 2, 3, 10, 300, 5000} {
			for _, tau := range []float64{1e-6, 0.01, 0.1, 0.5, 0.999999} {
				if dim == 1 && law != "ball-margin" {
					continue
				}
				p := open(t, schemas.Problem{Class: "halfspace", Distribution: law, Dim: dim, Margin: tau})
				d, x, y := sample(p, 5, 6, 20+20_000/dim)
				u := d.law.(*sphere).u
				if n := norm(u); math.Abs(n-1) > 1e-14 {
					t.Fatalf("|u| = %v", n)
				}
				for i := range y {
					row := x[i*dim : (i+1)*dim]
					margin := y[i] * dot(u, row)
					if !(math.Abs(norm(row)-1) <= 1e-12 && margin >= tau-1e-12) {
						t.Fatalf("%s d=%d: norm 1%+g, margin %v%+g", law, dim, norm(row)-1, tau, margin-tau)
					}
					if law != "ball-margin" && margin > tau+1e-12 {
						t.Fatalf("%s d=%d: margin %v%+g", law, dim, tau, margin-tau)
					}
				}
			}
		}
	}
}

// In R^3 a coordinate of a uniform unit vector is uniform on [-1, 1], and so is the angle of a vector orthogonal to it.
func TestTargetsAreUniform(t *testing.T) {
	p := open(t, schemas.Problem{Class: "halfspace", Distribution: "skew", Dim: 3, Margin: 0.1})
	d := p.Drawer()
	s := d.law.(*sphere)
	const bins = 8
	coordinate := [3][]float64{make([]float64, bins), make([]float64, bins), make([]float64, bins)}
	angle := make([]float64, bins)
	streams := new(seeded)
	for rep := range uint64(20_000) {
		d.Begin(streams.trial(7, rep))
		if math.Abs(dot(s.u, s.e)) > 1e-14 || math.Abs(norm(s.e)-1) > 1e-14 {
			t.Fatalf("u = %v, e = %v", s.u, s.e)
		}
		for j, v := range s.u {
			coordinate[j][int((v+1)/2*bins)]++
		}
		// Two fixed directions orthogonal to u: a = u x (0,0,1), b = u x a.
		a := []float64{s.u[1], -s.u[0], 0}
		b := []float64{-s.u[2] * a[1], s.u[2] * a[0], s.u[0]*a[1] - s.u[1]*a[0]}
		turn := math.Atan2(dot(s.e, b)/norm(b), dot(s.e, a)/norm(a))/(2*math.Pi) + 0.5
		angle[min(int(turn*bins), bins-1)]++
	}
	even := slices.Repeat([]float64{1. / bins}, bins)
	for _, counts := range append(coordinate[:], angle) {
		checkCounts(t, counts, even)
	}
}

// The orthogonal part of iso is uniform: in R^4 its coordinate along any orthogonal direction is uniform on [-1, 1].
func TestIsoIsUniformAroundTheTarget(t *testing.T) {
	const tau, bins = 0.3, 10
	p := open(t, schemas.Problem{Class: "halfspace", Distribution: "iso", Dim: 4, Margin: tau})
	d, x, y := sample(p, 8, 9, 20_000)
	u := d.law.(*sphere).u
	v := orthogonalTo(u)
	counts, positives := make([]float64, bins), 0.0
	for i := range y {
		along := y[i] * dot(v, x[i*4:(i+1)*4]) / math.Sqrt(1-tau*tau)
		counts[min(int((along+1)/2*bins), bins-1)]++
		positives += (y[i] + 1) / 2
	}
	checkCounts(t, counts, slices.Repeat([]float64{1. / bins}, bins))
	checkCounts(t, []float64{positives, 20_000 - positives}, []float64{0.5, 0.5})
}

// In R^3 the orthogonal part of skew has the direction of q = s e + (cos a e + sin a f)/2 with a uniform: within 30 degrees of s e.
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
	for _, minority := range []float64{0, 0.05, 0.5} {
		p := open(t, schemas.Problem{Class: "halfspace", Distribution: "skew", Dim: 3, Margin: tau, Minority: minority})
		d, x, y := sample(p, 10, 11, n)
		u, e := d.law.(*sphere).u, d.law.(*sphere).e
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
		checkCounts(t, signs, []float64{minority, 1 - minority})
		checkCounts(t, turns, want)
	}
}

// The margin t of ball-margin has a density proportional to (1-t^2)^((d-3)/2) on [tau, 1], however it is drawn.
func TestBallMarginIsItsDefinition(t *testing.T) {
	const n, bins = 10_000, 10
	for _, c := range []struct {
		dim int
		tau float64
	}{{2, 0.1}, {2, 0.6}, {3, 0.3}, {10, 0.05}, {10, 0.3}, {50, 0.2}} {
		for _, naive := range []bool{true, false} {
			p := open(t, schemas.Problem{Class: "halfspace", Distribution: "ball-margin", Dim: c.dim, Margin: c.tau})
			d := p.Drawer()
			s := d.law.(*sphere)
			s.naive = naive
			d.Begin(new(seeded).trial(12, 13))
			x, y := make([]float64, n*c.dim), make([]float64, n)
			d.Sample(n, x, y)
			cut, v := margins(c.dim, c.tau, bins), orthogonalTo(s.u)
			counts, positives, sides := make([]float64, bins), 0.0, 0.0
			for i := range y {
				row := x[i*c.dim : (i+1)*c.dim]
				k, _ := slices.BinarySearch(cut, y[i]*dot(s.u, row))
				counts[k]++
				positives += (y[i] + 1) / 2
				sides += (math.Copysign(1, dot(v, row)) + 1) / 2
			}
			checkCounts(t, counts, slices.Repeat([]float64{1. / bins}, bins))
			checkCounts(t, []float64{positives, n - positives}, []float64{0.5, 0.5})
			checkCounts(t, []float64{sides, n - sides}, []float64{0.5, 0.5})
		}
	}
}

// margins cuts [tau, 1] into bins of equal probability. With t = cos a the density is sin(a)^(d-2) on [0, acos tau].
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

// Whatever a law draws is labelled -1 or +1 and lies in its domain, and the weights of the evaluation sum to 1.
func TestEveryProblemDraws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, err := Open(anyLaw(t), "")
		if err != nil {
			t.Fatal(err)
		}
		d, x, y := sample(p, rapid.Uint64().Draw(t, "seed"), rapid.Uint64().Draw(t, "repetition"), rapid.IntRange(1, 50).Draw(t, "n"))
		testX, testY, w := evaluation(d)
		sum := 0.0
		for _, v := range w {
			sum += v
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Fatalf("weights sum to %v", sum)
		}
		for _, label := range append(y, testY...) {
			if label != 1 && label != -1 {
				t.Fatalf("label %v", label)
			}
		}
		x = append(x, testX...)
		for i := 0; i < len(x); i += p.Dim() {
			if row := x[i : i+p.Dim()]; p.domain == 0 && math.Abs(norm(row)-1) > 1e-12 {
				t.Fatalf("norm %v", norm(row))
			} else if p.domain != 0 && !(row[0] >= 0 && row[0] < float64(p.domain) && row[0] == math.Trunc(row[0])) {
				t.Fatalf("value %v", row[0])
			}
		}
	})
}

// anyLaw is any valid law with any noise.
func anyLaw(t *rapid.T) schemas.Problem {
	p := schemas.Problem{Class: rapid.SampledFrom([]string{"thresholds", "points", "intervals", "halfspace"}).Draw(t, "class")}
	p.Distribution = rapid.SampledFrom(lawsOf(p.Class)).Draw(t, "distribution")
	if p.Class == "halfspace" {
		p.Dim = rapid.IntRange(2, 40).Draw(t, "d")
		p.Margin = rapid.Float64Range(1e-9, 1-1e-9).Draw(t, "margin")
		p.Test = rapid.IntRange(1, 100).Draw(t, "test")
	} else {
		p.Domain = rapid.Uint64Range(4, 1<<40).Draw(t, "domain")
	}
	if p.Distribution == "needle" {
		p.Mass = rapid.Float64Range(1e-9, 1./3).Draw(t, "mass")
	}
	if p.Noise.Kind = rapid.SampledFrom([]string{"none", "random", "adversarial"}).Draw(t, "noise"); p.Noise.Kind != "none" {
		p.Noise.Rate = rapid.Float64Range(0, 0.49).Draw(t, "rate")
	}
	return p
}

// checkCounts compares counts with probabilities by Pearson's statistic, five standard deviations wide.
func checkCounts(t *testing.T, counts, want []float64) {
	t.Helper()
	n, chi := 0.0, 0.0
	for _, c := range counts {
		n += c
	}
	for k, w := range want {
		chi += (counts[k] - n*w) * (counts[k] - n*w) / (n * w)
	}
	df := float64(len(want) - 1)
	if chi > df+5*math.Sqrt(2*max(df, 1))+5 {
		t.Errorf("chi-square %.1f with %v degrees of freedom: counts %v, want shares %v", chi, df, counts, want)
	}
}

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

// orthogonalTo is some unit vector orthogonal to u.
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
