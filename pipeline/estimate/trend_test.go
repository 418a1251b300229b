package estimate

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// seeded returns the words of the generator for each use of randomness.
func seeded(key [32]byte, n int64, resample int) (hi, lo uint64) {
	return uint64(key[0])<<8 | uint64(key[1]), uint64(n)<<32 | uint64(resample)
}

// observe resamples cells whose estimates are y at x.
func observe(x, y []float64, cells []Repeated, times int) Observations {
	theory := make([]float64, len(x))
	return Observations{X: x, Y: y, Theory: theory, Resamples: Resample(cells, times, seeded)}
}

// means returns cells whose repetitions have the given values, and their mean values. Cells with
// equal share have the same data.
func means(values [][]float64, share func(i int) byte) (cells []Repeated, y []float64) {
	for i, v := range values {
		cells = append(cells, Repeated{
			Data: [32]byte{share(i)}, Own: [32]byte{1, byte(i)},
			Sizes: []Repetitions{{N: 10, Count: len(v), Values: v}},
		})
		sum := 0.0
		for _, x := range v {
			sum += x
		}
		y = append(y, sum/float64(len(v)))
	}
	return cells, y
}

func alone(i int) byte  { return byte(i) }
func together(int) byte { return 0 }

func close(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within*math.Abs(want)) {
		t.Errorf("%s: got %v, want %v within %v", what, got, want, within)
	}
}

// TestSlopesOfTheNeedleTable checks the published table of the exponential mechanism on the
// needle: n* = 22.8 ln X + c at epsilon 1, and slope 204.1 at epsilon 0.1. On the log-log
// scale the additive constant would look like a small exponent.
func TestSlopesOfTheNeedleTable(t *testing.T) {
	for _, c := range []struct {
		sizes []float64
		slope float64
	}{
		{[]float64{1155, 1734, 2867, 3999, 5131, 6262}, 204.1},
		{[]float64{251, 376, 619, 859, 1099, 1337}, 43.3},
		{[]float64{138, 205, 334, 461, 586, 710}, 22.8},
		{[]float64{82, 119, 189, 257, 323, 388}, 12.1},
	} {
		var x []float64
		again := make([][]float64, len(c.sizes))
		for i, bits := range []float64{4, 8, 16, 24, 32, 40} {
			x = append(x, math.Exp2(bits))
			again[i] = []float64{c.sizes[i], c.sizes[i], c.sizes[i]}
		}
		got := FitTrend(Observations{X: x, Y: c.sizes, Theory: c.sizes, Resamples: again}, LogScale, 0.05)
		if math.Abs(got.Slope-c.slope) > 0.015*c.slope || got.Theory != got.Slope ||
			!(got.Error > 0 && got.Error < c.slope/100) || got.Reason == "" {
			t.Errorf("%+v, want the slope %v", got, c.slope)
		}
	}
}

// TestTrendOnEachScale checks that y = c x^k is a straight line of slope k on log-log, and the
// corresponding lines on the other scales.
func TestTrendOnEachScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slope, intercept := rapid.Float64Range(-3, 3).Draw(t, "slope"), rapid.Float64Range(-3, 3).Draw(t, "intercept")
		scale := rapid.SampledFrom(Scales()).Draw(t, "scale")
		var o Observations
		for i := range rapid.IntRange(3, 6).Draw(t, "cells") {
			x := float64(i+1) * 1.5
			y := scale.At(x, intercept, slope)
			o.X, o.Y, o.Theory = append(o.X, x), append(o.Y, y), append(o.Theory, y)
			o.Resamples = append(o.Resamples, []float64{y, y})
		}
		got := FitTrend(o, scale, 0.05)
		for _, pair := range [][2]float64{
			{got.Slope, slope}, {got.Intercept, intercept}, {got.Theory, slope}, {got.Low, slope}, {got.High, slope},
		} {
			if math.Abs(pair[0]-pair[1]) > 1e-6 {
				t.Fatalf("%+v, want slope %v, intercept %v", got, slope, intercept)
			}
		}
	})
}

