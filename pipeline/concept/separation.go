package concept

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/shatterlab/shatter/pipeline/lp"
)

const (
	maxPoints  = 1 << 22 // points of a separator
	maxNumbers = 1 << 25 // coordinates of a separator: 256 MiB

	maxListedBits = 20 // the largest dimension in which the cube of the parities is listed
)

// Separator is a set Z of m points on which every two hypotheses of a class differ.
// Follow-the-perturbed-leader puts its noise there: hypothesis f has the unit sign vector s_f =
// (f(Z_1), ..., f(Z_m))/sqrt(m), and the perturbation <xi, s_f> with xi standard normal.
//
// rho, the least distance of two hypotheses in L2 of the uniform distribution on Z, measures how
// well Z separates. It depends on the encoding: the functions with values -1 and +1 are twice as
// far apart as those with 0 and 1.
type Separator struct {
	// Points are row-major; nil for the cube of the parities in 21 to 24 dimensions, where
	// Orthonormal makes them unnecessary.
	Points []float64

	Dim         int     // numbers per point
	Hamming     int     // h >= 1, the least number of points of Z on which two hypotheses differ
	Orthonormal bool    // the sign vectors of all hypotheses are orthonormal, hence their perturbations independent
	Spread      float64 // kappa^2, the largest |s_f - s_g|^2, or its upper bound 4 if it was not computed

	margin   float64 // hull margin, if it has a formula; otherwise 0
	unlisted int     // m if Points is nil
}

// Len returns m, the number of points.
func (s *Separator) Len() int {
	if s.Points == nil {
		return s.unlisted
	}
	return len(s.Points) / s.Dim
}

// Rho01 returns rho for the functions with values 0 and 1: sqrt(h/m).
func (s *Separator) Rho01() float64 { return math.Sqrt(float64(s.Hamming) / float64(s.Len())) }

// RhoPM returns rho for the functions with values -1 and +1, 2 sqrt(h/m): the least distance of two
// sign vectors.
func (s *Separator) RhoPM() float64 { return 2 * s.Rho01() }

// SeparatorKinds lists the kinds of NewSeparator.
func SeparatorKinds() []string {
	return []string{"standard", "cube", "code", "greedy", drawnKind, drawnPrintedKind}
}

// NewSeparator returns a separator of c, the class that New creates from s:
//
//	standard  the set known for the class: the standard basis for parities, all points for most others
//	cube      all points of the domain; they are not listed for parities in 21 to 24 dimensions
//	code      parities up to dimension 24: the 10 Dim columns of a random generator matrix drawn from the seed
//	greedy    greedy set cover, for at most 2^12 hypotheses on a domain of at most 2^12 points
//	drawn     uniform points of the domain, drawn from the seed: the number that provably keeps half of
//	          its rho^2 with probability 0.99; for parities, or at most 2^14 hypotheses
//	drawn-printed  the same with the smaller number of Block and Shetty 2025, Lemma 7, which is not proved
//
// Only code, drawn and drawn-printed use the seed. The error names the value that is too large,
// or two hypotheses that agree on all points.
func NewSeparator(c Finite, s Spec, kind string, seed uint64) (*Separator, error) {
	if c.Size().Cmp(big.NewInt(1)) <= 0 {
		return nil, fmt.Errorf("separate class %q: a single hypothesis needs no separator, take a larger class", c.Name())
	}
	d := definitionOf(c)
	switch kind {
	case "standard":
		return d.Standard(c, s)
	case "cube":
		return d.WholeDomain(c, s)
	case "code":
		if d.Code == nil {
			able := namesOf(func(d *Definition) bool { return d.Code != nil })
			return nil, fmt.Errorf("separate class %q by a code: only %s have one, use kind %q",
				c.Name(), strings.Join(able, ", "), "standard")
		}
		return d.Code(c.Dim(), seed)
	case "greedy":
		return greedy(c, s)
	case drawnKind, drawnPrintedKind:
		return drawn(c, s, kind, seed)
	}
	return nil, fmt.Errorf("separator of kind %q: use one of %s", kind, strings.Join(SeparatorKinds(), ", "))
}

// infinitelyMany is the NoSeparator of infinite classes.
const infinitelyMany = "no finite set of points separates infinitely many hypotheses"

// wholeDomain separates c by all points of dim(c) numbers 0..values-1. As hypotheses are
// different functions, Hamming is at least 1; a class with a better bound sets it.
func wholeDomain(c Finite, values uint64) (*Separator, error) {
	z, err := allPoints(c.Dim(), values, maxPoints)
	if err != nil {
		return nil, err
	}
	return &Separator{Points: z, Dim: c.Dim(), Hamming: 1, Spread: 4}, nil
}

// unitPoints separates by the d points with exactly one coordinate j that differs from the base
// value. At the unit vectors (base 0) parity s is bit j of s. At the points with a single zero
// (base 1) the monotone conjunction s is the complement of bit j. Both give all 2^d sign
// patterns, h = 1.
func unitPoints(d int, base float64) (*Separator, error) {
	if err := checkPoints(uint64(d), d, maxPoints); err != nil {
		return nil, err
	}
	z := make([]float64, d*d)
	for i := range z {
		z[i] = base
		if i%(d+1) == 0 {
			z[i] = 1 - base
		}
	}
	// The vertices other than f of a cube of side 2/sqrt(d) lie beyond the hyperplane through the
	// d neighbors of f, at distance 2/d.
	return &Separator{Points: z, Dim: d, Hamming: 1, Spread: 4, margin: 2 / float64(d)}, nil
}

