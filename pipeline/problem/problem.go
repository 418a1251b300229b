package problem

import (
	"strconv"
	"sync"

	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Problem is an opened problem. It is immutable: any number of Drawers may share one.
type Problem struct {
	spec   schemas.Problem
	exact  *points     // what an exact evaluation runs over; nil where there is a Test sample
	data   *population // nil for a law
	matrix string      // the class matrix; empty for other classes
	dim    int
	domain uint64
	listed func() (*listing, error) // what opponents know of a class that can be listed; made at the first call
}

// points are labelled points with weights that sum to 1. A nil w means that all weigh the same, a nil y that each trial's target labels them.
type points struct {
	x, y, w []float64
}

// Open makes a problem ready to draw from; an unresolved one is resolved first. file is the local path of its data or class
// matrix, "" where it has neither; the digest that p states is verified before anything in the file is decoded. The error is an *Error.
func Open(p schemas.Problem, file string) (*Problem, error) {
	p = p.At(file)
	read, err := resolve(&p)
	if err != nil {
		return nil, err
	}
	o := &Problem{spec: p, data: read.rows, matrix: read.matrix, dim: width(&p), domain: p.Domain}
	o.listed = sync.OnceValues(o.list)
	switch {
	case o.data != nil:
		o.exact = &points{x: o.data.x, y: o.data.y}
	case p.Distribution == needle:
		o.exact = needles(&p)
	case p.Distribution == uniform && cardinality(&p) <= maxSupport:
		o.exact = newEvenly(&p, o.matrix).all()
	}
	return o, nil
}

// Public is what algorithms may know: never the target, never the population.
func (p *Problem) Public() *pluginv1.Problem {
	return &pluginv1.Problem{
		Class:      p.spec.Class,
		Domain:     p.domain,
		Dim:        uint32(p.dim),
		Margin:     p.spec.Margin,
		Noise:      p.spec.Noise.Kind,
		NoiseRate:  p.spec.Noise.Rate,
		NoConstant: p.noConstant(),
		Realizable: p.data == nil,
		RealData:   p.data != nil,
		Matrix:     p.matrix,
	}
}

func (p *Problem) noConstant() bool {
	return p.spec.Class == thresholds && p.spec.Distribution == needle
}

// Dim is the number of numbers per point.
func (p *Problem) Dim() int { return p.dim }

// Exact reports whether the evaluation is exact: over the whole support of the law, or over all rows of the data.
func (p *Problem) Exact() bool { return p.exact != nil }

// Evaluation is "exact", or the size of the evaluation sample.
func (p *Problem) Evaluation() string {
	if p.Exact() {
		return "exact"
	}
	return strconv.Itoa(p.spec.Test)
}

// Population is the features of all rows of the data, row-major and scaled; nil for a law. It is shared: do not write.
func (p *Problem) Population() (x []float64, dim int) {
	if p.data == nil {
		return nil, p.dim
	}
	return p.data.x, p.dim
}

// Rows is the number of rows of the data; 0 for a law.
func (p *Problem) Rows() int {
	if p.data == nil {
		return 0
	}
	return len(p.data.y)
}

// Pulled is how many rows of the data lay beyond the stated scale, by their norm or by any one value, and were pulled back to it.
func (p *Problem) Pulled() int {
	if p.data == nil {
		return 0
	}
	return p.data.pulled
}