// TestBootstrapOfIndependentCells checks that the standard error of cells without shared data is
// that of weighted least squares.
func TestBootstrapOfIndependentCells(t *testing.T) {
	const repetitions, times = 400, 1000
	r := rand.New(rand.NewPCG(1, 2))
	x, scatter := []float64{1, 2, 3, 4, 6}, []float64{1, 3, 2, 5, 4}
	values := make([][]float64, len(x))
	se := make([]float64, len(x))
	for i := range x {
		for range repetitions {
			values[i] = append(values[i], 10*x[i]+scatter[i]*r.NormFloat64())
		}
		se[i] = deviation(values[i]) / math.Sqrt(repetitions)
	}
	cells, y := means(values, alone)
	got, want := FitTrend(observe(x, y, cells, times), LinearScale, 0.05), FitLine(x, y, se)
	t.Logf("%+v, least squares %+v", got, want)
	close(t, "slope", got.Slope, want.Slope, 1e-3)
	close(t, "standard error", got.Error, want.SlopeError*want.Inflation, 0.06)
	close(t, "chi square", got.ChiSquare, want.ChiSquare, 0.15)
	if got.Resamples != times || got.Reason != "" || got.Low >= got.Slope || got.High <= got.Slope {
		t.Errorf("%+v", got)
	}
	again := FitTrend(observe(x, y, cells, times), LinearScale, 0.05)
	if got.Theory = again.Theory; got != again {
		t.Errorf("the same trials give %+v and %+v", got, again)
	}
}

// TestBootstrapOfSharedData checks cells that share their data: a common shift of all cells does
// not move the slope, and opposite shifts move it more.
func TestBootstrapOfSharedData(t *testing.T) {
	const repetitions, times = 400, 1000
	r := rand.New(rand.NewPCG(3, 4))
	x := []float64{1, 2, 3}
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
		cells, y := means([][]float64{cell(1, factors[0]), cell(2, factors[1]), cell(3, factors[2])}, share)
		return FitTrend(observe(x, y, cells, times), LinearScale, 0.05).Error
	}
	// The standard error of (y3 - y1)/2 with independent errors.
	analytic := deviation(noise) / math.Sqrt(repetitions) / math.Sqrt2
	close(t, "nothing shared", slope(alone, 1, 1, 1), analytic, 0.08)
	if got := slope(together, 1, 1, 1); got > 1e-9 {
		t.Errorf("equal errors: standard error %v", got)
	}
	close(t, "opposite errors", slope(together, -1, 1e-3, 1), analytic*math.Sqrt2, 0.08)
}

// TestBootstrapOfSampleSizes checks that the bootstrap of n* agrees with the scatter of n* over
// independent searches.
func TestBootstrapOfSampleSizes(t *testing.T) {
	const searches, times = 80, 100
	l := exponentialCurve(20, 0.005)
	var estimates, errors []float64
	for seed := range uint64(searches) {
		points := l.world(seed).solve(t, usual()).Points
		m := FitModel(points, 0.9, 0.05)
		if m.Reason != "" {
			continue
		}
		estimates = append(estimates, math.Log(m.N))
		if seed%10 == 0 {
			again := Resample([]Repeated{l.repeated(seed, points)}, times, seeded)[0]
			for i := range again {
				again[i] = math.Log(again[i])
			}
			errors = append(errors, deviation(again))
		}
	}
	slices.Sort(errors)
	got, want := errors[len(errors)/2], deviation(estimates)
	t.Logf("%d searches: bootstrap %v, deviation %v", len(estimates), got, want)
	close(t, "median standard error", got, want, 0.3)
}

// repeated returns the trials behind points.
func (l rateCurve) repeated(seed uint64, points []Point) Repeated {
	c := Repeated{Data: [32]byte{byte(seed), byte(seed >> 8)}, Target: 0.9}
	for _, p := range points {
		r := Repetitions{N: p.N, Count: p.Consumed, Success: make([]uint64, (p.Consumed+63)/64)}
		for rep := range p.Consumed {
			if l.world(seed).outcome(p.N, rep) == Success {
				r.Success[rep/64] |= 1 << (rep % 64)
			}
		}
		c.Sizes = append(c.Sizes, r)
	}
	return c
}

// TestResampleShares checks that two cells with the same trials have the same n* in each
// resample, that a cell which consumed more uses the same draw, and that a bracket yields sizes
// inside it.
func TestResampleShares(t *testing.T) {
	l := exponentialCurve(20, 0.005)
	find := usual()
	find.Within = 1.05 // many trials, compared with 16 more
	points := l.world(5).solve(t, find).Points
	longer := slices.Clone(points)
	for i := range longer {
		longer[i].Consumed += 16
	}
	a, b, c := l.repeated(5, points), l.repeated(5, points), l.repeated(5, longer)
	d := Repeated{Own: [32]byte{9}, Low: 100, High: 150}
	got := Resample([]Repeated{a, b, d}, 50, seeded)
	if !slices.Equal(got[0], got[1]) {
		t.Errorf("equal trials:\n%v\n%v", got[0], got[1])
	}
	for _, n := range got[2] {
		if n < 100 || n > 150 {
			t.Errorf("%v is outside the bracket", n)
		}
	}
	both := Resample([]Repeated{a, c}, 200, seeded)
	var uu, uv, vv float64
	for i := range both[0] {
		u, v := math.Log(both[0][i]/1060), math.Log(both[1][i]/1060)
		uu, uv, vv = uu+u*u, uv+u*v, vv+v*v
	}
	if uv < 0.6*math.Sqrt(uu*vv) {
		t.Errorf("a cell with 16 more trials of each size goes along with a correlation of %v", uv/math.Sqrt(uu*vv))
	}
}

