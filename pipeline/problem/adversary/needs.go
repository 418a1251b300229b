package adversary

import (
	"fmt"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem/distribution"
	"github.com/shatterlab/shatter/schemas"
)

// noDistribution refuses problems without a distribution or data, for an adversary of task
// predict.
func noDistribution(p *schemas.Problem) string {
	if concept.ShapeOf(p.Class) == concept.InfiniteOrder {
		return misfit(p)
	}
	return ""
}

// noTarget refuses problems without a target, for an adversary of task predict that chooses its
// own points and therefore needs their labels.
func noTarget(p *schemas.Problem) string {
	if p.Data != nil {
		return "needs a known target, and data has none"
	}
	if distribution.LeastError(p) > 0 {
		return outside(p)
	}
	return noDistribution(p)
}

// noEdge refuses problems whose target is neither a hyperplane nor a box, for an adversary of
// task predict that asks points at the edge of the target.
func noEdge(p *schemas.Problem) string {
	if why := noTarget(p); why != "" {
		return why
	}
	class, ok := concept.Lookup(p.Class)
	if ok && class.Shape == concept.Ball {
		return ""
	}
	if ok && class.Random != nil {
		small := concept.Spec{Name: p.Class, Domain: 2, Dim: 1, Matrix: "01"} // targets of all sizes have the same kind
		if _, box := class.Random(small, 1).(*concept.Box); box {
			return ""
		}
	}
	return misfit(p)
}

// misfit returns the reason of an adversary that does not support the class.
func misfit(p *schemas.Problem) string { return fmt.Sprintf("does not fit the class %s", p.Class) }

// outside returns the reason of an adversary that requires the target to be a hypothesis of the
// class.
func outside(p *schemas.Problem) string {
	return fmt.Sprintf("needs a target in the class, and under the distribution %s it lies outside", p.Distribution)
}

// onDistribution returns a function that refuses problems without a distribution or data, for an
// adversary of task online, and those that refuses refuses; nil refuses no other.
func onDistribution(refuses func(p *schemas.Problem) string) func(p *schemas.Problem) string {
	return func(p *schemas.Problem) string {
		switch {
		case concept.ShapeOf(p.Class) == concept.InfiniteOrder:
			return fmt.Sprintf("does not play on the class %s, which has neither a distribution nor a finite "+
				"Littlestone dimension",
				p.Class)
		case distribution.LeastError(p) > 0:
			return outside(p)
		case refuses == nil:
			return ""
		}
		return refuses(p)
	}
}

// maxListed is the largest number of hypotheses, and of points, of a class that an adversary
// lists; a class matrix may be larger.
const maxListed = 1 << 12

// listable reports whether all hypotheses of the class can be listed.
func listable(p *schemas.Problem) bool {
	class := distribution.ClassOf(p)
	if concept.ShapeOf(p.Class) == concept.Column {
		return true
	}
	if class.Dim > maxListed { // before computing a number of size 2^d
		return false
	}
	c, err := concept.New(class)
	return err == nil && c.Size() != nil && c.Size().IsInt64() && c.Size().Int64() <= maxListed
}

// unsplittable refuses problems whose version spaces are too large to store, for an adversary
// that asks the points that split them.
func unsplittable(p *schemas.Problem) string {
	switch shape := concept.ShapeOf(p.Class); {
	case p.Class == concept.Thresholds, shape == concept.Column:
		return ""
	case listable(p) && concept.Cardinality(distribution.ClassOf(p)) <= maxListed:
		return ""
	}
	return fmt.Sprintf("needs thresholds, a class matrix, or a class of at most %d hypotheses on %d points: take a "+
		"smaller domain or d",
		maxListed, maxListed)
}
