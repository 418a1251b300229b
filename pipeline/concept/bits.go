package concept

import "fmt"

// number is the type of the counts and weights in the transforms of the enumerated classes.
type number interface{ int32 | float64 }

// maxBits is the largest dimension of the classes over {0,1}^d: a set of coordinates is a uint64.
const maxBits = 64

// newBits returns the shared part of the classes over {0,1}^d. limit is the largest dimension
// with exact methods.
func newBits(s Spec, limit int) (*enumerated, error) {
	if s.Domain != 0 {
		return nil, fmt.Errorf("domain %d of class %q: its points are vectors of bits, leave the domain out",
			s.Domain, s.Name)
	}
	if s.Dim < 1 || s.Dim > maxBits {
		return nil, fmt.Errorf("dimension %d of class %q: use 1 to %d", s.Dim, s.Name, maxBits)
	}
	c := &enumerated{facts: facts{name: s.Name, dim: s.Dim, vc: s.Dim}, domain: "the numbers 0 and 1"}
	if s.Dim > limit {
		c.limit = fmt.Errorf("%s in %d dimensions: %w: "+
			"only up to %d dimensions do numbers for all hypotheses fit into memory",
			s.Name, s.Dim, ErrNoExactMethod, limit)
		return c, nil
	}
	c.points = 1 << s.Dim
	return c, nil
}

// cube numbers the points of {0,1}^d: coordinate j is bit j.
type cube struct{}

func (cube) point(row []float64) (v, stray int) {
	for j, bit := range row {
		b := int(bit) // without a branch: random bits would mispredict
		if float64(b) != bit || uint(b) > 1 {
			return 0, j
		}
		v |= b << j
	}
	return v, -1
}
