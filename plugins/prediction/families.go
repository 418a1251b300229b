package prediction

import (
	"slices"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
)

// A family holds the functions that implement the algorithms of this package for a concept class.
type family struct {
	class string

	// generator makes the generator of the class of p over blocks of points of its domain. affine
	// matters only if offset is set.
	generator func(p algo.Problem, affine bool, blocks []block) (generator, error)
	// offset reports whether affine adds an offset to the hypotheses and 1 to their dimension.
	offset bool
	// check returns an error for problems whose class is too large; nil accepts all problems.
	check func(p algo.Problem) error
	// noisyDim is the largest dimension in which generator minimizes the errors exactly under label
	// noise too; 0 if it does so in every dimension.
	noisyDim int

	// labelings lists the labelings of sorted, distinct queries on the real line, with their errors
	// on the sample. If it is nil, or points have several coordinates, listedLabelings lists the
	// hypotheses one by one.
	labelings func(p algo.Problem, sample *line, queries []float64) dichotomies
	// maxQueries is the largest number of queries that labelings accepts; 0 for any.
	maxQueries int
}

// families lists the classes that the algorithms of this package support. Each algorithm names the
// classes that it accepts; checkProblem returns an error for the others.
var families = []family{
	{class: concept.Thresholds, generator: thresholdGenerator, labelings: thresholdLabelings},
	{class: concept.Intervals, generator: boxGenerator, labelings: intervalLabelings, maxQueries: maxLabeled},
	{
		class: concept.Rectangles, generator: boxGenerator, noisyDim: 2,
		labelings: intervalLabelings, maxQueries: maxLabeled, // dimension 1
	},
	{class: concept.Matrix, generator: listedGenerator},
	{class: concept.Stumps, generator: listedGenerator, check: checkListed},
	{class: concept.Conjunctions, generator: listedGenerator, check: checkListed},
	{class: concept.MonotoneConjunctions, generator: listedGenerator, check: checkListed},
	{class: concept.Halfspace, generator: halfspaceGenerator, offset: true},
}

// familyOf returns the family of a class. Its generator is nil if this package does not support the
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

// allClasses returns the names of the supported classes.
func allClasses() []string { return classesOf(func(family) bool { return true }) }

// finiteClasses returns the names of the classes with finitely many points.
func finiteClasses() []string {
	return classesOf(func(f family) bool { return concept.ShapeOf(f.class).Finite() })
}

// onLine reports whether the family lists the labelings by the class of p from the order of points
// on the real line.
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
