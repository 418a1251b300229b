package concept

import "fmt"

// ordered is the shared part of the classes on the points 0..domain-1.
type ordered struct{ lattice }

// newOrdered checks the domain, which must have least points or more, and the dimension. The
// class sets the size. newOrdered sets the Vapnik-Chervonenkis dimension to 1.
func newOrdered(s Spec, least uint64) (ordered, error) {
	if s.Domain < least || s.Domain > MaxDomain {
		return ordered{}, fmt.Errorf("domain %d of class %q: use %d to 2^40 (%d)", s.Domain, s.Name, least, uint64(MaxDomain))
	}
	if err := checkSingle(s, "its points are single numbers"); err != nil {
		return ordered{}, err
	}
	return ordered{lattice{facts{name: s.Name, dim: 1, vc: 1}, s.Domain}}, nil
}

// checkSingle rejects a dimension for a class whose points are single numbers. The error contains
// reason.
func checkSingle(s Spec, reason string) error {
	if s.Dim != 0 && s.Dim != 1 {
		return fmt.Errorf("dimension %d of class %q: %s, leave the dimension out", s.Dim, s.Name, reason)
	}
	return nil
}
