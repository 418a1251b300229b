package distribution

import (
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

// For all values of best_error and targets, the least error of the class is that of the target, and equals
// LeastError. The empty interval is not a target.
func TestAgnosticLeastError(t *testing.T) {
	for _, c := range []struct {
		concept.Spec
		most uint64 // number of flipped points
	}{
		{concept.Spec{Name: concept.Thresholds, Domain: 4}, 1},
		{concept.Spec{Name: concept.Thresholds, Domain: 9}, 4},
		{concept.Spec{Name: concept.Thresholds, Domain: 16}, 7},
		{concept.Spec{Name: concept.Intervals, Domain: 5}, 1},
		{concept.Spec{Name: concept.Intervals, Domain: 8}, 2},
		{concept.Spec{Name: concept.Intervals, Domain: 11}, 4},
		{concept.Spec{Name: concept.Parities, Dim: 2}, 1},
		{concept.Spec{Name: concept.Parities, Dim: 4}, 4},
		{concept.Spec{Name: concept.Stumps, Domain: 2, Dim: 5}, 8},
		{concept.Spec{Name: concept.Stumps, Domain: 3, Dim: 3}, 4},
		{concept.Spec{Name: concept.Stumps, Domain: 4, Dim: 2}, 2},
		{concept.Spec{Name: concept.Stumps, Domain: 5, Dim: 2}, 2},
	} {
		targets, err := concept.Hypotheses(c.Spec, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if c.Name == concept.Intervals {
			targets = targets[:len(targets)-1]
		}
		checkLeastErrors(t, c.Spec, c.most, targets)
	}
}

// The same share is flipped inside of an interval, outside of it, and of all points.
func TestAgnosticIntervalsTurnEvenly(t *testing.T) {
	p := resolved(t, schemas.Problem{Class: concept.Intervals, Distribution: "agnostic", Domain: concept.MaxDomain,
		BestError: 0.375, Target: concept.MiddleTarget})
	s, _, _ := sample(t, p, 1, 2, 0)
	low, end := float64(p.Domain/4), float64(p.Domain/4*3)
	for _, from := range []float64{0, low - 8000, low, end - 8000, end, float64(p.Domain) - 8000} {
		wrong := 0
		for i := range 8000 {
			if x := from + float64(i); (low <= x && x < end) != (s.Target().Label([]float64{x}) > 0) {
				wrong++
			}
		}
		if wrong != 3000 {
			t.Errorf("%d of 8000 labels from %v on are flipped, want 3000", wrong, from)
		}
	}
}

// checkLeastErrors iterates over targets of a class, and over the numbers of flipped points up to
// the maximum of the distribution.
func checkLeastErrors(t *testing.T, spec concept.Spec, most uint64, targets []string) {
	t.Helper()
	made, err := concept.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	class, size := made.(concept.Finite), concept.Cardinality(spec)
	for m := uint64(1); m <= most; m++ {
		for _, target := range targets {
			p := resolved(t, schemas.Problem{Class: spec.Name, Distribution: "agnostic", Domain: spec.Domain, Dim: spec.Dim,
				BestError: float64(m) / size, Target: target})
			s, _, _ := sample(t, p, 1, 2, 0)
			x, y, _ := support(t, p, s)
			own, label := make([]float64, len(y)), make([]float64, len(y))
			s.Target().(*flippingTarget).own.Labels(x, own)
			least := uint64(len(y))
			for i := range class.Size().Uint64() {
				class.Member(i).Labels(x, label)
				least = min(least, differences(label, y))
			}
			if want := float64(m) / size; least != m || differences(own, y) != m || LeastError(&p) != want {
				t.Fatalf("%+v: least error %d, the target's %d, want %d; LeastError %v, want %v", p, least,
					differences(own, y), m, LeastError(&p), want)
			}
		}
	}
}

// differences returns the number of points whose labels differ.
func differences(a, b []float64) (n uint64) {
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

// On the largest domain, where products need 128 bits, the target flips the expected number of
// points of a stretch.
func TestAgnosticLargestDomain(t *testing.T) {
	p := resolved(t, schemas.Problem{Class: concept.Thresholds, Distribution: "agnostic", Domain: concept.MaxDomain,
		BestError: 0.375, Target: concept.MiddleTarget})
	s, _, _ := sample(t, p, 1, 2, 0)
	middle := float64(p.Domain / 2)
	for _, from := range []float64{0, middle - 8000, middle, float64(p.Domain) - 8000} {
		wrong := 0
		for i := range 8000 {
			if x := from + float64(i); (x >= middle) != (s.Target().Label([]float64{x}) > 0) {
				wrong++
			}
		}
		if wrong != 3000 {
			t.Errorf("%d of 8000 labels from %v on are flipped, want 3000", wrong, from)
		}
	}
}

// A best_error that makes no agnostic problem is rejected by its own key.
func TestAgnosticRefuses(t *testing.T) {
	for _, c := range []struct {
		domain uint64
		least  float64
		want   string
	}{
		{1024, 0.5, "problem.best_error: 0.5 is outside (0, 1/2)"},
		{4, 0.1, "0.1 of 4 points is 0 of them"},
		{4, 0.45, "0.45 of 4 points is 2 of them"},
		{1024, 0, "missing"},
	} {
		p := schemas.Problem{Class: concept.Thresholds, Distribution: "agnostic", Domain: c.domain, BestError: c.least}
		if err := bestError.Resolve(&p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("best_error %v of %d: %v, want %q", c.least, c.domain, err, c.want)
		}
	}
	p := schemas.Problem{Class: concept.Intervals, Distribution: "agnostic", Domain: 8, BestError: 0.4}
	if err := bestError.Resolve(&p); err == nil || !strings.Contains(err.Error(), "0.4 of 8 points is 3 of them, and the "+
		"distribution needs at least 1 and fewer than half inside and outside of any interval, which is at most 2") {
		t.Errorf("best_error 0.4 of 8 for intervals: %v", err)
	}
	for _, c := range []struct {
		dim   int
		least float64
		want  string
	}{
		{4, 0.26, "0.26 is outside (0, 1/4]"},
		{2, 0.1, "0.1 of 4 points is 0 of them"},
		{41, 0.1, "at most 2^40 points, not 2^41"},
	} {
		p := schemas.Problem{Class: concept.Parities, Distribution: "agnostic", Dim: c.dim, BestError: c.least}
		if err := bestError.Resolve(&p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("best_error %v of %d bits: %v, want %q", c.least, c.dim, err, c.want)
		}
	}
	for _, c := range []struct {
		domain uint64
		dim    int
		least  float64
		want   string
	}{
		{4, 3, 0.126, "0.126 is outside (0, 1/8]"},
		{3, 2, 1. / 6, "of 9 points is 2 of them, and the distribution needs at least 1 and at most 1"},
		{16, 11, 0.01, "at most 2^40 points, not 16^11"},
	} {
		p := schemas.Problem{Class: concept.Stumps, Distribution: "agnostic", Domain: c.domain, Dim: c.dim,
			BestError: c.least}
		if err := bestError.Resolve(&p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("best_error %v of %d^%d: %v, want %q", c.least, c.domain, c.dim, err, c.want)
		}
	}
}
