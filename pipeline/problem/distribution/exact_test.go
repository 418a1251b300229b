package distribution

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

// Errors by formula equal those of an enumeration of all points of a small domain.
func TestExactErrorsByEnumeration(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	whole := func(n int) float64 { return float64(r.IntN(n)) }
	kinds := map[string]func(p schemas.Problem) (string, []float64){
		"thresholds": func(p schemas.Problem) (string, []float64) {
			return concept.KindThreshold, []float64{whole(int(p.Domain)+3) - 1 + 0.5*whole(2)}
		},
		"points": func(p schemas.Problem) (string, []float64) {
			return concept.KindPoint, []float64{whole(int(p.Domain)+2) - 1}
		},
		"intervals": func(p schemas.Problem) (string, []float64) {
			return concept.KindInterval, []float64{whole(int(p.Domain)) - 0.5*whole(2), whole(int(p.Domain) + 1)}
		},
		"rectangles": func(p schemas.Problem) (string, []float64) {
			var low, high []float64
			for range p.Dim {
				low, high = append(low, whole(int(p.Domain))), append(high, whole(int(p.Domain)+2))
			}
			return concept.KindRectangle, append(low, high...)
		},
		"stumps": func(p schemas.Problem) (string, []float64) {
			return concept.KindStump, []float64{whole(p.Dim), whole(int(p.Domain)+2) - 1, 2*whole(2) - 1}
		},
		"parities": func(p schemas.Problem) (string, []float64) {
			v := make([]float64, p.Dim)
			for i := range v {
				v[i] = whole(2)
			}
			return concept.KindParity, v
		},
		"conjunctions": func(p schemas.Problem) (string, []float64) {
			v := make([]float64, p.Dim)
			for i := range v {
				v[i] = whole(3) - 1
			}
			return concept.KindConjunction, v
		},
	}
	kinds[concept.MonotoneConjunctions] = func(p schemas.Problem) (string, []float64) {
		v := make([]float64, p.Dim)
		for i := range v {
			v[i] = whole(2)
		}
		return concept.KindConjunction, v
	}
	kinds[concept.Matrix] = func(schemas.Problem) (string, []float64) { return concept.KindRow, []float64{whole(4)} }
	problems := []schemas.Problem{
		{Class: concept.Matrix, Domain: 5, Distribution: "uniform", Target: "random"},
		{Class: "thresholds", Domain: 37, Distribution: "uniform", Target: "random"},
		{Class: "points", Domain: 9, Distribution: "uniform", Target: "random"},
		{Class: "intervals", Domain: 23, Distribution: "uniform", Target: "uniform"},
		{Class: "rectangles", Domain: 5, Dim: 3, Distribution: "uniform", Target: "uniform"},
		{Class: "stumps", Domain: 6, Dim: 3, Distribution: "uniform", Target: "uniform"},
		{Class: "parities", Dim: 4, Distribution: "uniform", Target: "uniform"},
		{Class: "conjunctions", Dim: 5, Distribution: "uniform", Target: "uniform"},
		{Class: concept.MonotoneConjunctions, Dim: 5, Distribution: "uniform", Target: "uniform"},
		{Class: "thresholds", Domain: 40, Distribution: "agnostic", BestError: 0.3, Target: "uniform"},
		{Class: "intervals", Domain: 41, Distribution: "agnostic", BestError: 0.2, Target: "random"},
	}
	for _, p := range problems {
		matrix := ""
		if p.Class == concept.Matrix {
			matrix = "00000" + "10110" + "01101" + "11011"
		}
		o := Open(&p, matrix)
		s, class := o.Sampler(), Spec(&p, matrix)
		declare := kinds[p.Class]
		for range 300 {
			s.Begin(r)
			kind, v := declare(p)
			if r.IntN(10) == 0 {
				kind, v = concept.KindConstant, []float64{2*whole(2) - 1}
			}
			h, err := concept.Declare(class, kind, v)
			if err != nil {
				t.Fatalf("%s: %v", p.Class, err)
			}
			got, ok := s.(Exact).Error(h)
			if !ok {
				t.Fatalf("%s: no formula for %s %v", p.Class, kind, v)
			}
			n := len(o.Support.X) / concept.Width(class)
			y, answers := make([]float64, n), make([]float64, n)
			s.Target().Labels(o.Support.X, y)
			h.Labels(o.Support.X, answers)
			want := 0.0
			for i := range y {
				if y[i] != answers[i] {
					want += 1 / float64(n)
				}
			}
			if math.Abs(got-want) > 1e-12 {
				t.Fatalf("%s %s: %s %v: error %v, by enumeration %v", p.Class, p.Distribution, kind, v, got, want)
			}
		}
	}
}