// errAgree is part of the error for points at which two hypotheses have the same labels.
var errAgree = errors.New("agree at every one of")

// computed separates by the points z, with h from all pairs of hypotheses. If two hypotheses
// agree at all points, the error names them.
func computed(c Finite, z []float64) (*Separator, error) {
	t, err := newSignTable(c, z)
	if err != nil {
		return nil, err
	}
	d := t.distances()
	if d.least == 0 {
		return nil, fmt.Errorf("separate class %q: hypotheses %d and %d %w %d points", c.Name(), d.i, d.j, errAgree, t.m)
	}
	w := &Separator{Points: z, Dim: c.Dim(), Hamming: d.least, Spread: spread(d.most, t.m)}
	if d.least == d.most { // the case with the slowest search for the margin
		w.margin = simplex(c, w.Spread)
	}
	return w, nil
}

// spread returns |s_f - s_g|^2 of sign vectors that differ on h of m points.
func spread(h, m int) float64 { return 4 * float64(h) / float64(m) }

// allPoints lists the points of d numbers 0..base-1, at most most: point number i has the digits
// of i in base base, the lowest one first.
func allPoints(d int, base, most uint64) ([]float64, error) {
	m := uint64(1)
	for range d {
		if m *= base; m > most { // base is at most 2^40: no overflow
			return nil, errTooManyPoints(fmt.Sprintf("%d^%d", base, d), d, most)
		}
	}
	if err := checkPoints(m, d, most); err != nil {
		return nil, err
	}
	z := make([]float64, m*uint64(d))
	for i := range m {
		for j, digits := 0, i; j < d; j++ {
			z[i*uint64(d)+uint64(j)] = float64(digits % base)
			digits /= base
		}
	}
	return z, nil
}

// checkPoints rejects more than most points of d numbers, or more than maxNumbers numbers.
func checkPoints(m uint64, d int, most uint64) error {
	if m > most || m*uint64(d) > maxNumbers {
		return errTooManyPoints(fmt.Sprint(m), d, most)
	}
	return nil
}

// errTooManyPoints returns the error for m points, written as a number or a power, of d numbers.
func errTooManyPoints(m string, d int, most uint64) error {
	if d > 1 {
		m += fmt.Sprintf(" points of %d numbers", d)
	} else {
		m = strings.TrimSuffix(m, "^1") + " points"
	}
	return fmt.Errorf("separate with %s: use at most %d points and %d numbers in all: "+
		"a smaller domain or dimension, or another kind", m, most, maxNumbers)
}

// Margin bounds the hull margin of the sign vectors of a class: the least distance of one of them
// from the convex hull of the others.
type Margin = lp.Margin

// HullMargin bounds the hull margin of the sign vectors of c, the class that s separates. It uses
// a formula if there is one. For at most 500 hypotheses and 2^24 labels it computes the margin,
// usually in less than a second. 2h/m <= r <= 2 sqrt(h/m) always holds.
//
// The lower bound: <s_f, s_f - s_g> = |s_f - s_g|^2/2 >= 2h/m for all g, hence for all of their
// convex combinations.
func (s *Separator) HullMargin(c Finite) Margin {
	if s.margin > 0 {
		return Margin{Lower: s.margin, Upper: s.margin}.Widen(8)
	}
	m := s.Len()
	bounds := Margin{Lower: 2 * float64(s.Hamming) / float64(m), Upper: s.RhoPM()}.Widen(8)
	n, err := listable(c, lp.MaxVectors)
	if err != nil || n > lp.MaxNumbers/m {
		return bounds
	}
	rows := make([]float64, n*m)
	for i := range n {
		c.Member(uint64(i)).Labels(s.Points, rows[i*m:(i+1)*m])
	}
	r, err := lp.HullMargin(rows, m)
	if err != nil {
		return bounds
	}
	scale := math.Sqrt(float64(m))
	r = Margin{Lower: r.Lower / scale, Upper: r.Upper / scale}.Widen(8)
	return Margin{Lower: max(r.Lower, bounds.Lower), Upper: min(r.Upper, bounds.Upper)}
}

// simplex returns the hull margin of vectors at equal squared distances: the distance of a vertex
// from the center of the others.
func simplex(c Finite, squared float64) float64 {
	n, _ := new(big.Float).SetInt(c.Size()).Float64()
	return math.Sqrt(squared / 2 * (n / (n - 1)))
}

// chain returns the hull margin of the thresholds. An inner threshold t is nearest to the
// midpoint of t-1 and t+1, which is off by 1/sqrt(m) at two points. All lower thresholds differ
// from t at the first point, all higher ones at the second, so none lies below the hyperplane
// there. The two ends are farther out, 2/sqrt(m) from their neighbors, and the only thresholds if
// there are just two.
func chain(c Finite, m int) float64 {
	if c.Size().Cmp(big.NewInt(2)) == 0 {
		return 2 / math.Sqrt(float64(m))
	}
	return math.Sqrt(2 / float64(m))
}
