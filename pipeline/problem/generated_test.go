package problem_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// uniformBits draws points of two bits; the target names the bit that is the label. A skew changes points.
func uniformBits(skew float64) problem.Source {
	return func(draws []problem.Draw) error {
		for _, d := range draws {
			bit := rand.New(rand.NewPCG(d.Target[0], d.Target[1])).IntN(2)
			r := rand.New(rand.NewPCG(d.Points[0], d.Points[1]))
			for i := range d.X {
				d.X[i] = float64(r.IntN(2)) + skew
			}
			for i := range d.Y {
				d.Y[i] = 2*d.X[2*i+bit] - 1
			}
		}
		return nil
	}
}

func openBits(t *testing.T) *problem.Problem {
	t.Helper()
	p := problem.Posed(schemas.Problem{Plugin: &schemas.Plugin{Name: "acme/bits"}}, &pluginv1.Posed{Domain: 2, Dim: 2})
	opened, err := problem.Open(p, "")
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

func streams(seed uint64) problem.Streams {
	at := func(i uint64) rand.Source { return rand.NewPCG(seed, i) }
	return problem.Streams{Target: at(1), Points: at(2), LabelNoise: at(3), TestPoints: at(4)}
}

// The evaluation points of a trial do not depend on how many of them are drawn at once.
func TestGeneratedPointsHaveNumbers(t *testing.T) {
	const points = 5000
	opened := openBits(t)
	draw := func(parts ...int) (x, y []float64) {
		d := opened.Drawer(points)
		d.From(uniformBits(0), uniformBits(0))
		x, y = make([]float64, 2*points), make([]float64, points)
		from := 0
		for _, to := range append(parts, points) {
			d.Begin(streams(7))
			d.Draw(from, x[2*from:2*to], y[from:to])
			from = to
		}
		if err := d.Err(); err != nil {
			t.Fatal(err)
		}
		return x, y
	}
	wholeX, wholeY := draw()
	for _, parts := range [][]int{{1}, {1023, 1024, 1025}, {40, 2000, 4999}} {
		if x, y := draw(parts...); !slices.Equal(x, wholeX) || !slices.Equal(y, wholeY) {
			t.Errorf("%v: other points", parts)
		}
	}
}

// Announced examples are those that are drawn without an announcement, in one call, also after an interruption.
func TestAnnouncedExamples(t *testing.T) {
	opened, calls := openBits(t), 0
	counted := func(draws []problem.Draw) error {
		calls++
		return uniformBits(0)(draws)
	}
	const trials, n, from, points = 7, 20, 1000, 1500 // the points are in three blocks
	draw := func(announced int) (x [][]float64) {
		d := opened.Drawer(0)
		d.From(counted)
		for seed := range uint64(announced) {
			d.Begin(streams(seed))
			d.AnnounceSample(n)
			d.AnnouncePoints(from, points)
		}
		for seed := range uint64(trials) {
			d.Begin(streams(seed))
			sample, tested, labels := make([]float64, 2*n), make([]float64, 2*points), make([]float64, points)
			d.Sample(n, sample, labels)
			d.Draw(from, tested, labels)
			x = append(x, sample, tested)
		}
		if err := d.Err(); err != nil {
			t.Fatal(err)
		}
		return x
	}
	want := draw(0)
	for announced, most := range map[int]int{trials: 1, 3: 1 + 4*(trials-3), trials + 2: 1} {
		calls = 0
		if got := draw(announced); !slices.EqualFunc(got, want, slices.Equal) || calls > most {
			t.Errorf("%d announced: other examples, or %d calls instead of %d", announced, calls, most)
		}
	}
}

// After an error, or a difference between sources, nothing more is drawn.
func TestGeneratedErrors(t *testing.T) {
	failure := errors.New("no more examples")
	opened := openBits(t)
	for want, sources := range map[string][]problem.Source{
		"no more examples":                      {func([]problem.Draw) error { return failure }},
		"which is not in 0..1":                  {uniformBits(0.5)},
		"acme/bits is not deterministic":        {uniformBits(0), uniformBits(1)},
		"acme/bits is not deterministic: two p": {uniformBits(0), uniformBits(0), uniformBits(1)},
	} {
		d := opened.Drawer(10)
		d.From(sources...)
		d.Begin(streams(1))
		d.Sample(20, make([]float64, 40), make([]float64, 20))
		d.Draw(0, make([]float64, 20), make([]float64, 10))
		if err := d.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A declaration that does not fit is refused.
func TestGeneratedDeclarations(t *testing.T) {
	half, third := 0.5, 1./3
	for _, test := range []struct {
		class  string
		domain uint64
		dim    uint32
		least  *float64
		noise  string
		want   string
	}{
		{"", 2, 3, &third, "", ""},
		{"halfspace", 0, 3, nil, "random", ""},
		{"thresholds", 64, 1, nil, "", ""},
		{"circles", 0, 2, nil, "", `declares the class "circles"`},
		{"thresholds-naturals", 0, 1, nil, "", `declares the class "thresholds-naturals"`},
		{"thresholds", 0, 1, nil, "", "do not fit the class thresholds"},
		{"thresholds", 64, 2, nil, "", "do not fit the class thresholds"},
		{"halfspace", 64, 2, nil, "", "do not fit the class halfspace"},
		{"", 1 << 41, 2, nil, "", "above 2^40"},
		{"", 0, 0, nil, "", "missing"},
		{"", 0, 2, &half, "", "least error 0.5"},
		{"", 0, 2, nil, "malicious", "malicious does not apply to a problem of a plugin"},
	} {
		p := schemas.Problem{Plugin: &schemas.Plugin{Name: "acme/p"}}
		p = problem.Posed(p, &pluginv1.Posed{
			Class: test.class, Domain: test.domain, Dim: test.dim, LeastError: test.least,
		})
		p.Noise.Kind = test.noise
		opened, err := problem.Open(p, "")
		if err != nil || test.want != "" {
			if err == nil || test.want == "" || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%+v: %v", test, err)
			}
			continue
		}
		if again, err := problem.Open(opened.Resolved(), ""); err != nil || again.Dim() != opened.Dim() {
			t.Errorf("%+v: not resolved: %v", test, err)
		}
	}
}
