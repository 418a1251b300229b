package concept

import "fmt"

// InfiniteThresholds reports whether a class is one of the thresholds on an infinite order.
func InfiniteThresholds(class string) bool {
	d, ok := Lookup(class)
	return ok && d.Shape == InfiniteOrder && d.Thresholds
}

// Rank maps a point of a class on an infinite order to a whole number, in the same order. The
// error describes valid points.
func Rank(class string, x float64) (uint64, error) {
	d, ok := Lookup(class)
	if !ok || d.Rank == nil {
		return 0, fmt.Errorf("point %v: class %q is on no infinite order", x, class)
	}
	rank, ok := d.Rank(x)
	if !ok {
		return 0, fmt.Errorf("point %v: not in the domain of class %q, the %s", x, class, d.PointsDoc)
	}
	return rank, nil
}

// infinite is the class of the thresholds on an infinite order.
type infinite struct{ facts }

func newInfinite(s Spec) (Class, error) {
	if s.Domain != 0 {
		return nil, fmt.Errorf("domain %d of class %q: its domain is infinite, leave it out", s.Domain, s.Name)
	}
	if err := checkSingle(s, "its points are single numbers"); err != nil {
		return nil, err
	}
	return &infinite{facts{name: s.Name, dim: 1, vc: 1}}, nil
}

// fewestErrors returns the fewest errors of a threshold on a sample.
func (c *infinite) fewestErrors(x, y []float64) (int, error) {
	var t tally
	for i, label := range y {
		rank, err := Rank(c.name, x[i])
		if err != nil {
			return 0, fmt.Errorf("example %d: %w", i, err)
		}
		if err := checkLabel(y, i); err != nil {
			return 0, err
		}
		t.keys = append(t.keys, rank<<1|positive(label)) // ranks are below 2^62
	}
	t.count()
	errs := 0 // errors of the threshold that is +1 everywhere
	for _, negatives := range t.neg {
		errs += negatives
	}
	least := errs
	for i := range t.values { // the next threshold is above this value
		errs += t.pos[i] - t.neg[i]
		least = min(least, errs)
	}
	return least, nil
}

// NewProfile implements Class.
func (c *infinite) NewProfile() (Profile, error) {
	return nil, fmt.Errorf("errors of infinitely many thresholds on a sample: %w", ErrNoExactMethod)
}

// ofInfiniteThresholds returns an infinite Littlestone dimension: bisection of 2^k of the
// thresholds forces k mistakes, for any k.
func ofInfiniteThresholds(Class, Spec) Dimension { return exactly(Unbounded) }
