package concept

import "fmt"

// lattice describes the points of a class: rows of dim numbers in 0..domain-1.
type lattice struct {
	facts
	domain uint64
}

// maxDim is the largest dimension of a lattice. It limits the numbers of all stumps to 2^64.
const maxDim = 1 << 16

// newLattice checks the domain, of at least leastDomain values, and the dimension, which defaults
// to usual.
func newLattice(s Spec, usual int, leastDomain uint64) (lattice, error) {
	if s.Dim == 0 {
		s.Dim = usual
	}
	if s.Domain < leastDomain || s.Domain > MaxDomain {
		return lattice{}, fmt.Errorf("domain %d of class %q: use %d to 2^40 (%d)",
			s.Domain, s.Name, leastDomain, uint64(MaxDomain))
	}
	if s.Dim < 1 || s.Dim > maxDim {
		return lattice{}, fmt.Errorf("dimension %d of class %q: use 1 to %d", s.Dim, s.Name, maxDim)
	}
	return lattice{facts{name: s.Name, dim: s.Dim}, s.Domain}, nil
}

// check checks the points and labels of a sample; the error names the first bad row.
func (l *lattice) check(x, y []float64) error {
	for i := range y {
		if k := l.stray(x[i*l.dim : (i+1)*l.dim]); k < l.dim {
			return l.outside(x[i*l.dim+k], k, fmt.Sprintf("example %d", i))
		}
		if err := checkLabel(y, i); err != nil {
			return err
		}
	}
	return nil
}

// checkTerm checks the points of a linear term.
func (l *lattice) checkTerm(z []float64) error {
	if len(z)%l.dim != 0 {
		return fmt.Errorf("linear term of %d numbers: not a multiple of the dimension %d", len(z), l.dim)
	}
	for j := 0; j*l.dim < len(z); j++ {
		if k := l.stray(z[j*l.dim : (j+1)*l.dim]); k < l.dim {
			return l.outside(z[j*l.dim+k], k, fmt.Sprintf("point %d of the linear term", j))
		}
	}
	return nil
}

// stray returns the number of the first coordinate of a row outside the domain, or dim if there
// is none.
func (l *lattice) stray(row []float64) int {
	for k, v := range row {
		if _, ok := coordinate(v, l.domain); !ok {
			return k
		}
	}
	return l.dim
}

// coordinate returns v as one of the numbers 0..domain-1, and returns false if v is none of them.
func coordinate(v float64, domain uint64) (uint64, bool) {
	i := int64(v)
	return uint64(i), float64(i) == v && uint64(i) < domain
}

// outside returns the error for the value v of coordinate number k of a row.
func (l *lattice) outside(v float64, k int, row string) error {
	return fmt.Errorf("coordinate %d of %s: %v is not in the domain of class %q, the integers 0 to %d",
		k, row, v, l.name, l.domain-1)
}
