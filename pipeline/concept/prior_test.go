package concept

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/shatterlab/shatter/pipeline/numeric"
)

// allowed returns the errors that a goal of alpha above 0 allows.
func allowed(alpha float64) Allowed {
	return func(err float64) bool { return numeric.Within(err, 0, alpha) }
}

// everyMember lists the hypotheses of a class.
func everyMember(t *testing.T, s Spec) (all []Hypothesis) {
	t.Helper()
	c, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Size().Uint64() {
		all = append(all, c.(Finite).Member(i))
	}
	return all
}

// drawnTargets lists the targets of the distribution of a class, equally likely, as its
// documentation describes them.
func drawnTargets(t *testing.T, s Spec, distribution Drawn) (all []Hypothesis) {
	x := s.Domain
	switch {
	case s.Name == Intervals && !distribution.Uniform:
		for a := range x/2 + 1 {
			all = append(all, Interval(float64(a), float64(a+(x+1)/2-1)))
		}
	case s.Name == Stumps && !distribution.Uniform:
		for axis := range s.Dim {
			for cut := range x + 1 {
				all = append(all, Stump{s.Dim, axis, float64(cut), 1})
			}
		}
	case s.Name == Rectangles && !distribution.Uniform:
		side := uint64(math.Ceil(float64(x) * math.Pow(2, -1/float64(s.Dim))))
		all = []Hypothesis{Rectangle{}}
		for range s.Dim {
			var longer []Hypothesis
			for _, h := range all {
				for a := range x - side + 1 {
					on := Interval(float64(a), float64(a+side-1))
					longer = append(longer, append(append(Rectangle{}, h.(Rectangle)...), on))
				}
			}
			all = longer
		}
	case (s.Name == Conjunctions || s.Name == MonotoneConjunctions) && !distribution.Uniform:
		for _, h := range everyMember(t, s) {
			c := h.(Conjunction)
			if c.Ones&c.Zeros == 0 && popcount(c.Ones)+popcount(c.Zeros) == distribution.Literals {
				all = append(all, h)
			}
		}
	default:
		return everyMember(t, s)
	}
	return all
}

func popcount(v uint64) (n int) {
	for ; v > 0; v &= v - 1 {
		n++
	}
	return n
}

