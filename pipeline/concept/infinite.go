package concept

import (
	"fmt"
	"math"
	"math/big"
)

// The thresholds on infinite orders: x >= t is +1. What can be asked are the points that float64 holds, all of them exact.
//
//   - Naturals: the points are 1, 2, ..., up to MaxNatural, and t = 1, 2, ...: the constant +1 is among them, the constant -1 is not, though
//     one of them is -1 on any finite sample.
//   - Dyadics: the points are the dyadic rationals p/2^k in [0, 1), and t is one of [0, 1]: both constants are among them. The order is dense.
const (
	Naturals = "thresholds-naturals"
	Dyadics  = "thresholds-dyadics"
)

// MaxNatural is the largest point of Naturals: float64 holds all whole numbers up to it.
const MaxNatural = 1 << 53

// InfiniteThresholds tells whether a class is Naturals or Dyadics.
func InfiniteThresholds(class string) bool { return class == Naturals || class == Dyadics }

// Rank maps the points of Naturals or of Dyadics to whole numbers in the same order: x itself, and the bits of x. The error says what the
// points are.
func Rank(class string, x float64) (uint64, error) {
	points := "numbers from 0 on below 1"
	switch {
	case class == Dyadics && x >= 0 && x < 1:
		return math.Float64bits(math.Abs(x)), nil // -0 is 0
	case class == Naturals && x >= 1 && x <= MaxNatural && x == math.Trunc(x):
		return uint64(x), nil
	case class == Naturals:
		points = "whole numbers 1 to 2^53"
	}
	return 0, fmt.Errorf("point %v: not in the domain of class %q, the %s", x, class, points)
}

// infinite is Naturals or Dyadics.
type infinite struct{ name string }

func newInfinite(s Spec) (Class, error) {
	switch {
	case s.Domain != 0:
		return nil, fmt.Errorf("domain %d of class %q: its domain is infinite, leave it out", s.Domain, s.Name)
	case s.Dim != 0 && s.Dim != 1:
		return nil, fmt.Errorf("dimension %d of class %q: its points are single numbers, leave the dimension out", s.Dim, s.Name)
	}
	return &infinite{s.Name}, nil
}

func (c *infinite) Name() string     { return c.name }
func (c *infinite) Dim() int         { return 1 }
func (c *infinite) Size() *big.Int   { return nil }
func (c *infinite) LogSize() float64 { return math.Inf(1) }
func (c *infinite) VC() int          { return 1 }

// Best implements Class.
func (c *infinite) Best(x, y, w []float64) (float64, error) {
	s, err := weighByValue(y, w, func(i int) (uint64, error) {
		v, err := Rank(c.name, x[i])
		if err != nil {
			return 0, fmt.Errorf("example %d: %w", i, err)
		}
		return v, checkLabel(y, i)
	})
	if err != nil {
		return 0, err
	}
	above, others := s.thresholds()
	return min(above, others) / s.total, nil
}

// NewProfile implements Class.
func (c *infinite) NewProfile() (Profile, error) {
	return nil, fmt.Errorf("errors of infinitely many thresholds on a sample: %w", ErrNoExactMethod)
}
