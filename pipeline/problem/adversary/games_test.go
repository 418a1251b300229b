package adversary

import (
	"math/rand/v2"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem/distribution"
	"github.com/shatterlab/shatter/pipeline/problem/population"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas"
)

// opened is a resolved problem on which adversaries play.
type opened struct {
	spec    schemas.Problem
	sampler func() distribution.Sampler
	view    *View
}

// open resolves a problem that must be valid, as far as games need it, and reads its file.
func open(t testing.TB, p schemas.Problem) *opened {
	t.Helper()
	var rows *population.Rows
	var matrix string
	var err error
	switch {
	case p.Data != nil:
		rows, err = population.Read(p.Data, distribution.Spec(&p, ""))
		if err == nil && concept.ShapeOf(p.Class).HasDim() {
			p.Dim = rows.Dim
		}
	case p.Matrix != nil:
		var points int
		matrix, points, err = population.ReadMatrix(p.Matrix, 0)
		p.Domain = uint64(points)
	}
	if err != nil {
		t.Fatal(err)
	}
	if l := distribution.Lookup(p.Distribution); l != nil && p.Target == "" {
		p.Target, p.Literals = l.DefaultTarget(), min(concept.DefaultLiterals, p.Dim)
	}
	o := &opened{spec: p, view: NewView(&p, matrix)}
	if o.sampler = distribution.Open(&p, matrix).Sampler; rows != nil {
		o.sampler = func() distribution.Sampler { return population.Sampler{Rows: rows} }
	}
	return o
}

// openCSV opens a problem over the rows of a CSV file.
func openCSV(t testing.TB, text string, p schemas.Problem) *opened {
	t.Helper()
	p.Data.File = testkit.WriteFile(t, "data.csv", text)
	return open(t, p)
}

// overData returns a problem over a file with the label "y" and the positive value "p". A
// halfspace has the bound 1.
func overData(class string, domain uint64) schemas.Problem {
	p := schemas.Problem{Class: class, Domain: domain, Data: &schemas.Data{Label: "y", Positive: "p"}}
	if class == "halfspace" {
		p.Data.Scale.Norm = 1
	}
	return p
}

// fresh returns the problem in its initial state.
func (o *opened) fresh() *opened {
	return &opened{spec: o.spec, sampler: o.sampler, view: NewView(&o.spec, o.view.class.Matrix)}
}

func (o *opened) Dim() int     { return o.view.class.Dim }
func (o *opened) side() uint64 { return concept.Side(o.view.class) }

// trial returns a sampler at a trial.
func (o *opened) trial(seed, rep uint64) distribution.Sampler {
	s := o.sampler()
	s.Begin(rand.New(rand.NewPCG(seed, rep<<2)))
	return s
}
