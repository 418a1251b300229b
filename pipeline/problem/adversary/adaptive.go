package adversary

import (
	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem/distribution"
	"github.com/shatterlab/shatter/schemas"
)

var adaptive = Adversary{
	Name: "adaptive",
	Doc: "adapts to the answers. On whole numbers it bisects for the edge of the learner's answers, then " +
		"asks the two points next to it. On a class matrix it asks the column that most evenly splits the " +
		"hypotheses which agree with the answers. For halfspaces it asks points on the hyperplane that fits " +
		"the last answers. If it also sees marks, it restarts after each hard query with the hypotheses " +
		"that agree with the hard queries: for halfspaces with the hyperplanes whose normal is orthogonal " +
		"to all of them, as long as there are several",
	Reveals: "nothing about halfspaces and class matrices; of thresholds, nothing except the learner's own answers; " +
		"of other boxes, one coordinate with an edge and a uniform point of the target, whose other coordinates the " +
		"queries share",
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
