package problem

import (
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem/adversary"
	"github.com/shatterlab/shatter/pipeline/problem/distribution"
	"github.com/shatterlab/shatter/schemas"
)

// Labels describes the source of the labels of a resolved problem: a target with its
// distribution, or another source. kind is that of the adversary; empty: there is none. If the
// sweep file states the target, words does not identify it.
func Labels(p *schemas.Problem, kind string) (words string, target bool) {
	if a := adversary.Lookup(kind); a != nil && a.Labels() {
		return "chosen by the adversary " + kind + ": there is no target", false
	}
	if p.Plugin != nil {
		return "of the plugin's problem " + p.Plugin.Name + ", with a target for each trial", true
	}
	class, _ := concept.Lookup(p.Class)
	switch p.Target {
	case "":
		words = "from the data file; there is no target, and results hold only for this concept and population"
		if p.Disguise {
			words += "; each trial multiplies the labels by a random sign"
		}
		return words, false
	case concept.RandomTarget:
		return "drawn for each trial (" + p.Class + ": " + strings.ReplaceAll(class.RandomDoc, "`", "") + ")", true
	case concept.UniformTarget:
		return "drawn for each trial (" + p.Class + ": a uniform hypothesis of the class)", true
	case concept.MiddleTarget:
		if l := distribution.Lookup(p.Distribution); l != nil && l.OneTarget != "" {
			return "the same in all trials (that of the " + l.Name + " distribution)" + calibration, true
		}
		return "the same in all trials (" + p.Class + ": " + class.MiddleDoc + ")" + calibration, true
	}
	return "the same in all trials" + calibration + "; a hypothesis from the sweep file", true
}

// Stated reports whether the target of a resolved problem is a hypothesis that the sweep file states.
func Stated(p *schemas.Problem) bool {
	return !slices.Contains([]string{"", concept.RandomTarget, concept.UniformTarget, concept.MiddleTarget}, p.Target)
}

const calibration = ": a calibration, which measures no learning"

// OverTargets explains results for drawn targets.
const OverTargets = "Results for drawn targets are averages over targets. Proved bounds cover the worst target; " +
	`"target: each" measures every target of a small class.`
