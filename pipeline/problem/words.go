package problem

import (
	"slices"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem/adversary"
	"github.com/shatterlab/shatter/pipeline/problem/distribution"
	"github.com/shatterlab/shatter/schemas"
)

// Labels says in words who labels the points of a resolved problem: a target, and how that is drawn,
// or who else. kind is that of the adversary; empty: there is none. Of a
// target that the sweep file states, the words do not say which it is.
func Labels(p *schemas.Problem, kind string) (words string, target bool) {
	if a := adversary.Lookup(kind); a != nil && a.Labels() {
		return "said by the adversary " + kind + ": there is no target", false
	}
	class, _ := concept.Lookup(p.Class)
	switch p.Target {
	case "":
		words = "those of the file: there is no target, and what is measured is for this one concept and population"
		if p.Disguise {
			words += "; each trial signs them at random"
		}
		return words, false
	case concept.RandomTarget:
		return "drawn at random for each trial; " + p.Class + ": " + class.RandomDoc, true
	case concept.UniformTarget:
		return "drawn at random for each trial; " + p.Class + ": a uniform hypothesis of the class", true
	case concept.MiddleTarget:
		if l := distribution.Lookup(p.Distribution); l != nil && l.OneTarget != "" {
			return "the same in all trials, that of the " + l.Name + " distribution" + calibration, true
		}
		return "the same in all trials; " + p.Class + ": " + class.MiddleDoc + calibration, true
	}
	return "the same in all trials" + calibration + ", a hypothesis that the file states", true
}

// Stated reports whether the target of a resolved problem is a hypothesis that the sweep file states.
func Stated(p *schemas.Problem) bool {
	return !slices.Contains([]string{"", concept.RandomTarget, concept.UniformTarget, concept.MiddleTarget}, p.Target)
}

const calibration = " (a calibration, which measures no learning)"

// OverTargets says what numbers mean where the target is drawn.
const OverTargets = "what is measured is an average over targets; theory's bounds hold for the worst one too, which " +
	"target: each finds in a small class"
