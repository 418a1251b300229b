package prior

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/shatterlab/shatter/pipeline/problem/distribution"
	"github.com/shatterlab/shatter/schemas"
)

// The error at an angle agrees with the share of the points of the distribution that such a
// normal mislabels.
func TestErrorAtAnAngle(t *testing.T) {
	const draws = 20_000
	for _, name := range []string{"iso", "iso-fixed", "ball-margin"} {
		l := distribution.Lookup(name)
		for _, dim := range []int{3, 4, 10} {
			for _, tau := range []float64{0.01, 0.2} {
				p := schemas.Problem{Class: "halfspace", Distribution: name, Dim: dim, Margin: tau, Target: "random"}
				s, r := distribution.Open(&p, "").Sampler(), rand.New(rand.NewPCG(uint64(dim), 1))
				s.Begin(r)
				u := s.Target().(*distribution.Plane).Normal
				w := make([]float64, dim) // orthogonal to u
				(&distribution.Plane{Normal: u}).Draw(r, w)
				x, y := make([]float64, draws*dim), make([]float64, draws)
				s.Draw(r, x, y)
				errorAt := evenError(dim, func(v float64) float64 { return l.MarginAt(dim, tau, v) })
				for _, angle := range []float64{0.1, 0.4, 1.2} {
					wrong := 0
					for i := range y {
						along := 0.0
						for j, v := range x[i*dim : (i+1)*dim] {
							along += v * (math.Cos(angle)*u[j] + math.Sin(angle)*w[j])
						}
						if along*y[i] < 0 {
							wrong++
						}
					}
					got, want := errorAt(angle), float64(wrong)/draws
					if math.Abs(got-want) > 4.5*math.Sqrt(got*(1-got)/draws)+0.001 {
						t.Errorf(
							"%s, d %d, margin %v: error %v at the angle %v, want %v",
							name,
							dim,
							tau,
							got,
							angle,
							want,
						)
					}
				}
			}
		}
	}
}

// In the plane the error of a normal at the largest allowed angle equals the allowed error,
// unless all margins are equal: there the error jumps from 0 to 1/2.
func TestAngleInThePlane(t *testing.T) {
	const draws, alpha = 100_000, 0.1
	for _, name := range []string{"iso", "ball-margin"} {
		for _, tau := range []float64{0.01, 0.2} {
			p := schemas.Problem{Class: "halfspace", Distribution: name, Dim: 2, Margin: tau, Target: "random"}
			angle := planarAngle(
				func(v float64) float64 { return distribution.Lookup(name).MarginAt(2, tau, v) },
				Goal{Alpha: alpha}.allows,
			)
			s, r := distribution.Open(&p, "").Sampler(), rand.New(rand.NewPCG(5, 1))
			s.Begin(r)
			u := s.Target().(*distribution.Plane).Normal
			x, y := make([]float64, draws*2), make([]float64, draws)
			s.Draw(r, x, y)
			wrong, c, d := 0, math.Cos(angle), math.Sin(angle)
			for i := range y {
				if (x[2*i]*(c*u[0]-d*u[1])+x[2*i+1]*(c*u[1]+d*u[0]))*y[i] < 0 {
					wrong++
				}
			}
			if got := float64(wrong) / draws; math.Abs(got-alpha) > 0.004 {
				t.Errorf("%s, margin %v: error %v at the angle %v, want %v", name, tau, got, angle, alpha)
			}
		}
	}
}

// With a negligible margin, points are uniform on the sphere, and the error is the angle over pi.
func TestNoMargin(t *testing.T) {
	for _, dim := range []int{1, 2, 3, 20} {
		p := schemas.Problem{
			Class: "halfspace", Distribution: "ball-margin", Dim: dim, Margin: 1e-9, Target: "random",
		}
		got, known := Success(&p, "", Goal{Alpha: 0.1})
		want := map[int]float64{1: 0.5, 2: 0.1, 3: (1 - math.Cos(math.Pi/10)) / 2}[dim]
		if want == 0 {
			const bins = 1 << 16 // the density of the angle is proportional to sin^(d-2)
			whole := 0.0
			for i := range bins {
				angle := (float64(i) + 0.5) * math.Pi / bins
				mass := math.Pow(math.Sin(angle), float64(dim-2))
				if whole += mass; angle <= 0.1*math.Pi {
					want += mass
				}
			}
			want /= whole
		}
		if !known || math.Abs(got/want-1) > 0.01 {
			t.Errorf("d %d: %v, %v, want %v", dim, got, known, want)
		}
	}
}