// labelsAt returns the labels of hypotheses at all points, one row per hypothesis.
func labelsAt(t *testing.T, s Spec, list []Hypothesis) [][]float64 {
	t.Helper()
	x, err := allPoints(Width(s), Side(s), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	rows := make([][]float64, len(list))
	for i, h := range list {
		rows[i] = make([]float64, len(x)/Width(s))
		h.Labels(x, rows[i])
	}
	return rows
}

// shareNear returns the share of the targets for which the error of h is allowed.
func shareNear(h []float64, targets [][]float64, ok Allowed) float64 {
	near := 0
	for _, y := range targets {
		wrong := 0
		for i := range y {
			if y[i] != h[i] {
				wrong++
			}
		}
		if ok(float64(wrong) / float64(len(h))) {
			near++
		}
	}
	return float64(near) / float64(len(targets))
}

var priorSpecs = []struct {
	Spec
	Drawn
}{
	{Spec{Name: Thresholds, Domain: 2}, Drawn{}},
	{Spec{Name: Thresholds, Domain: 7}, Drawn{}},
	{Spec{Name: Thresholds, Domain: 10}, Drawn{Uniform: true}},
	{Spec{Name: Points, Domain: 1}, Drawn{}},
	{Spec{Name: Points, Domain: 9}, Drawn{}},
	{Spec{Name: Points, Domain: 9}, Drawn{Uniform: true}},
	{Spec{Name: Intervals, Domain: 2}, Drawn{}},
	{Spec{Name: Intervals, Domain: 9}, Drawn{}},
	{Spec{Name: Intervals, Domain: 10}, Drawn{}},
	{Spec{Name: Intervals, Domain: 11}, Drawn{Uniform: true}},
	{Spec{Name: Stumps, Domain: 2, Dim: 1}, Drawn{}},
	{Spec{Name: Stumps, Domain: 11, Dim: 1}, Drawn{}},
	{Spec{Name: Stumps, Domain: 2, Dim: 3}, Drawn{}},
	{Spec{Name: Stumps, Domain: 21, Dim: 2}, Drawn{}},
	{Spec{Name: Stumps, Domain: 6, Dim: 3}, Drawn{}},
	{Spec{Name: Stumps, Domain: 2, Dim: 1}, Drawn{Uniform: true}},
	{Spec{Name: Stumps, Domain: 11, Dim: 1}, Drawn{Uniform: true}},
	{Spec{Name: Stumps, Domain: 16, Dim: 2}, Drawn{Uniform: true}},
	{Spec{Name: Stumps, Domain: 5, Dim: 3}, Drawn{Uniform: true}},
	{Spec{Name: Rectangles, Domain: 7, Dim: 1}, Drawn{}},
	{Spec{Name: Rectangles, Domain: 2, Dim: 2}, Drawn{}},
	{Spec{Name: Rectangles, Domain: 8, Dim: 2}, Drawn{}},
	{Spec{Name: Rectangles, Domain: 7, Dim: 2}, Drawn{}},
	{Spec{Name: Rectangles, Domain: 5, Dim: 2}, Drawn{Uniform: true}},
	{Spec{Name: Conjunctions, Dim: 1}, Drawn{Literals: 1}},
	{Spec{Name: Conjunctions, Dim: 4}, Drawn{Literals: 2}},
	{Spec{Name: Conjunctions, Dim: 5}, Drawn{Literals: 3}},
	{Spec{Name: Conjunctions, Dim: 5}, Drawn{Literals: 5}},
	{Spec{Name: Conjunctions, Dim: 4}, Drawn{Uniform: true}},
	{Spec{Name: MonotoneConjunctions, Dim: 6}, Drawn{Literals: 2}},
	{Spec{Name: MonotoneConjunctions, Dim: 6}, Drawn{Literals: 4}},
	{Spec{Name: MonotoneConjunctions, Dim: 5}, Drawn{Uniform: true}},
	{Spec{Name: Parities, Dim: 5}, Drawn{}},
	{Spec{Name: Parities, Dim: 1}, Drawn{Uniform: true}},
	{Spec{Name: Matrix, Domain: 5, Matrix: "00000" + "10110" + "01101" + "11011"}, Drawn{}},
	{Spec{Name: Matrix, Domain: 5, Matrix: "11100" + "11010" + "11001"}, Drawn{Uniform: true}},
}

// Every formula agrees with the comparison of all targets with all hypotheses and the constants,
// and its answer attains the stated success.
func TestPriorByBruteForce(t *testing.T) {
	for _, c := range priorSpecs {
		targets := labelsAt(t, c.Spec, drawnTargets(t, c.Spec, c.Drawn))
		dim := Width(c.Spec)
		all := append(everyMember(t, c.Spec), Constant{dim, -1}, Constant{dim, 1})
		answers := labelsAt(t, c.Spec, all)
		for _, alpha := range []float64{0, 0.05, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3, 0.4, 0.45, 0.49, 0.5} {
			ok := allowed(alpha)
			p, found := NewPrior(c.Spec, c.Drawn, ok)
			if !found {
				t.Fatalf("%+v: no prior", c)
			}
			best := 0.0
			for _, h := range answers {
				best = max(best, shareNear(h, targets, ok))
			}
			if math.Abs(p.Success-best) > 1e-9 {
				t.Errorf("%+v, alpha %v: success %v by %+v, want %v", c, alpha, p.Success, p.Answer, best)
			}
			if got := shareNear(labelsAt(t, c.Spec, []Hypothesis{p.Answer})[0], targets, ok); math.Abs(got-p.Success) > 1e-9 {
				t.Errorf("%+v, alpha %v: the answer %+v reaches %v, not %v", c, alpha, p.Answer, got, p.Success)
			}
		}
	}
}

// The estimate agrees with the formula of a class, if it has one, and otherwise with the share of
// other targets near its answer. The tolerance is four standard errors, which are at most one
// percentage point each.
func TestEstimatedPrior(t *testing.T) {
	for _, c := range []struct {
		Spec
		Drawn
	}{
		{Spec{Name: Thresholds, Domain: 1 << 16}, Drawn{}},
		{Spec{Name: Points, Domain: 1 << 16}, Drawn{}},
		{Spec{Name: Intervals, Domain: 1 << 20}, Drawn{}},
		{Spec{Name: Intervals, Domain: 1000}, Drawn{Uniform: true}},
		{Spec{Name: Stumps, Domain: 1 << 30, Dim: 2}, Drawn{}},
		{Spec{Name: Stumps, Domain: 1 << 30, Dim: 3}, Drawn{Uniform: true}},
		{Spec{Name: Rectangles, Domain: 1 << 10, Dim: 2}, Drawn{}},
		{Spec{Name: Rectangles, Domain: 1000, Dim: 40}, Drawn{}},
		{Spec{Name: Conjunctions, Dim: 30}, Drawn{Literals: 3}},
		{Spec{Name: MonotoneConjunctions, Dim: 20}, Drawn{Uniform: true}},
	} {
		for _, alpha := range []float64{0.02, 0.1, 0.2, 0.3} {
			got, found := estimatePrior(c.Spec, c.Drawn, allowed(alpha))
			if !found {
				t.Fatalf("%+v: no estimate", c)
			}
			if want := reached(t, c.Spec, c.Drawn, got.Answer, alpha); math.Abs(got.Success-want) > 0.04 {
				t.Errorf("%+v, alpha %v: %v, the answer reaches %v", c, alpha, got.Success, want)
			}
			d, _ := Lookup(c.Name)
			if d.Prior == nil {
				continue
			}
			if exact, found := d.Prior(c.Spec, c.Drawn, allowed(alpha)); found && math.Abs(got.Success-exact.Success) > 0.04 {
				t.Errorf("%+v, alpha %v: %v, by formula %v", c, alpha, got.Success, exact.Success)
			}
		}
	}
	// If all hypotheses can be compared, the estimate is nearly as good as the best.
	for _, s := range []Spec{
		{Name: Rectangles, Domain: 10, Dim: 2}, {Name: Rectangles, Domain: 4, Dim: 3}, {Name: Intervals, Domain: 60},
		{Name: Stumps, Domain: 20, Dim: 2},
	} {
		for _, alpha := range []float64{0.1, 0.2, 0.3} {
			got, _ := estimatePrior(s, Drawn{}, allowed(alpha))
			exact, _ := NewPrior(s, Drawn{}, allowed(alpha))
			if math.Abs(got.Success-exact.Success) > 0.04 {
				t.Errorf("%+v, alpha %v: %v, by comparison of all %v", s, alpha, got.Success, exact.Success)
			}
		}
	}
	for _, s := range []Spec{{Name: Parities, Dim: 30}, {Name: Conjunctions, Dim: 1 << 20}, {Name: Naturals}} {
		if p, found := NewPrior(s, Drawn{Uniform: s.Name == Conjunctions}, allowed(0.1)); found && s.Name != Parities {
			t.Errorf("%+v: %+v", s, p)
		}
	}
}

// reached returns the share of 2500 drawn targets within alpha of a box or constant.
func reached(t *testing.T, s Spec, distribution Drawn, answer Hypothesis, alpha float64) float64 {
	t.Helper()
	d, _ := Lookup(s.Name)
	target := d.Random(s, distribution.Literals)
	if distribution.Uniform {
		makeTarget, err := uniformTargets(d, s)
		if err != nil {
			t.Fatal(err)
		}
		target = makeTarget()
	}
	b, x := target.(*Box), float64(Side(s))
	side := func(low, high float64) float64 { return max(0, high-low+1) / x }
	near, r := 0, rand.New(rand.NewPCG(7, 7))
	for range 2500 {
		b.Begin(r)
		own, common, volume := 1.0, 1.0, 1.0
		for j := range b.Low {
			low, high := 0.0, x-1
			switch a := answer.(type) {
			case *Box:
				low, high = a.Low[j], a.High[j]
			case Constant:
				if a.Value < 0 {
					high = -1
				}
			}
			own *= side(low, high)
			volume *= side(b.Low[j], b.High[j])
			common *= side(max(low, b.Low[j]), min(high, b.High[j]))
		}
		if own+volume-2*common <= alpha+1e-12 {
			near++
		}
	}
	return float64(near) / 2500
}

// The values of the documentation: those with a closed form in alpha and X.
func TestPriorValues(t *testing.T) {
	for _, c := range []struct {
		Spec
		Drawn
		alpha, want float64
	}{
		{Spec{Name: Thresholds, Domain: 1 << 16}, Drawn{}, 0.1, 13107. / 65537},
		{Spec{Name: Thresholds, Domain: 1000}, Drawn{}, 0.1, 201. / 1001}, // 0.1 * 1000 is not rounded down
		{Spec{Name: Thresholds, Domain: 1 << 40}, Drawn{}, 0.25, (1<<39 + 1.) / (1<<40 + 1)},
		{Spec{Name: Points, Domain: 1 << 16}, Drawn{}, 0.1, 1},
		{Spec{Name: Points, Domain: 1 << 16}, Drawn{}, 1e-5, 1. / 65536},
		{Spec{Name: Intervals, Domain: 1000}, Drawn{}, 0.1, 101. / 501},
		{Spec{Name: Conjunctions, Dim: 20}, Drawn{Literals: 2}, 0.25, 1},
		{Spec{Name: Parities, Dim: 10}, Drawn{}, 0.49, 1. / 1024},
		{Spec{Name: Halfspace, Dim: 1}, Drawn{}, 0.1, 0.5},
		{Spec{Name: Halfspace, Dim: 2}, Drawn{}, 0.1, 0.1},
		{Spec{Name: Halfspace, Dim: 3}, Drawn{}, 0.1, (1 - math.Cos(math.Pi/10)) / 2}, // Archimedes
	} {
		p, found := NewPrior(c.Spec, c.Drawn, allowed(c.alpha))
		if !found || math.Abs(p.Success-c.want) > 1e-10 {
			t.Errorf("%+v, alpha %v: %v, want %v", c.Spec, c.alpha, p.Success, c.want)
		}
	}
}

// The share of a cap in high dimensions agrees with the normal distribution of a coordinate.
func TestBeyondPlane(t *testing.T) {
	for _, c := range []struct {
		dim     int
		c, want float64
	}{
		{1, 0.3, 0.5}, {1, 1, 0}, {2, 0.5, 1. / 3}, {3, 0.5, 0.25}, {3, 1, 0},
		{1 << 20, 1.0 / 1024, 0.5 * math.Erfc(1/math.Sqrt2)},
	} {
		if got := BeyondPlane(c.dim, c.c); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%d dimensions beyond %v: %v, want %v", c.dim, c.c, got, c.want)
		}
	}
}
