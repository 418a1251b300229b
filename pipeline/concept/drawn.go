package concept

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
)

// Kinds of separators that are drawn from a separating measure, the uniform one on the domain.
// Any two hypotheses differ there with probability p or more, where p is the h/m of the whole
// domain.
//
// With m points drawn from it, the number of points on which two hypotheses differ is binomial of
// mean m p or more. By Chernoff it is below m p/2 with probability at most e^(-m p/8). By the
// union bound over |F|^2/2 pairs,
//
//	m >= (8/p) ln(|F|^2/(2 drawnRisk))
//
// points keep h/m >= p/2, half of rho^2, except with probability drawnRisk. Only the number of
// points depends on this bound: h is counted on the points that were drawn.
const (
	drawnKind = "drawn" // this many points

	// The number of points in Block and Shetty 2025, Lemma 7, at the same risk: (ln|F| +
	// ln(1/drawnRisk))/rho^2, with rho for labels 0 and 1. Its constants are not proved, and
	// these points need not separate.
	drawnPrintedKind = "drawn-printed"
)

// drawnRisk is the permitted probability that drawn points keep less than half of rho^2.
const drawnRisk = 0.01

// maxWords limits the comparison of all pairs of hypotheses at drawn points to a few seconds.
const maxWords = 1 << 32

// SeededSeparator reports whether separators of a kind depend on a seed.
func SeededSeparator(kind string) bool {
	return kind == "code" || kind == drawnKind || kind == drawnPrintedKind
}

// drawn separates c by points drawn uniformly and independently from its domain. If two
// hypotheses agree at all points, the error names them.
func drawn(c Finite, s Spec, kind string, seed uint64) (*Separator, error) {
	d := definitionOf(c)
	everywhere, err := d.WholeDomain(c, s)
	if err != nil {
		return nil, err
	}
	p := float64(everywhere.Hamming) / float64(everywhere.Len())
	count := drawnCount(kind, p, c.LogSize())
	if !(count <= maxPoints) {
		return nil, errTooManyPoints(fmt.Sprintf("%.0f", count), c.Dim(), maxPoints)
	}
	if err := checkPoints(uint64(count), c.Dim(), maxPoints); err != nil {
		return nil, err
	}
	r, z := rand.New(rand.NewPCG(seed, 1)), make([]float64, int(count)*c.Dim())
	for i := range z {
		z[i] = float64(r.Uint64N(Side(s)))
	}
	at := d.At
	if at == nil {
		at = compared
	}
	w, err := at(c, z)
	if errors.Is(err, errAgree) {
		return nil, fmt.Errorf("%w that were drawn: take another seed, or another kind", err)
	}
	return w, err
}

// drawnCount returns the number of points that a kind draws if the measure separates with p =
// rho^2.
func drawnCount(kind string, p, lnF float64) float64 {
	if kind == drawnPrintedKind {
		return math.Ceil((lnF - math.Log(drawnRisk)) / p)
	}
	return math.Ceil(8 / p * (2*lnF - math.Log(2*drawnRisk)))
}

// compared is computed for sizes that take a few seconds at most.
func compared(c Finite, z []float64) (*Separator, error) {
	n, err := listable(c, maxTable)
	if err != nil {
		return nil, err
	}
	if m := len(z) / c.Dim(); n*n/2*((m+63)/64) > maxWords {
		return nil, fmt.Errorf("separate class %q: all pairs of %d hypotheses at %d points take too long to compare: "+
			"use a smaller class, or another kind", c.Name(), n, m)
	}
	return computed(c, z)
}

// paritiesAt separates the parities by the given points: parity s corresponds to codeword s of
// the code whose generator matrix has the points as columns.
func paritiesAt(c Finite, z []float64) (*Separator, error) {
	if c.Dim() > maxCodeDim {
		return nil, fmt.Errorf("separate parities in dimension %d by drawn points: use at most %d, or kind %q",
			c.Dim(), maxCodeDim, "standard")
	}
	g := generatorOf(z, c.Dim())
	least, most := g.weights()
	if least == 0 {
		return nil, fmt.Errorf("separate class %q: two hypotheses %w %d points", c.Name(), errAgree, g.m)
	}
	return &Separator{Points: z, Dim: g.d, Hamming: least, Spread: spread(most, g.m)}, nil
}

// generatorOf returns the matrix whose columns are points of d bits.
func generatorOf(z []float64, d int) *generator {
	g := &generator{d: d, m: len(z) / d}
	g.words = (g.m + 63) / 64
	g.rows = make([]uint64, d*g.words)
	for j := range g.m {
		for i := range d {
			g.rows[i*g.words+j/64] |= uint64(z[j*d+i]) << (j % 64)
		}
	}
	return g
}
