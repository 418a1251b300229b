package algo

import (
	"context"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Declared is a complete [Model]: a hypothesis whose formula Shatter has. Shatter computes its
// error, exactly if the problem has a formula, instead of evaluating the model on points. Make one
// with [Threshold], [Halfspace] and the other constructors. The hypothesis may belong to another
// class than the problem's if it is a function on the same points. A trial fails if its hypothesis
// does not fit its points or contains a NaN.
//
// A model that embeds a *Declared declares it too. Its own Predict, if any, must give the same
// answers.
type Declared struct {
	kind    string
	numbers []float64
	row     string // labels of a Row, '0' or '1' for each point; "" before On
}

// Always is the [Algorithm.Declares] of an algorithm whose models are declared hypotheses in all
// settings.
func Always[P any](*Setting[P]) bool { return true }

// Threshold is +1 at the points x >= t.
func Threshold(t float64) *Declared { return declare("threshold", t) }

// Point is +1 only at the point a.
func Point(a float64) *Declared { return declare("point", a) }

// Interval is +1 at the points from low to high, both included; nowhere if low > high.
func Interval(low, high float64) *Declared { return declare("interval", low, high) }

// Rectangle is +1 where low[k] <= x[k] <= high[k] for every coordinate k. It copies low and high.
func Rectangle(low, high []float64) *Declared {
	return declare("rectangle", append(append([]float64(nil), low...), high...)...)
}

// Stump is sign, -1 or +1, at the points with x[axis] >= cut, and -sign at the others.
func Stump(axis int, cut, sign float64) *Declared { return declare("stump", float64(axis), cut, sign) }

// Parity is +1 if an odd number of the chosen bits are 1. mask has a number for each bit: 1 if it
// is chosen, otherwise 0.
func Parity(mask []float64) *Declared { return declare("parity", mask...) }

// Conjunction is +1 if all its literals hold. literals has a number for each bit: 1 if the bit must
// be 1, -1 if it must be 0, and 0 if the bit is not in the conjunction. A monotone one has no -1.
func Conjunction(literals []float64) *Declared { return declare("conjunction", literals...) }

// Row is row i of the class matrix, counted from 0.
func Row(i int) *Declared { return declare("row", float64(i)) }

// Halfspace is +1 where <w,x> + b >= 0. It copies w.
func Halfspace(w []float64, b float64) *Declared {
	return declare("halfspace", append(w[:len(w):len(w)], b)...)
}

// Constant is sign, -1 or +1, everywhere.
func Constant(sign float64) *Declared { return declare("constant", sign) }

func declare(kind string, numbers ...float64) *Declared {
	return &Declared{kind: kind, numbers: numbers}
}

// Numbers returns the numbers of the hypothesis in the order of the constructor's arguments.
func (d *Declared) Numbers() []float64 { return d.numbers }

// On sets the problem whose matrix contains a Row. A session calls it for each model that Learn
// returns.
func (d *Declared) On(p Problem) {
	if points := int(p.Domain); d.kind == "row" && d.numbers[0] >= 0 && int(d.numbers[0]) < len(p.Matrix)/max(1, points) {
		d.row = p.Matrix[int(d.numbers[0])*points:][:points]
	}
}

// Declaration returns d.
func (d *Declared) Declaration() *Declared { return d }

// declaredBy returns the hypothesis that a model declares, or nil if there is none.
func declaredBy(m Model) *Declared {
	if d, ok := m.(interface{ Declaration() *Declared }); ok {
		return d.Declaration()
	}
	return nil
}

// Predict implements [Model]. It panics if the numbers of the hypothesis do not fit the points.
func (d *Declared) Predict(_ context.Context, x *Data, out []float64) error {
	for i := range out {
		if out[i] = -1; d.holds(x.X(i)) {
			out[i] = 1
		}
	}
	return nil
}

// holds reports whether the label of a point is +1.
func (d *Declared) holds(x []float64) bool {
	v, dim := d.numbers, len(x)
	switch d.kind {
	case "threshold":
		return x[0] >= v[0]
	case "point":
		return x[0] == v[0]
	case "interval", "rectangle":
		for k, at := range x {
			if at < v[k] || at > v[dim+k] {
				return false
			}
		}
		return true
	case "stump":
		return (x[int(v[0])] >= v[1]) == (v[2] > 0)
	case "parity":
		odd := false
		for k, bit := range x {
			odd = odd != (v[k] == 1 && bit == 1)
		}
		return odd
	case "conjunction":
		for k, bit := range x {
			if v[k] != 0 && (v[k] > 0) != (bit == 1) {
				return false
			}
		}
		return true
	case "row":
		return d.row[int(x[0])] == '1'
	case "halfspace":
		return numeric.Dot(v[:dim], x) >= -v[dim]
	}
	return v[0] > 0
}

// appendTo appends the declaration of trial j to those of earlier trials.
func (d *Declared) appendTo(list []*pluginv1.Declared, j int) []*pluginv1.Declared {
	if len(list) == 0 || list[len(list)-1].Kind != d.kind {
		list = append(list, &pluginv1.Declared{Kind: d.kind})
	}
	last := list[len(list)-1]
	last.Trials = append(last.Trials, uint32(j))
	last.Numbers = append(last.Numbers, bytesOf(d.numbers)...)
	return list
}
