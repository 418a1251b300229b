package concept

import (
	"fmt"
	"math"
	"math/big"
)

// Linear labels a point +1 where its inner product with W is at least 0, and -1 elsewhere: a halfspace through the origin.
type Linear struct{ W []float64 }

// Label is the label of the point x, of length len(W).
func (l Linear) Label(x []float64) float64 {
	var s float64
	for i, w := range l.W {
		s += float64(w * x[i])
	}
	if s >= 0 {
		return 1
	}
	return -1
}

// Labels implements Hypothesis.
func (l Linear) Labels(x, out []float64) {
	d := len(l.W)
	for i := range out {
		out[i] = l.Label(x[i*d : (i+1)*d])
	}
}

// halfspace is the class of all Linear in one dimension.
type halfspace struct{ dim int }

func newHalfspace(domain uint64, dim int) (Class, error) {
	if domain != 0 {
		return nil, fmt.Errorf("domain %d of class %q: its points are vectors, leave the domain out", domain, "halfspace")
	}
	if dim < 1 {
		return nil, fmt.Errorf("dimension %d of class %q: use 1 or more", dim, "halfspace")
	}
	return &halfspace{dim}, nil
}

func (h *halfspace) Name() string     { return "halfspace" }
func (h *halfspace) Dim() int         { return h.dim }
func (h *halfspace) Size() *big.Int   { return nil }
func (h *halfspace) LogSize() float64 { return math.Inf(1) }

// VC is the dimension: the halfspaces go through the origin.
func (h *halfspace) VC() int { return h.dim }

func (h *halfspace) Best(x, y, w []float64) (float64, error) {
	return 0, fmt.Errorf("best halfspace of a sample: %w", ErrNoExactMethod)
}

func (h *halfspace) NewProfile() (Profile, error) {
	return nil, fmt.Errorf("errors of all halfspaces on a sample: %w", ErrNoExactMethod)
}
