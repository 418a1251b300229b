package estimate

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func form(t interface{ Fatal(...any) }, name string) Form {
	f, ok := FormNamed(name)
	if !ok {
		t.Fatal("no form " + name)
	}
	return f
}

func close(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within*math.Abs(want)) {
		t.Errorf("%s: got %v, want %v within %v", what, got, want, within)
	}
}

// line returns the terms 1 and x of cells.
func line(xs ...float64) (x [][]float64) {
	for _, v := range xs {
		x = append(x, []float64{v, 1})
	}
	return x
}

// means returns observations whose repetitions have the given values. Cells with equal share have
// the same data.
func means(values [][]float64, share func(i int) byte) (cells []*Observation) {
	for i, v := range values {
		o := &Observation{Data: [32]byte{share(i)}, Parts: []Repetitions{{N: 10, Count: len(v), Values: v}}}
		for _, x := range v {
			o.Y += x / float64(len(v))
		}
		o.Error = o.Parts[0].MeanError()
		cells = append(cells, o)
	}
	return cells
}

func alone(i int) byte  { return byte(i) }
func together(int) byte { return 0 }

// TestRegressionFindsEachForm checks that exact values of a form give its coefficients.
func TestRegressionFindsEachForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom(Forms()).Draw(t, "form")
		terms := rapid.IntRange(1, 3).Draw(t, "terms")
		want := rapid.SliceOfN(rapid.Float64Range(-2, 2), terms, terms).Draw(t, "coefficients")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		var x [][]float64
		var cells []*Observation
		var theory []float64
		for range terms + 3 {
			row, eta := make([]float64, terms), 0.0
			for k := range row {
				row[k] = 0.5 + 3*r.Float64()
				eta += want[k] * f.Place(row[k])
			}
			if f.LogY {
				eta = 5 * math.Exp(eta)
			}
			x, theory = append(x, row), append(theory, 2*eta)
			cells = append(cells, &Observation{Y: eta, Error: 0.1 + r.Float64(), Relative: f.LogY})
		}
		got := Regress(f, x, terms, cells, theory, 0.05)
		if f.LogY && math.Abs(got.Constant-5) > 1e-6 {
			t.Fatalf("%+v, want the constant 5", got)
		}
		for k, c := range got.Coefficients {
			factor := 1.0
			if !f.LogY {
				factor = 2
			}
			if math.Abs(c.Value-want[k]) > 1e-6 || math.Abs(c.Theory-factor*want[k]) > 1e-6 ||
				!(c.Low < want[k] && want[k] < c.High) || got.ChiSquare > 1e-6 {
				t.Fatalf("%+v, want %v", got, want)
			}
		}
	})
}

// TestJointIntervals checks the half-widths of the intervals of several terms, in standard errors:
// quantiles of the normal distribution, or of Student's if the repetitions do not scatter, at
// level/(2 terms), by Bonferroni. The values are from tables.
func TestJointIntervals(t *testing.T) {
	x := [][]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 0}, {0, 1, 1}, {1, 0, 1}}
	for _, c := range []struct {
		terms         int
		normal, freed float64
	}{{1, 1.959964, 2.570582}, {3, 2.393980, 4.856656}} { // 5 and 3 degrees of freedom
		for _, scatter := range []float64{1, 0} {
			var rows [][]float64
			var cells []*Observation
			for i, row := range x {
				rows = append(rows, row[:c.terms])
				cells = append(cells, &Observation{Y: float64(i * i), Error: scatter})
			}
			want := c.normal
			if scatter == 0 {
				want = c.freed
			}
			for _, k := range Regress(form(t, "sum"), rows, c.terms, cells, make([]float64, 6), 0.05).Coefficients {
				close(t, "half-width", (k.High-k.Low)/2/k.Error, want, 1e-6)
			}
		}
	}
}

// TestErrorsOfSharedData checks cells that share their data: a common shift of all cells does not
// move the slope, and opposite shifts move it more than independent ones.
func TestErrorsOfSharedData(t *testing.T) {
	const repetitions = 400
	r := rand.New(rand.NewPCG(3, 4))
	noise := make([]float64, repetitions)
	for i := range noise {
		noise[i] = r.NormFloat64()
	}
	cell := func(mean, factor float64) (v []float64) {
		for _, e := range noise {
			v = append(v, mean+factor*e)
		}
		return v
	}
	slope := func(share func(int) byte, factors ...float64) float64 {
		cells := means([][]float64{cell(1, factors[0]), cell(2, factors[1]), cell(3, factors[2])}, share)
		fit := Regress(form(t, "sum"), line(1, 2, 3), 2, cells, []float64{1, 2, 3}, 0.05)
		return fit.Coefficients[0].Error / fit.Inflation
	}
	// The standard error of (y3 - y1)/2 with independent errors.
	mean := Repetitions{Count: repetitions, Values: noise}
	analytic := mean.MeanError() / math.Sqrt2
	close(t, "nothing shared", slope(alone, 1, 1, 1), analytic, 1e-3)
	if got := slope(together, 1, 1, 1); got > 1e-9 {
		t.Errorf("equal errors: standard error %v", got)
	}
	close(t, "opposite errors", slope(together, -1, 1e-3, 1), analytic*math.Sqrt2, 1e-3)
}

