package concept

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/numeric"
)

// Halfspace names the class of the halfspaces through the origin of Dim dimensions.
const Halfspace = "halfspace"

var halfspaceDefinition = Definition{
	Name:        Halfspace,
	Doc:         "+1 on one side of a hyperplane through the origin, and on the hyperplane itself",
	Shape:       Ball,
	New:         newHalfspace,
	VC:          exactVC,
	Littlestone: ofHalfspaces,
	NoSeparator: infinitelyMany,
	Targets: Targets{
		Random:    func(s Spec, _ int) Target { return &Linear{W: make([]float64, s.Dim)} },
		RandomDoc: "its normal is a uniform unit vector",
		Prior:     halfspacePrior,
	},
	Examples: []Spec{{Name: Halfspace, Dim: 5}},
}

// Direction fills v with a uniform random vector of length 1.
func Direction(r *rand.Rand, v []float64) {
	norm := 0.0
	for norm == 0 {
		norm = 0
		for k := range v {
			v[k] = r.NormFloat64()
			norm += float64(v[k] * v[k])
		}
	}
	norm = math.Sqrt(norm)
	for k := range v {
		v[k] /= norm
	}
}

// Linear labels a point +1 if its inner product with W plus B is at least 0, and -1 otherwise.
// With B = 0 it is a halfspace through the origin.
type Linear struct {
	W []float64
	B float64
}

// Label returns the label of the point x, of length len(W).
func (l Linear) Label(x []float64) float64 { return sideOf(numeric.Dot(l.W, x), l.B) }

// sideOf returns +1 if s + b is at least 0, and -1 otherwise, without a branch because labels are
// unpredictable.
func sideOf(s, b float64) float64 {
	label := uint64(plus | negative)
	if s >= -b {
		label = plus
	}
	return math.Float64frombits(label)
}

// Begin draws the normal W uniformly from the unit sphere: as a Target, a Linear is random.
func (l *Linear) Begin(r *rand.Rand) { Direction(r, l.W) }

// Labels implements Hypothesis.
func (l Linear) Labels(x, out []float64) {
	numeric.RowProducts(out, x, l.W)
	for i, s := range out {
		out[i] = sideOf(s, l.B)
	}
}

// halfspace is the class of all Linear of one dimension.
type halfspace struct{ facts }

func newHalfspace(s Spec) (Class, error) {
	if s.Domain != 0 {
		return nil, fmt.Errorf("domain %d of class %q: its points are vectors, leave the domain out", s.Domain, s.Name)
	}
	if s.Dim < 1 {
		return nil, fmt.Errorf("dimension %d of class %q: use 1 or more", s.Dim, s.Name)
	}
	// The halfspaces go through the origin, so that the dimension is d.
	return &halfspace{facts{name: Halfspace, dim: s.Dim, vc: s.Dim}}, nil
}

func (h *halfspace) NewProfile() (Profile, error) {
	return nil, fmt.Errorf("errors of all halfspaces on a sample: %w", ErrNoExactMethod)
}

// ofHalfspaces returns the Littlestone dimension of the halfspaces through the origin. In
// dimension 1 there are three different ones. In higher dimensions, restricted to a line of a
// plane off the origin, they are the thresholds on the reals.
func ofHalfspaces(c Class, _ Spec) Dimension {
	if c.Dim() == 1 {
		return exactly(1)
	}
	return exactly(Unbounded)
}