// Known and unknown probabilities.
func TestSuccess(t *testing.T) {
	uniform := schemas.Problem{Class: "thresholds", Domain: 1000, Distribution: "uniform", Target: "random"}
	with := func(change func(p *schemas.Problem)) schemas.Problem {
		p := uniform
		change(&p)
		return p
	}
	for i, c := range []struct {
		p     schemas.Problem
		goal  Goal
		want  float64
		known bool
	}{
		{uniform, Goal{Alpha: 0.1}, 201. / 1001, true},
		{uniform, Goal{Reference: 0.05, Alpha: 0.05}, 201. / 1001, true},
		{with(func(p *schemas.Problem) { p.Target = "uniform" }), Goal{Alpha: 0.1}, 201. / 1001, true},
		{with(func(p *schemas.Problem) { p.Target = "middle" }), Goal{Alpha: 0.1}, 1, true},
		{with(func(p *schemas.Problem) { p.Target = "17" }), Goal{Alpha: 0.1}, 1, true},
		{with(func(p *schemas.Problem) { p.Distribution, p.Mass, p.Target = "needle", 0.1, "middle" }),
			Goal{Alpha: 0.1}, 1, true},
		{with(func(p *schemas.Problem) { p.Target, p.Distribution = "", "" }), Goal{Alpha: 0.1}, 0, false},
		{schemas.Problem{Class: "halfspace", Distribution: "skew", Dim: 3, Margin: 0.1, Target: "random"},
			Goal{Alpha: 0.1}, 0, false},
		{schemas.Problem{Class: "conjunctions", Distribution: "uniform", Dim: 10, Target: "random", Literals: 3},
			Goal{Alpha: 0.125},
			1, true},
		{schemas.Problem{Class: "matrix", Distribution: "uniform", Domain: 2, Target: "random"},
			Goal{Alpha: 0.1}, 1. / 3, true},
	} {
		matrix := ""
		if c.p.Class == "matrix" {
			matrix = "000111"
		}
		got, known := Success(&c.p, matrix, c.goal)
		if known != c.known || math.Abs(got-c.want) > 1e-12 {
			t.Errorf("case %d: %v, %v, want %v, %v", i, got, known, c.want, c.known)
		}
	}
}

// No function of the points reaches more targets than Limit states.
func TestLimit(t *testing.T) {
	const points = 6
	r := rand.New(rand.NewPCG(3, 3))
	for range 30 {
		rows := map[int]bool{}
		for len(rows) < 2+r.IntN(6) {
			rows[r.IntN(1<<points)] = true
		}
		matrix := ""
		for row := range rows {
			matrix += fmt.Sprintf("%0*b", points, row)
		}
		p := schemas.Problem{Class: "matrix", Distribution: "uniform", Domain: points, Target: "random"}
		for _, alpha := range []float64{0.05, 0.17, 0.34} {
			most := 0
			for f := range 1 << points {
				near := 0
				for row := range rows {
					if float64(bits.OnesCount(uint(f^row)))/points <= alpha {
						near++
					}
				}
				most = max(most, near)
			}
			limit, known := Limit(&p, matrix, Goal{Alpha: alpha})
			if share := float64(most) / float64(len(rows)); !known || share > limit+1e-12 {
				t.Fatalf("matrix %s, alpha %v: a function reaches %v, limit %v", matrix, alpha, share, limit)
			}
		}
	}
	for _, p := range []schemas.Problem{
		{Class: "halfspace", Distribution: "ball-margin", Dim: 3, Margin: 0.1, Target: "random"},
		{Class: "thresholds", Domain: 1000, Distribution: "uniform", Target: "middle"},
		{Class: "rectangles", Domain: 1000, Dim: 3, Distribution: "uniform", Target: "random"},
	} {
		if limit, known := Limit(&p, "", Goal{Alpha: 0.1}); known {
			t.Errorf("%+v: limit %v", p, limit)
		}
	}
}
