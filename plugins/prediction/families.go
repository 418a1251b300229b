package prediction

import (
	"slices"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
)

// family holds what the algorithms of this package can do with a concept class.
type family struct {
	class string

	// generator makes the generator of the class of p over blocks of points of its domain. affine
	// matters only where offset is set.
	generator func(p algo.Problem, affine bool, blocks []block) (generator, error)
	// offset says that affine adds an offset to the hypotheses, and one to their dimension.
	offset bool
	// check refuses problems whose class is too large; nil: none is.
	check func(p algo.Problem) error
	// noisyDim is the largest dimension in which generator minimises the errors exactly under label
	// noise too; 0 where it always does.
	noisyDim int

	// labelings lists the labelings of sorted, distinct queries, which are points of one number, with
	// their errors on the sample. Where it is nil, or points have more numbers, the hypotheses are
	// listed one by one; see listedLabelings.
	labelings func(p algo.Problem, sample *line, queries []float64) dichotomies
	// maxQueries is the largest number of queries for which labelings serves; 0 for any.
	maxQueries int
}

// families lists the classes that the algorithms of this package know. An algorithm serves those of
// them that it names, and refuses all others by checkProblem.
var families = []family{
	{class: concept.Thresholds, generator: thresholdGenerator, labelings: thresholdLabelings},
	{class: concept.Intervals, generator: boxGenerator, labelings: intervalLabelings, maxQueries: maxLabeled},
	{
		class: concept.Rectangles, generator: boxGenerator, noisyDim: 2,
		labelings: intervalLabelings, maxQueries: maxLabeled, // in dimension 1
	},
	{class: concept.Matrix, generator: listedGenerator},
	{class: concept.Stumps, generator: listedGenerator, check: checkListed},
	{class: concept.Conjunctions, generator: listedGenerator, check: checkListed},
	{class: concept.MonotoneConjunctions, generator: listedGenerator, check: checkListed},
	{class: concept.Halfspace, generator: halfspaceGenerator, offset: true},
}

// familyOf returns the family of a class. It has no generator where this package does not know the
// class.
func familyOf(class string) family {
	i := slices.IndexFunc(families, func(f family) bool { return f.class == class })
	if i < 0 {
		return family{class: class}
	}
	return families[i]
}

// classesOf returns the names of the classes whose families satisfy a condition.
func classesOf(ok func(f family) bool) (names []string) {
	for _, f := range families {
		if ok(f) {
			names = append(names, f.class)
		}
	}
	return names
}

// allClasses returns the names of the classes that this package knows.
func allClasses() []string { return classesOf(func(family) bool { return true }) }

// finiteClasses returns the names of those that have finitely many points.
func finiteClasses() []string {
	return classesOf(func(f family) bool { return concept.ShapeOf(f.class).Finite() })
}

// onLine reports whether the family lists the labelings by the class of p from the order of points
// of one number.
func (f family) onLine(p algo.Problem) bool { return f.labelings != nil && p.Dim <= 1 }

func thresholdGenerator(p algo.Problem, _ bool, blocks []block) (generator, error) {
	return newThresholds(blocks, p.Domain, p.NoConstant), nil
}

func boxGenerator(p algo.Problem, _ bool, blocks []block) (generator, error) {
	return newRectangles(blocks, p.Domain, p.Dim), nil
}

func halfspaceGenerator(p algo.Problem, affine bool, blocks []block) (generator, error) {
	return newHalfspaceGenerator(blocks, p.Dim, affine)
}

func thresholdLabelings(p algo.Problem, sample *line, queries []float64) dichotomies {
	last := float64(p.Domain)
	if p.NoConstant {
		last--
	}
	return thresholdDichotomies(sample, queries, last)
}

func intervalLabelings(_ algo.Problem, sample *line, queries []float64) dichotomies {
	return intervalDichotomies(sample, queries)
}