func TestTrendsThatAreNone(t *testing.T) {
	nan := math.NaN()
	fit := func(x, y []float64, scale Scale, again ...[]float64) Trend {
		return FitTrend(Observations{X: x, Y: y, Theory: y, Resamples: again}, scale, 0.05)
	}
	for _, c := range []struct {
		name          string
		got           Trend
		reason        string
		slope, stands bool // there is a slope, there is a standard error
	}{
		{"nothing", fit(nil, nil, LogScale), "fewer than two", false, false},
		{"one place", fit([]float64{2, 2}, []float64{1, 3}, LogScale, []float64{1, 2}, []float64{1, 2}),
			"fewer than two", false, false},
		{"two places", fit([]float64{1, 2}, []float64{1, 3}, LogScale, []float64{1, 2}, []float64{1, 2}),
			"two places", true, false},
		{"no logarithm of y", fit([]float64{1, 2, 3}, []float64{1, -3, 1}, LogLogScale, nil, nil, nil),
			"-3 at 2", false, false},
		{"no logarithm of x", fit([]float64{0, 2, 3}, []float64{1, 3, 1}, LogScale, nil, nil, nil), "1 at 0", false, false},
		{"resamples without estimates", fit([]float64{1, 2, 3}, []float64{1, 3, 1}, LinearScale,
			[]float64{1, nan, 1, nan, 3, nan}, []float64{nan, 1, 1, 1, 1, 2}, []float64{1, 2, 3, 4, 5, 6}),
			"only 2 resamples", true, false},
		{"no scatter", fit([]float64{1, 2, 3}, []float64{1, 3, 2}, LinearScale,
			[]float64{1, 1}, []float64{3, 3}, []float64{2, 2}), "do not scatter", true, true},
	} {
		if !strings.Contains(c.got.Reason, c.reason) ||
			math.IsNaN(c.got.Slope) == c.slope || math.IsNaN(c.got.Error) == c.stands {
			t.Errorf("%s: %+v, want the reason %q", c.name, c.got, c.reason)
		}
	}
}

// TestVerdicts checks how often cells on a line are called not linear, how often cells on a
// parabola are, and the verdicts on claims.
func TestVerdicts(t *testing.T) {
	const fits, draws = 400, 200
	r := rand.New(rand.NewPCG(5, 6))
	judge := func(square float64) (bent, rejected, falsely int) {
		for range fits {
			var o Observations
			for _, x := range []float64{1, 2, 3, 4, 5, 6} {
				y := 3*x + float64(square*x*x) + r.NormFloat64()
				again := make([]float64, draws)
				for i := range again {
					again[i] = y + r.NormFloat64()
				}
				o.X, o.Y, o.Theory, o.Resamples = append(o.X, x), append(o.Y, y), append(o.Theory, y), append(o.Resamples, again)
			}
			trend := FitTrend(o, LinearScale, 0.05)
			switch {
			case trend.Line == NotLinear:
				bent++
				if v := trend.Verdict(0); v != "none: not linear" {
					t.Fatalf("verdict %q on a bent line", v)
				}
			case trend.Verdict(0) == "rejected at 95 %":
				rejected++
			}
			if trend.Verdict(3) == "rejected at 95 %" {
				falsely++
			}
		}
		return bent, rejected, falsely
	}
	bent, rejected, falsely := judge(0)
	t.Logf("of %d lines %d not linear, the claim 0 rejected in %d, the true one in %d", fits, bent, rejected, falsely)
	if bent < fits/50 || bent > fits/10 || rejected < fits-bent-5 || falsely > fits/10 {
		t.Errorf("of %d lines %d are not linear; %d reject 0, %d the truth", fits, bent, rejected, falsely)
	}
	if bent, _, _ := judge(1); bent < fits*9/10 {
		t.Errorf("of %d parabolas only %d are not linear", fits, bent)
	}
	if v := (Trend{Low: math.NaN()}).Verdict(1); v != "" {
		t.Errorf("verdict %q without an interval", v)
	}
}