// TestEffects checks the standard error of n* against the scatter of n* over independent searches,
// and the effect of single outcomes against fits of changed counts.
func TestEffects(t *testing.T) {
	l := exponentialCurve(20, 0.005)
	var estimates, errors []float64
	for seed := range uint64(80) {
		points := l.world(seed).solve(t, usual()).Points
		m := FitModel(points, 0.9, 0.05)
		if m.Reason != "" {
			continue
		}
		se, _ := Effects(points, 0.9)
		estimates, errors = append(estimates, math.Log(m.N)), append(errors, se)
	}
	points := []Point{
		{N: 100, Consumed: 4000, Successes: 2800}, {N: 200, Consumed: 4000, Successes: 3500},
		{N: 400, Consumed: 4000, Successes: 3820},
	}
	before := FitModel(points, 0.9, 0.05)
	_, effects := Effects(points, 0.9)
	for i := range points {
		points[i].Successes++
		close(t, "effect of a success", math.Log(FitModel(points, 0.9, 0.05).N/before.N), effects[i], 0.05)
		points[i].Successes--
	}
	slices.Sort(errors)
	mean, square := 0.0, 0.0
	for _, v := range estimates {
		mean += v / float64(len(estimates))
	}
	for _, v := range estimates {
		square += (v - mean) * (v - mean) / float64(len(estimates)-1)
	}
	t.Logf("%d searches: error %v, deviation %v", len(estimates), errors[len(errors)/2], math.Sqrt(square))
	close(t, "median standard error", errors[len(errors)/2], math.Sqrt(square), 0.3)
}

func TestRegressionsWithoutResult(t *testing.T) {
	fit := func(name string, x [][]float64, errors, y []float64) Regression {
		var cells []*Observation
		for i := range y {
			cells = append(cells, &Observation{Y: y[i], Error: errors[i]})
		}
		terms := 2
		if len(x) > 0 {
			terms = len(x[0])
		}
		return Regress(form(t, name), x, terms, cells, y, 0.05)
	}
	ones := []float64{1, 1, 1}
	for _, c := range []struct {
		name          string
		got           Regression
		reason        string
		value, stands bool // there is an estimate, there is a standard error
	}{
		{"nothing", fit("sum", nil, nil, nil), "no cell", false, false},
		{"one cell", fit("sum", line(2), ones, []float64{1}), "1 cell cannot determine 2", false, false},
		{"one place", fit("sum", line(2, 2), ones, []float64{1, 3}), "collinear", false, false},
		{"collinear", fit("sum", [][]float64{{1, 2}, {2, 4}, {3, 6}}, ones, ones), "collinear", false, false},
		{"two places", fit("sum", line(1, 2), ones, []float64{1, 3}), "as many coefficients as cells", true, true},
		{"two places without scatter", fit("sum", line(1, 2), []float64{0, 0}, []float64{1, 3}), "no standard error",
			true, false},
		{"no logarithm", fit("power", [][]float64{{1}, {2}, {3}}, ones, []float64{1, -3, 1}), "-3", false, false},
		{"no scatter", fit("sum", line(1, 2, 3), []float64{0, 0, 0}, []float64{1, 3, 2}), "do not scatter", true, true},
	} {
		first := c.got.Coefficients[0]
		if !strings.Contains(c.got.Reason, c.reason) ||
			math.IsNaN(first.Value) == c.value || math.IsNaN(first.Error) == c.stands {
			t.Errorf("%s: %+v, want the reason %q", c.name, c.got, c.reason)
		}
	}
}

// TestVerdicts checks how often a right form does not fit, how often a wrong one does, and the
// verdicts on claims.
func TestVerdicts(t *testing.T) {
	const fits = 400
	r := rand.New(rand.NewPCG(5, 6))
	judge := func(bend float64) (bent, rejected, falsely int) {
		for range fits {
			var cells []*Observation
			for _, x := range []float64{1, 2, 3, 4, 5, 6} {
				cells = append(cells, &Observation{Y: 3*x + bend*x*x + r.NormFloat64(), Error: 1})
			}
			fit := Regress(form(t, "sum"), line(1, 2, 3, 4, 5, 6), 2, cells, make([]float64, 6), 0.05)
			switch {
			case !fit.Fits():
				bent++
				if v := fit.Verdict(0, 0); v != "none: the model does not fit" {
					t.Fatalf("verdict %q on a wrong form", v)
				}
			case fit.Verdict(0, 0) == "rejected at 95 %":
				rejected++
			}
			if fit.Verdict(0, 3) == "rejected at 95 %" {
				falsely++
			}
		}
		return bent, rejected, falsely
	}
	bent, rejected, falsely := judge(0)
	t.Logf("of %d lines %d do not fit, the claim 0 is rejected in %d, the true one in %d", fits, bent, rejected, falsely)
	if bent < fits/50 || bent > fits/10 || rejected < fits-bent-5 || falsely > fits/15 {
		t.Errorf("of %d lines %d do not fit; %d reject 0, %d the truth", fits, bent, rejected, falsely)
	}
	if bent, _, _ := judge(1); bent < fits*9/10 {
		t.Errorf("of %d parabolas only %d do not fit", fits, bent)
	}
}