// Errors of halfspaces agree with errors measured on many points and with known values.
func TestExactErrorsOfHalfspaces(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const points = 100_000
	x, y, answers := make([]float64, points*12), make([]float64, points), make([]float64, points)
	for _, p := range []schemas.Problem{
		{Class: "halfspace", Dim: 2, Margin: 0.1, Distribution: "iso"},
		{Class: "halfspace", Dim: 3, Margin: 0.01, Distribution: "iso"},
		{Class: "halfspace", Dim: 12, Margin: 0.1, Distribution: "iso"},
		{Class: "halfspace", Dim: 5, Margin: 0.2, Distribution: "iso-fixed"},
		{Class: "halfspace", Dim: 2, Margin: 0.1, Distribution: "ball-margin"},
		{Class: "halfspace", Dim: 12, Margin: 0.2, Distribution: "ball-margin"},
		{Class: "halfspace", Dim: 3, Margin: 0.001, Distribution: "ball-margin"},
	} {
		p.Target = concept.RandomTarget
		s := Open(&p, "").Sampler()
		for range 4 {
			s.Begin(r)
			u := s.Target().(*Plane).Normal
			w := make([]float64, p.Dim+1)
			concept.Direction(r, w[:p.Dim])
			share := r.Float64() * 1.5
			for i := range u {
				w[i] = 7 * (u[i] + share*w[i])
			}
			h, err := concept.Declare(Spec(&p, ""), concept.KindHalfspace, w)
			if err != nil {
				t.Fatal(err)
			}
			got, ok := s.(Exact).Error(h)
			if !ok {
				t.Fatalf("%s: no formula", p.Distribution)
			}
			s.Draw(r, x[:points*p.Dim], y)
			h.Labels(x, answers)
			wrong := 0
			for i := range y {
				if y[i] != answers[i] {
					wrong++
				}
			}
			share = float64(wrong) / points
			if sd := math.Sqrt(max(got*(1-got), 1e-6) / points); math.Abs(got-share) > 5*sd {
				t.Errorf("%s d %d: error %.6f, on points %.6f", p.Distribution, p.Dim, got, share)
			}
		}
	}
}

// The series of errors has the stated precision, compared with direct integration.
func TestAngleErrorsArePrecise(t *testing.T) {
	for _, m := range []marginDistribution{
		{3, 0.001, func(f float64) float64 { return 0.001 * math.Cos(f) / (math.Sin(f) * math.Sin(f)) }},
		{10, 0.1, func(f float64) float64 { return 0.1 * math.Cos(f) / (math.Sin(f) * math.Sin(f)) }},
		{2, 0.05, func(float64) float64 { return 1 }},
		{50, 0.1, func(f float64) float64 { return math.Pow(math.Cos(f), 48) }},
		{4, 0.1, nil}, {2, 0.3, nil},
	} {
		e, total := newAngleErrors(m), 1.0
		if m.density != nil {
			total = integrate(m.density, e.from, math.Pi/2, false)
		}
		worst := 0.0
		for i := 1; i < 400; i++ {
			a := e.from + (math.Pi/2-e.from)*float64(i)/400
			worst = max(worst, math.Abs(e.at(a)-m.error(a, total)))
		}
		t.Logf("d %d tau %v: %d coefficients, off by %.2g", m.dim, m.tau, len(e.series), worst)
		if worst > 1e-9 && !(m.dim == 2 && m.density == nil) {
			t.Errorf("d %d tau %v: off by %v", m.dim, m.tau, worst)
		}
	}
}
