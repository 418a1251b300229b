package audit

import (
	"slices"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// A Pair is a way to choose two neighboring samples.
type Pair struct {
	Name string
	Doc  string // description of the samples

	// choose changes a drawn sample into the first one of the pair. It returns the row that is
	// replaced in the second one, and the new example.
	choose func(s Sample) (row int, x []float64, y float64)
}

// A Sample is the sample of a trial: points, row-major, and labels.
type Sample struct {
	Problem *pluginv1.Problem
	X, Y    []float64
}

// Pairs lists the pairs. Pairs of trials use them in turn: see [PairOf].
var Pairs = []Pair{
	{"flip", "copies of one point, with labels that alternate; the label of the first one changes",
		func(s Sample) (int, []float64, float64) {
			s.copyFirst()
			for i := range s.Y {
				s.Y[i] = float64(1 - 2*(i%2))
			}
			return 0, slices.Clone(s.row(0)), -s.Y[0]
		}},
	{"needle", "copies of one example; one of them becomes the outermost point with the other label",
		func(s Sample) (int, []float64, float64) {
			s.copyFirst()
			for i := range s.Y {
				s.Y[i] = s.Y[0]
			}
			return len(s.Y) / 2, s.outermost(), -s.Y[0]
		}},
	{"outlier", "drawn; the last example becomes the outermost point with the other label",
		func(s Sample) (int, []float64, float64) {
			last := len(s.Y) - 1
			return last, s.outermost(), -s.Y[last]
		}},
}

// PairOf returns the index in [Pairs] of the pair that a trial belongs to.
func PairOf(repetition int64) int { return int(repetition / 2 % int64(len(Pairs))) }

// Side returns the sample of its pair that a trial gets: 0 or 1. The trials 2i and 2i+1 get both, in
// an order that the coin of i determines.
func Side(repetition int64, coin uint64) int { return int((uint64(repetition) ^ coin) & 1) }

// Choose changes the drawn sample into a sample of the pair. It returns the points at which models
// are asked, ProbePoints of them; they are the same for both samples.
func (p *Pair) Choose(s Sample, side int) (probes []float64) {
	row, x, y := p.choose(s)
	for _, point := range [ProbePoints][]float64{s.row(row), x, s.row(0), s.row(len(s.Y) - 1)} {
		probes = append(probes, point...)
	}
	if side == 1 {
		copy(s.row(row), x)
		s.Y[row] = y
	}
	return probes
}

func (s Sample) row(i int) []float64 {
	dim := int(s.Problem.GetDim())
	return s.X[i*dim : (i+1)*dim]
}

func (s Sample) copyFirst() {
	for i := range s.Y {
		copy(s.row(i), s.row(0))
	}
}

// outermost returns the last corner of the domain or, for points of the unit ball and rows of data,
// the point of length 1 opposite to the first one.
func (s Sample) outermost() []float64 {
	x := slices.Clone(s.row(0))
	spec := concept.SpecOf(s.Problem)
	switch shape := concept.ShapeOf(spec.Name); {
	case s.Problem.GetRealData() || shape == concept.Ball:
		clear(x)
		x[0] = -1
		if s.row(0)[0] < 0 {
			x[0] = 1
		}
	default:
		for k := range x {
			x[k] = float64(concept.Side(spec) - 1)
		}
	}
	return x
}
