package problem

import (
	"github.com/shatterlab/shatter/pipeline/problem/adversary"
	"github.com/shatterlab/shatter/pipeline/problem/distribution"
	"github.com/shatterlab/shatter/pipeline/problem/population"
)

// Summary holds the properties of a problem's file that a plan depends on, in addition to the
// resolved problem.
type Summary struct {
	Rows     int                // number of rows of data; 0 for a distribution
	Positive int                // number of rows with label +1
	Pulled   int                // number of rows beyond the stated scale: see Problem.Pulled
	Missing  float64            // share of the file's rows that were dropped, or of its cells that were filled
	Report   *population.Report // description of the data
	Matrix   string             // labels of the class matrix; empty if the class is not a matrix
}

// summarize returns the summary of what a file held.
func (read *contents) summarize() Summary {
	s := Summary{Matrix: read.matrix}
	if read.rows == nil {
		return s
	}
	s.Rows, s.Pulled, s.Missing, s.Report = len(read.rows.Y), read.rows.Pulled, read.rows.Missing, read.rows.Report
	for _, y := range read.rows.Y {
		if y > 0 {
			s.Positive++
		}
	}
	return s
}

// Summary returns the summary of the problem's file.
func (p *Problem) Summary() Summary { return p.summary }

// openDistribution prepares a problem under a distribution for drawing.
func (p *Problem) openDistribution() {
	if p.Generated() {
		p.sampler = func() distribution.Sampler { return &generated{} } // see Drawer.From
		return
	}
	opened := distribution.Open(&p.spec, p.summary.Matrix)
	p.sampler, p.exact = opened.Sampler, opened.Support
	p.view = adversary.NewView(&p.spec, p.summary.Matrix)
}
