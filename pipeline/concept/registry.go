package concept

import (
	"fmt"
	"math"
	"strings"
)

// Shape is the kind of the points of a class. The zero value is the shape of an unknown class.
type Shape int

// The shapes of points. Domain, Dim and Matrix are fields of Spec.
const (
	Scalar        Shape = iota + 1 // one whole number, 0..Domain-1
	Grid                           // Dim whole numbers, 0..Domain-1 each
	Bits                           // Dim numbers, 0 or 1 each
	Column                         // the number of a column of Matrix, 0..Domain-1
	Ball                           // Dim numbers: a point of the unit ball
	InfiniteOrder                  // one number: a point of an infinite ordered set, see Rank
)

// HasDomain reports whether a class of this shape requires Spec.Domain; the others require 0.
func (s Shape) HasDomain() bool { return s == Scalar || s == Grid || s == Column }

// HasDim reports whether Spec.Dim, the number of coordinates of a point, is a parameter of the
// class. The points of all other classes are single numbers.
func (s Shape) HasDim() bool { return s == Grid || s == Bits || s == Ball }

// Finite reports whether a class of this shape has finitely many points, and so finitely many
// hypotheses.
func (s Shape) Finite() bool { return s == Scalar || s == Grid || s == Bits || s == Column }

// Definition describes a concept class. Each class has one Definition, in a separate file, and
// one line in definitions. Code that depends on properties of a class uses its Definition
// (Lookup) instead of comparing names. To add a class, write such a file and add the line:
// TestDefinitions then checks the new class against the contract below.
//
// All functions take a Spec that New accepted. A nil function is a missing capability; the next
// field holds the reason. The functions of a Definition must not call Lookup, nor any function
// that calls it (Side, Width, New), because Go would reject the initialization cycle.
type Definition struct {
	Name       string // key in sweep files
	Doc        string // one-line description of the functions of the class
	Shape      Shape
	NoConstant bool // the class can omit the function that is -1 everywhere, see Spec.NoConstant

	// Thresholds means that hypothesis number t, or t itself on an InfiniteOrder, labels exactly
	// the points x >= t +1. The hypotheses that agree with a set of labels are then an interval.
	Thresholds bool

	// Column writes the labels of all hypotheses at one point x, in their order: 1 for +1, 0 for
	// -1. It is nil if computing them takes longer than writing them.
	Column func(x []float64, out []uint8)

	// New creates the class. It rejects every Spec whose Domain, Dim or Matrix does not fit.
	New func(s Spec) (Class, error)

	// VC and Littlestone return proved bounds of the dimensions of c, the class of s. If the
	// bounds differ, Dimensions improves them by a search. Littlestone is nil if nothing is
	// proved except Ldim <= log2 |H|; NoLittlestone is the reason.
	VC            func(c Class, s Spec) Dimension
	Littlestone   func(c Class, s Spec) Dimension
	NoLittlestone string

	// Represented returns an upper bound of the representation dimension that is better than the
	// bound from the size of the class; nil: none is known.
	Represented func(s Spec) float64

	// Standard is the separator of the kind standard, WholeDomain that of the kind cube: all
	// points. Both are nil for infinite classes; NoSeparator is the reason. Covers means that for
	// every point where two hypotheses differ, Standard has a point with the same labels of all
	// hypotheses. Code is the separator of the kind code; few classes have one. At separates by
	// any points; nil: all pairs of hypotheses are compared.
	Standard    func(c Finite, s Spec) (*Separator, error)
	Covers      bool
	WholeDomain func(c Finite, s Spec) (*Separator, error)
	NoSeparator string
	Code        func(dim int, seed uint64) (*Separator, error)
	At          func(c Finite, z []float64) (*Separator, error)

	// Targets describes the hypotheses as targets.
	Targets

	// Rank maps a point to a whole number in the same order, and returns false if x is not a
	// point; Place is point number i, from 0, of n in ascending order; PointsDoc describes the
	// points. The thresholds are the ranks First to Last. First is the rank of the least point.
	// Last is one above the rank of the largest point and represents all thresholds above every
	// point. Dense means that there is a point between any two; otherwise every rank from First
	// on is the rank of a point. Only classes on an InfiniteOrder have these fields.
	Rank        func(x float64) (rank uint64, ok bool)
	Place       func(i, n uint64) float64
	PointsDoc   string
	First, Last uint64
	Dense       bool

	// Examples are the classes on which the acceptance suite runs algorithms.
	Examples []Spec
}

// definitions lists the classes in display order.
var definitions = []*Definition{
	&thresholdsDefinition,
	&pointsDefinition,
	&intervalsDefinition,
	&stumpsDefinition,
	&rectanglesDefinition,
	&conjunctionsDefinition,
	&monotoneDefinition,
	&paritiesDefinition,
	&halfspaceDefinition,
	&matrixDefinition,
	&naturalsDefinition,
	&dyadicsDefinition,
}

// Lookup returns the definition of the class with that name, and whether it exists. The caller
// must not change it.
func Lookup(name string) (*Definition, bool) {
	for _, d := range definitions {
		if d.Name == name {
			return d, true
		}
	}
	return nil, false
}

// Names lists the names of all classes.
func Names() []string { return namesOf(func(*Definition) bool { return true }) }

// namesOf lists the names of the classes that satisfy a condition.
func namesOf(ok func(*Definition) bool) (names []string) {
	for _, d := range definitions {
		if ok(d) {
			names = append(names, d.Name)
		}
	}
	return names
}

// ShapeOf returns the shape of the points of a class, or 0 if no class has that name.
func ShapeOf(name string) Shape {
	if d, ok := Lookup(name); ok {
		return d.Shape
	}
	return 0
}

// Side returns the number of values of each coordinate of a point of the class: Domain, or 2 for
// bits, or 0 if there are infinitely many.
func Side(s Spec) uint64 {
	switch ShapeOf(s.Name) {
	case Bits:
		return 2
	case Ball, InfiniteOrder:
		return 0
	}
	return s.Domain
}

// Width returns the number of coordinates of a point of the class: Dim, or 1 if the class has no
// such parameter.
func Width(s Spec) int {
	if d, ok := Lookup(s.Name); ok && !d.Shape.HasDim() {
		return 1
	}
	return s.Dim
}

// Cardinality returns the number of points of the domain, rounded; +Inf if it is infinite.
func Cardinality(s Spec) float64 {
	if Side(s) == 0 {
		return math.Inf(1)
	}
	return math.Pow(float64(Side(s)), float64(Width(s)))
}

// New creates the class of s. The error names the invalid value and the valid ones.
func New(s Spec) (Class, error) {
	d, known := Lookup(s.Name)
	switch {
	case s.NoConstant && !(known && d.NoConstant):
		able := namesOf(func(d *Definition) bool { return d.NoConstant })
		return nil, fmt.Errorf("class %q cannot leave out the constant: only %s can", s.Name, strings.Join(able, ", "))
	case s.Matrix != "" && !(known && d.Shape == Column):
		able := namesOf(func(d *Definition) bool { return d.Shape == Column })
		return nil, fmt.Errorf("class %q takes no matrix: only %s does", s.Name, strings.Join(able, ", "))
	case !known:
		return nil, fmt.Errorf("unknown class %q: use one of %s", s.Name, strings.Join(Names(), ", "))
	}
	return d.New(s)
}

// definitionOf returns the definition of a class created by New.
func definitionOf(c Class) *Definition {
	d, _ := Lookup(c.Name())
	return d
}
