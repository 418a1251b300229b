package adversary

import (
	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem/distribution"
	"github.com/shatterlab/shatter/schemas"
)

var adaptive = Adversary{
	Name: "adaptive",
	Doc: "looks at the answers: on whole numbers it bisects for the edge that they show, then asks the two points " +
		"beside it; on a class matrix it asks the column that splits the hypotheses which agree with the answers most " +
		"evenly; for halfspaces it asks points on the hyperplane that fits the last answers. If it sees marks as well, it " +
		"starts over, after each hard query, with what agrees with the hard queries: for halfspaces with the hyperplanes " +
		"whose normal is orthogonal to all of them, as long as more than one is left",
	Reveals: "thresholds: nothing except the learner's own answers; other boxes: a coordinate with an edge, and one " +
		"uniform point of the target, of which the queries share the other numbers; halfspaces and a class matrix: nothing",
	Place: 4,
	Refuses: func(p *schemas.Problem) string {
		if p.Data == nil && concept.ShapeOf(p.Class) == concept.Column {
			return ""
		}
		return noEdge(p)
	},
	Sees:       []string{seesLabels, seesMarks},
	Realizable: always,
	queries: func(g game, a schemas.Adversary, _ int64) Queries {
		marks := a.Sees == seesMarks
		switch target := g.distribution.Target().(type) {
		case *distribution.Plane:
			return newFitter(g, marks)
		case *concept.Box:
			return newBisector(g, target, marks)
		}
		return newSplitter(g, marks)
	},
}
