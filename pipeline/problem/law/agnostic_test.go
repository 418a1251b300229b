package law

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

// Whatever the domain, the mass and the target, the least error over all thresholds is the one that
// LeastError states, and the target has it.
func TestAgnosticLeastError(t *testing.T) {
	for domain := uint64(4); domain <= 24; domain++ {
		for m := uint64(1); 2*m < domain; m++ {
			for target := range domain + 1 {
				p := schemas.Problem{Class: concept.Thresholds, Distribution: "agnostic", Domain: domain,
					Mass: float64(m) / float64(domain), Target: fmt.Sprint(target)}
				checkLeastError(t, resolved(t, p), m)
			}
		}
	}
}

func checkLeastError(t *testing.T, p schemas.Problem, m uint64) {
	t.Helper()
	s, _, _ := sample(t, p, 1, 2, 0)
	_, y, _ := support(t, p, s)
	errors := func(threshold uint64) (wrong uint64) {
		for x, label := range y {
			if (uint64(x) >= threshold) != (label > 0) {
				wrong++
			}
		}
		return wrong
	}
	least := p.Domain
	for threshold := range p.Domain + 1 {
		least = min(least, errors(threshold))
	}
	own := errors(uint64(s.Target().(*turningTarget).threshold.Low[0]))
	if want := float64(m) / float64(p.Domain); least != m || own != m || LeastError(&p) != want {
		t.Fatalf("%+v: least error %d, the target's %d, want %d; LeastError %v, want %v", p, least, own, m,
			LeastError(&p), want)
	}
}

// The same for parities, whose targets lie among the 2^d sets of bits.
func TestAgnosticParities(t *testing.T) {
	for d := 2; d <= 5; d++ {
		size := uint64(1) << d
		for m := uint64(1); 4*m <= size; m++ {
			for target := range size {
				p := resolved(t, schemas.Problem{Class: concept.Parities, Distribution: "agnostic", Dim: d,
					Mass: float64(m) / float64(size), Target: marks(target, d)})
				s, _, _ := sample(t, p, 1, 2, 0)
				x, y, _ := support(t, p, s)
				var errors []uint64
				for set := range size {
					wrong, label := uint64(0), make([]float64, size)
					concept.Parity{Dim: d, Set: set}.Labels(x, label)
					for i := range label {
						if label[i] != y[i] {
							wrong++
						}
					}
					errors = append(errors, wrong)
				}
				if want := float64(m) / float64(size); slices.Min(errors) != m || errors[target] != m || LeastError(&p) != want {
					t.Fatalf("%+v: errors %v, LeastError %v, want %v", p, errors, LeastError(&p), want)
				}
			}
		}
	}
}

// marks writes a set of bits as parities do.
func marks(set uint64, d int) (text string) {
	for j := range d {
		text += fmt.Sprint(set >> j & 1)
	}
	return text
}

// On the largest domain, where products need 128 bits, the target turns as many points of a stretch
// as its share says.
func TestAgnosticLargestDomain(t *testing.T) {
	p := resolved(t, schemas.Problem{Class: concept.Thresholds, Distribution: "agnostic", Domain: concept.MaxDomain,
		Mass: 0.375, Target: concept.MiddleTarget})
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
			t.Errorf("%d of 8000 labels from %v on are turned, want 3000", wrong, from)
		}
	}
}

// A mass that makes no agnostic problem is refused by its own key.
func TestAgnosticRefuses(t *testing.T) {
	for _, c := range []struct {
		domain uint64
		mass   float64
		want   string
	}{
		{1024, 0.5, "problem.mass: 0.5 is outside (0, 1/2)"},
		{4, 0.1, "0.1 of 4 points is 0 of them"},
		{4, 0.45, "0.45 of 4 points is 2 of them"},
		{1024, 0, "missing"},
	} {
		p := schemas.Problem{Class: concept.Thresholds, Distribution: "agnostic", Domain: c.domain, Mass: c.mass}
		if err := mass.Resolve(&p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("mass %v of %d: %v, want %q", c.mass, c.domain, err, c.want)
		}
	}
	for _, c := range []struct {
		dim  int
		mass float64
		want string
	}{
		{4, 0.26, "0.26 is outside (0, 1/4]"},
		{2, 0.1, "0.1 of 4 points is none of them"},
		{41, 0.1, "at most 40 bits, not 41"},
	} {
		p := schemas.Problem{Class: concept.Parities, Distribution: "agnostic", Dim: c.dim, Mass: c.mass}
		if err := mass.Resolve(&p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("mass %v of %d bits: %v, want %q", c.mass, c.dim, err, c.want)
		}
	}
}
