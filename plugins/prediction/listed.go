package prediction

import (
	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

// maxListed is the largest number of hypotheses, and of points, of a class that is listed.
const maxListed = 1 << 12

// listed is Algorithm 3 for a class of few hypotheses on few points, whose labels it lists as a
// matrix: the columns are the points, the first number of a point changing fastest.
type listed struct {
	*matrix
	side uint64 // the numbers of a point are 0..side-1
	at   [1]float64
}

// listedGenerator makes the generator of a class that checkListed accepts.
func listedGenerator(p algo.Problem, _ bool, blocks []block) (generator, error) {
	if err := checkListed(p); err != nil {
		return nil, err
	}
	s := finite.SpecOf(p)
	c, err := concept.New(s)
	if err != nil {
		return nil, algo.Invalid("prediction: %v", err)
	}
	g := &listed{side: concept.Side(s)}
	points := int(concept.Cardinality(s))
	text, labels := make([]byte, 0, points*int(c.Size().Int64())), make([]float64, points)
	x := g.points(points, p.Dim)
	for h := range c.Size().Uint64() {
		c.(concept.Finite).Member(h).Labels(x, labels)
		for _, label := range labels {
			text = append(text, "01"[int(label+1)/2])
		}
	}
	columns := make([]block, len(blocks))
	for i, b := range blocks {
		columns[i] = block{make([]float64, len(b.y)), b.y}
		for j := range b.y {
			columns[i].x[j] = g.column(b.x[j*p.Dim : (j+1)*p.Dim])
		}
	}
	g.matrix, err = newMatrix(columns, string(text), points)
	return g, err
}

// checkListed returns an Invalid error if a class has too many hypotheses or points to be listed.
func checkListed(p algo.Problem) error {
	s := finite.SpecOf(p)
	c, err := concept.New(s)
	if err != nil {
		return algo.Invalid("prediction: %v", err)
	}
	if points := concept.Cardinality(s); points > maxListed || c.Size().BitLen() > 13 || c.Size().Int64() > maxListed {
		return algo.Invalid("prediction: class %q has %s hypotheses on %.4g points, and %d is the most of either: "+
			"take a smaller domain or d", p.Class, c.Size(), points, maxListed)
	}
	return nil
}

// points lists n points of dim numbers, row-major, by their columns.
func (g *listed) points(n, dim int) []float64 {
	x := make([]float64, 0, n*dim)
	for v := range n {
		for rest := uint64(v); len(x) < (v+1)*dim; rest /= g.side {
			x = append(x, float64(rest%g.side))
		}
	}
	return x
}

// column returns the number of the column of a point.
func (g *listed) column(x []float64) float64 {
	v := 0.0
	for j := len(x) - 1; j >= 0; j-- {
		v = v*float64(g.side) + x[j] // exact: all columns are below 2^12
	}
	return v
}

// place returns the point of the matrix that x is.
func (g *listed) place(x []float64) []float64 {
	g.at[0] = g.column(x)
	return g.at[:]
}

func (g *listed) votes(x []float64) int { return g.matrix.votes(g.place(x)) }

func (g *listed) hard(x []float64, label float64) error { return g.matrix.hard(g.place(x), label) }

func (g *listed) public(x []float64) float64 { return g.matrix.public(g.place(x)) }
