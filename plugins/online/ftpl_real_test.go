package online

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

// realPlanOf returns the plan of online/ftpl-real for a problem, with its defaults changed by set.
func realPlanOf(p algo.Problem, rounds int, set func(p *ftplRealParams)) (*realPlan, error) {
	known := new(sites)
	s := setting(ftplReal(known), p, rounds)
	set(&s.Params)
	return planReal(known, &s)
}

// Each round plays the best of all functions under the noise of the round, and the reports are
// correct. The test compares both with an enumeration with the same random numbers.
func TestRealByEnumeration(t *testing.T) {
	const rounds = 60
	for _, c := range []struct {
		p   algo.Problem
		set func(p *ftplRealParams)
	}{
		{algo.Problem{Class: "parities", Dim: 3}, func(p *ftplRealParams) { p.Levels = 3 }},
		{algo.Problem{Class: "thresholds", Domain: 6}, func(p *ftplRealParams) { p.Loss, p.Levels = finite.AbsoluteLoss, 4 }},
		{algo.Problem{Class: "points", Domain: 5}, func(p *ftplRealParams) {
			p.Perturbation, p.Schedule, p.Eta = plainPerturbation, fixedSchedule, 1.5
		}},
		{algo.Problem{Class: "intervals", Domain: 4}, func(p *ftplRealParams) { p.Schedule, p.Eta = fixedSchedule, 0.5 }},
	} {
		p, err := realPlanOf(c.p, rounds, c.set)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		l, err := p.start(rand.New(rand.NewPCG(1, 2)), func(name string, v float64) { got[name] = v }, true)
		if err != nil {
			t.Fatal(err)
		}
		r, twin := rand.New(rand.NewPCG(3, 4)), rand.New(rand.NewPCG(1, 2))
		all := functions(p)
		losses := make([]float64, len(all))
		total, moved, changed := 0.0, 0.0, 0.0
		for range rounds {
			noise := perturbations(p, all, twin)
			x, y := drawRound(p, r)
			f := lowest(losses, noise)
			var answer [1]float64
			if err := l.Predict(context.Background(), algo.NewData(x, len(x), nil), answer[:]); err != nil {
				t.Fatal(err)
			}
			if math.Abs(answer[0]-all[f].at(x)) > 1e-12 {
				t.Fatalf("%v: answer %v, want %v", c.p.Class, answer[0], all[f].at(x))
			}
			for i, g := range all {
				losses[i] += p.real.Of(g.at(x), y)
			}
			own := p.real.Of(all[f].at(x), y)
			total += own
			if g := lowest(losses, noise); g != f {
				moved += own - p.real.Of(all[g].at(x), y)
				changed++
			}
			if err := l.Observe(context.Background(), algo.NewData(x, len(x), []float64{y}), []float64{y}); err != nil {
				t.Fatal(err)
			}
		}
		best := losses[lowest(losses, make([]float64, len(losses)))]
		for name, want := range map[string]float64{
			classLossMetric: best, classRegretMetric: total - best, stabilityMetric: moved / rounds,
			changedMetric: changed / rounds, oracleCallsMetric: 1, "eta": p.eta,
			oracleInputsMetric: float64(p.site.separator.Len()) + (rounds-1)/2.0,
		} {
			if math.Abs(got[name]-want) > 1e-9 {
				t.Errorf("%s: %s %v, want %v", c.p.Class, name, got[name], want)
			}
		}
		if _, labels := got[algo.ProvedRegret]; labels != (p.real.Loss == finite.AbsoluteLoss) {
			t.Errorf("%s: bounds of the regret of labels: %v", c.p.Class, labels)
		}
		if proved, ok := got[provedClassMetric]; ok != p.lifted || ok && got[classRegretMetric] > proved {
			t.Errorf("%s: regret %v, proved %v", c.p.Class, got[classRegretMetric], proved)
		}
	}
}

// functions lists the functions of a plan.
func functions(p *realPlan) (list []function) {
	for i := range p.site.class.Size().Uint64() {
		for k := 1; k <= p.real.Levels; k++ {
			list = append(list, function{p.site.class.Member(i), float64(k) / float64(p.real.Levels)})
		}
	}
	return list
}

// perturbations draws the noise that a round adds to the losses of the functions.
func perturbations(p *realPlan, all []function, r *rand.Rand) []float64 {
	z, extra := p.site.separator, 0.0
	c, labels := make([]float64, z.Len()), make([]float64, z.Len())
	normals(p.eta/math.Sqrt(float64(z.Len())))(c, r)
	if p.lifted {
		extra = p.eta * r.NormFloat64()
	}
	out := make([]float64, len(all))
	for i, g := range all {
		g.f.Labels(z.Points, labels)
		for j, label := range labels {
			out[i] += g.c * label * c[j]
		}
		out[i] += extra * math.Sqrt(1-g.c*g.c)
	}
	return out
}

func lowest(losses, noise []float64) (best int) {
	for i := range losses {
		if losses[i]+noise[i] < losses[best]+noise[best]-1e-12 {
			best = i
		}
	}
	return best
}

// drawRound draws a uniform point and a label that is mostly -1.
func drawRound(p *realPlan, r *rand.Rand) (x []float64, y float64) {
	x, y = make([]float64, p.site.class.Dim()), -1
	for i := range x {
		x[i] = float64(r.Uint64N(max(2, p.site.Spec.Domain)))
	}
	if r.IntN(5) == 0 {
		y = 1
	}
	return x, y
}

// With one level the functions are the hypotheses, and the game equals that of online/ftpl-gaussian
// at the same eta and separation: the same bound and the same mean regret.
func TestRealWithOneLevel(t *testing.T) {
	problem := algo.Problem{Class: "parities", Dim: 4}
	p, err := realPlanOf(problem, 200, func(p *ftplRealParams) { p.Loss, p.Levels = finite.AbsoluteLoss, 1 })
	if err != nil {
		t.Fatal(err)
	}
	q, err := gaussianPlan(problem, 200, func(*ftplGaussianParams) {})
	if err != nil {
		t.Fatal(err)
	}
	if eta := q.schedule().scale(); !near(p.eta, eta, 1e-9) || !near(p.bounds()[1].Value, q.bounds[0].Value, 1e-9) {
		t.Errorf("eta %v, want %v; bounds %+v, want %+v", p.eta, eta, p.bounds()[1], q.bounds[0])
	}
}

func TestRealRefusals(t *testing.T) {
	parities := algo.Problem{Class: "parities", Dim: 4}
	for _, c := range []struct {
		p    algo.Problem
		set  func(p *ftplRealParams)
		want string
	}{
		{parities, func(p *ftplRealParams) { p.Levels = 1 }, "loss squared is the number of mistakes"},
		{parities, func(p *ftplRealParams) { p.Perturbation = plainPerturbation }, "no eta is proved with perturbation"},
		{parities, func(p *ftplRealParams) { p.Eta = 3 }, "eta 3 is not used"},
		{algo.Problem{Class: "matrix", Domain: 2, Matrix: "01"}, func(*ftplRealParams) {}, "use a larger class"},
		{algo.Problem{Class: "halfspace", Dim: 2}, func(*ftplRealParams) {}, "use a finite class"},
	} {
		if _, err := realPlanOf(c.p, 10, c.set); !algo.IsInvalid(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
