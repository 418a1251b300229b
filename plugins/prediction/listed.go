package prediction

import (
	"fmt"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

// maxListed is the largest number of hypotheses, and of points, of a class that is listed. A class
// matrix may have more.
const maxListed = 1 << 12

// listed is Algorithm 3 for a class whose labels are listed. A block's hypothesis is the first one
// with the fewest errors among the hypotheses that agree with the hard queries.
type listed struct {
	defaults
	domain concept.Domain
	labels *concept.LabelTable
	errors []int32 // blocks x hypotheses
	alive  []int   // the hypotheses that agree with the hard queries, ascending
	chosen []int   // per hypothesis, the number of blocks that chose it
	picks  []int   // per block, its hypothesis
}

// maxErrors limits the table of errors to 512 MB.
const maxErrors = 1 << 27

// listedGenerator makes the generator of a class matrix, or of a class that checkListed accepts.
func listedGenerator(p algo.Problem, _ bool, blocks []block) (generator, error) {
	s := finite.SpecOf(p)
	c, err := concept.New(s)
	if err != nil {
		return nil, algo.Invalid("prediction: %v", err)
	}
	g := &listed{domain: concept.DomainOf(c, s), picks: make([]int, len(blocks))}
	if g.labels, err = concept.NewLabelTable(c.(concept.Finite), s); err != nil {
		return nil, algo.Invalid("prediction: %v", err)
	}
	n := g.labels.Functions()
	if n*len(blocks) > maxErrors {
		return nil, fmt.Errorf("%d hypotheses and %d blocks need %d error counts: "+
			"reduce one of them until their product is at most %d", n, len(blocks), n*len(blocks), maxErrors)
	}
	g.errors, g.chosen = make([]int32, n*len(blocks)), make([]int, n)
	for i, b := range blocks {
		errors := g.errors[i*n : (i+1)*n]
		for j, y := range b.y {
			v := g.domain.Number(b.x[j*p.Dim : (j+1)*p.Dim])
			for h := range errors {
				if g.labels.Positive(h, v) != (y > 0) {
					errors[h]++
				}
			}
		}
	}
	for h := range n {
		g.alive = append(g.alive, h)
	}
	g.fit()
	return g, nil
}

// checkListed returns an Invalid error if a class has too many hypotheses or points to be listed.
func checkListed(p algo.Problem) error {
	s := finite.SpecOf(p)
	c, err := concept.New(s)
	if err != nil {
		return algo.Invalid("prediction: %v", err)
	}
	if points := concept.Cardinality(s); points > maxListed || c.Size().BitLen() > 13 || c.Size().Int64() > maxListed {
		return algo.Invalid("prediction: class %q has %s hypotheses on %.4g points, and at most %d of each are supported: "+
			"use a smaller domain or d", p.Class, c.Size(), points, maxListed)
	}
	return nil
}

func (g *listed) fit() {
	clear(g.chosen)
	for i := range g.picks {
		errors := g.errors[i*len(g.chosen):]
		first := g.alive[0]
		for _, h := range g.alive {
			if errors[h] < errors[first] {
				first = h
			}
		}
		g.picks[i] = first
		g.chosen[first]++
	}
}

func (g *listed) votes(x []float64) int {
	n, v := 0, g.domain.Number(x)
	for _, h := range g.alive {
		if g.chosen[h] > 0 && g.labels.Positive(h, v) {
			n += g.chosen[h]
		}
	}
	return n
}

// hard implements generator: it keeps the hypotheses that label x so, or all if there are none.
func (g *listed) hard(x []float64, label float64) error {
	v := g.domain.Number(x)
	var left []int
	for _, h := range g.alive {
		if g.labels.Positive(h, v) == (label > 0) {
			left = append(left, h)
		}
	}
	if len(left) > 0 {
		g.alive = left
		g.fit()
	}
	return nil
}

// public implements generator: it answers by the first remaining hypothesis.
func (g *listed) public(x []float64) float64 {
	return labelOf(g.labels.Positive(g.alive[0], g.domain.Number(x)))
}
