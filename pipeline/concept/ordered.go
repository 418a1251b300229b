package concept

import (
	"fmt"
	"math"
	"math/big"
)

// Range labels the points Lo..Hi of an ordered domain +1 and all others -1. Every hypothesis of the ordered classes is one.
type Range struct{ Lo, Hi float64 }

// Threshold is +1 at the points v >= t.
func Threshold(t float64) Range { return Range{t, math.Inf(1)} }

// Point is +1 at the point a alone.
func Point(a float64) Range { return Range{a, a} }

// Interval is +1 at the points a..b, and nowhere where a > b.
func Interval(a, b float64) Range { return Range{a, b} }

// Empty is +1 nowhere.
func Empty() Range { return Range{math.Inf(1), math.Inf(-1)} }

// Label is the label of the point v.
func (r Range) Label(v float64) float64 {
	if r.Lo <= v && v <= r.Hi {
		return 1
	}
	return -1
}

// Labels implements Hypothesis.
func (r Range) Labels(x, out []float64) {
	for i := range out {
		out[i] = r.Label(x[i])
	}
}

// ordered is what the classes over the points 0..X-1 share.
type ordered struct {
	name   string
	domain uint64
	size   *big.Int
	vc     int
}

func newOrdered(name string, domain uint64, dim int, noConstant bool) (Class, error) {
	least := uint64(2)
	if name == "points" {
		least = 1
	}
	if domain < least || domain > MaxDomain {
		return nil, fmt.Errorf("domain %d of class %q: use %d to 2^40 (%d)", domain, name, least, uint64(MaxDomain))
	}
	if dim != 0 && dim != 1 {
		return nil, fmt.Errorf("dimension %d of class %q: its points are single numbers, leave the dimension out", dim, name)
	}
	x := new(big.Int).SetUint64(domain)
	one := big.NewInt(1)
	o := ordered{name: name, domain: domain, vc: 1}
	switch name {
	case "thresholds": // t = 0..X, or 0..X-1
		last := domain
		if noConstant {
			last--
		}
		o.size = new(big.Int).SetUint64(last + 1)
		return &thresholds{o, last}, nil
	case "points":
		o.size = x
		if domain == 1 {
			o.vc = 0
		}
		return &points{o}, nil
	default: // intervals: X(X+1)/2 and the empty one
		o.size = new(big.Int).Add(x, one)
		o.size.Mul(o.size, x).Rsh(o.size, 1).Add(o.size, one)
		o.vc = 2
		return &intervals{o}, nil
	}
}

func (o *ordered) Name() string   { return o.name }
func (o *ordered) Dim() int       { return 1 }
func (o *ordered) VC() int        { return o.vc }
func (o *ordered) Size() *big.Int { return new(big.Int).Set(o.size) }
func (o *ordered) LogSize() float64 {
	f, _ := new(big.Float).SetInt(o.size).Float64()
	return math.Log(f)
}

type thresholds struct {
	ordered
	last uint64 // the largest t
}

type points struct{ ordered }

type intervals struct{ ordered }
