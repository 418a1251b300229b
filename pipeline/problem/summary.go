package problem

import (
	"strings"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem/adversary"
	"github.com/shatterlab/shatter/pipeline/problem/law"
	"github.com/shatterlab/shatter/schemas"
)

// Summary holds what a plan depends on of a problem's file, beside the resolved problem.
type Summary struct {
	Rows     int    // of data; 0 for a law
	Positive int    // rows whose label is +1
	Pulled   int    // rows that lay beyond the stated scale: see Problem.Pulled
	Matrix   string // labels of the class matrix; empty where the class is none
}

// summarize returns the summary of what a file held.
func (read *contents) summarize() Summary {
	s := Summary{Matrix: read.matrix}
	if read.rows == nil {
		return s
	}
	s.Rows, s.Pulled = len(read.rows.Y), read.rows.Pulled
	for _, y := range read.rows.Y {
		if y > 0 {
			s.Positive++
		}
	}
	return s
}

// Summary returns the summary of the problem's file.
func (p *Problem) Summary() Summary { return p.summary }

// Recall makes a problem that answers all that a plan depends on, but for Best, without its file:
// from the resolved problem and the summary of the file. Nothing can be drawn from data that are
// not here. The error is an *Error.
func Recall(resolved schemas.Problem, s Summary) (*Problem, error) {
	o := &Problem{spec: resolved, summary: s}
	if _, err := resolve(&o.spec, &s); err != nil {
		return nil, err
	}
	o.class = law.Spec(&o.spec, s.Matrix)
	if o.spec.Data != nil {
		o.exact = &law.Points{}
	} else {
		o.openLaw()
	}
	return o, nil
}

// check returns an error if the summary cannot be that of the file of a resolved problem.
func (s *Summary) check(p *schemas.Problem) error {
	switch _, digest := p.File(); {
	case digest == "":
		return refuse("file", "the digest of the file is not recorded")
	case p.Data != nil && concept.ShapeOf(p.Class).HasDim() && (p.Dim < 1 || p.Dim > maxDim):
		return refuse("d", "%d is outside [1, %d]", p.Dim, maxDim)
	case p.Data != nil && (s.Rows < 1 || s.Positive < 0 || s.Positive > s.Rows || s.Pulled < 0 || s.Pulled > s.Rows):
		return refuse("data", "%d rows, %d of them positive and %d pulled, cannot be", s.Rows, s.Positive, s.Pulled)
	case p.Data != nil:
		return nil
	case p.Domain == 0 || s.Matrix == "" || uint64(len(s.Matrix))%p.Domain != 0 || strings.Trim(s.Matrix, "01") != "":
		return refuse("file", "%d labels of %d points are not those of a class matrix", len(s.Matrix), p.Domain)
	}
	return nil
}

// openLaw makes a problem under a law ready to draw from.
func (p *Problem) openLaw() {
	opened := law.Open(&p.spec, p.summary.Matrix)
	p.sampler, p.exact, p.decoys = opened.Sampler, opened.Support, opened.Decoys
	p.design = law.DesignOf(&p.spec)
	p.view = adversary.NewView(&p.spec, p.summary.Matrix)
}
