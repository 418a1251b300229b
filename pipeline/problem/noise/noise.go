// Package noise holds the kinds of noise on the labels of a sample, or on whole examples. The
// evaluation always uses clean ones.
//
// A kind is one value of type Noise in one file, and one line in the list All, which the sweep
// file's schema, the checker and the messages ask.
package noise

import (
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem/blame"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

// Noise is a kind of noise.
type Noise struct {
	Name string // as the sweep file has it
	Doc  string // one line for people: which labels become wrong

	// Rate reports whether the kind takes a rate, a number in [0, 1/2).
	Rate bool

	// Points reports whether the kind replaces points too, of some shapes.
	Points bool

	// Step returns the number of which the sample sizes are multiples at which the share of wrong labels
	// is the rate exactly; 0 where there is none that is worth looking for. It is nil where all sizes
	// are alike.
	Step func(rate float64) int64

	// flipper makes what flips labels at a rate, on points of a shape.
	flipper func(rate float64, points concept.Shape) Flipper
}

// Flipper makes labels or examples wrong, sample after sample. It is not safe for concurrent use, and allocates
// nothing in the long run.
type Flipper interface {
	// Flip negates some of the labels y of the clean examples x, row-major, or replaces examples by
	// others that may occur, if its kind has Points. r is the noise's own stream; a kind that draws
	// nothing leaves it alone.
	Flip(r *rand.Rand, x, y []float64)
}

// Step returns what the noise's kind says of its rate, or 0.
func Step(n schemas.Noise) int64 {
	if kind := Lookup(n.Kind); kind != nil && kind.Step != nil {
		return kind.Step(n.Rate)
	}
	return 0
}

// All lists the kinds in the order in which people see them.
func All() []*Noise { return []*Noise{&none, &random, &adversarial, &malicious} }

// Names lists the names of all kinds.
func Names() []string { return names(func(*Noise) bool { return true }) }

func names(ok func(*Noise) bool) (list []string) {
	for _, n := range All() {
		if ok(n) {
			list = append(list, n.Name)
		}
	}
	return list
}

// Lookup returns the kind with that name, or nil.
func Lookup(name string) *Noise {
	for _, n := range All() {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// Resolve checks the noise of a problem, and fills in the kind none where nothing is stated. The
// error is a *blame.Error.
func Resolve(n *schemas.Noise) error {
	if n.Kind == "" && n.Rate == 0 {
		n.Kind = none.Name
	}
	switch kind := Lookup(n.Kind); {
	case kind == nil:
		return blame.Name("problem.noise.kind", n.Kind, Names())
	case !kind.Rate && n.Rate != 0:
		return blame.Key("problem.noise.rate", "%v does not apply to the kind %s; leave it out or set noise.kind to %s",
			n.Rate, n.Kind, wording.Or(names(func(n *Noise) bool { return n.Rate })))
	case !(n.Rate >= 0 && n.Rate < 0.5):
		return blame.Key("problem.noise.rate", "%v is outside [0, 0.5)", n.Rate)
	}
	return nil
}

// Hides reports whether noise makes the samples of a target look, whatever their size, as if another
// one had labelled them, which differs from it on a mass of the rate.
func Hides(n schemas.Noise, points concept.Shape) bool {
	switch points {
	case concept.Scalar, concept.Grid:
		return n.Rate > 0 && (n.Kind == adversarial.Name || n.Kind == malicious.Name)
	case concept.Ball:
		return n.Rate > 0 && n.Kind == adversarial.Name
	default:
		return false
	}
}

// New makes a flipper for a resolved noise on points of a shape.
func New(n schemas.Noise, points concept.Shape) Flipper {
	return Lookup(n.Kind).flipper(n.Rate, points)
}
