// Package theory decides whether a bound applies to a measurement of a sweep.
//
// A bound is proved under premises, for example that the target lies in the class or that the
// queries were fixed beforehand. An algorithm names the premises of its bounds, and the registry
// in this package decides for each cell which of them hold. A bound with a premise that fails
// does not apply to the cell; reports show it with the reason instead of comparing it.
//
// Start with [Premises] and [Unmet]. [Goal] handles errors that are measured on a sample.
package theory

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Names of premises in the plugin protocol.
const (
	TargetInClass    = "target-in-class"
	BestReference    = "best-reference"
	CleanLabels      = "clean-labels"
	IndependentNoise = "independent-noise"
	ExactError       = "exact-error"
	FixedBeforehand  = "fixed-beforehand"
	UnseenAnswer     = "unseen-answer"
)

// The knowledge of an adversary about a learner's answers when it chooses a query, or the truth
// of a round.
const (
	SeesNothing = "nothing" // its choices are fixed beforehand
	SeesPast    = "past"    // the previous answers
	SeesAnswers = "answers" // task online: also the answer of the current round
)

// Units of a bound in the plugin protocol: the quantity that its value counts.
const (
	Examples = pluginv1.Examples // sample size
	Regret   = pluginv1.Regret   // loss in excess of the best hypothesis in hindsight
	Mistakes = pluginv1.Mistakes // loss, which equals the expected number of mistakes
)

// ProvedRegret and PrintedRegret are the metrics for a learner's bound on the sequence that was
// played.
const (
	ProvedRegret  = "proved_regret"
	PrintedRegret = "printed_regret"
)

// Premise is an assumption of the proof of a bound.
type Premise struct {
	Name string
	Doc  string // statement about a cell

	// fails returns the reason why the premise does not hold, phrased to follow its name; "": it
	// holds.
	fails func(f Facts) string
}

// Facts describes a cell to premises.
type Facts struct {
	Setting *pluginv1.Setting
	Least   func() (float64, error) // least error of the class on the problem
}

// Premises lists all premises.
func Premises() []Premise { return premises }

var premises = []Premise{
	{TargetInClass, "the target is a hypothesis of the class; in task online, one hypothesis agrees with all truths",
		func(f Facts) string {
			if f.Setting.GetProblem().GetRealizable() {
				return ""
			}
			return "it is not known whether a hypothesis of the class labels all points"
		}},
	{BestReference, "the reference error goal.reference is at least the least error of the class, so that a bound on " +
		"the excess over the best hypothesis is one on the error", bestReference},
	{CleanLabels, "no label of the sample is wrong", func(f Facts) string {
		if p := f.Setting.GetProblem(); noisy(p) {
			return fmt.Sprintf("labels have %s noise at rate %v", p.GetNoise(), p.GetNoiseRate())
		}
		return ""
	}},
	{IndependentNoise, "labels of the sample are wrong independently of each other, if at all", func(f Facts) string {
		if p := f.Setting.GetProblem(); noisy(p) && p.GetNoise() != "random" {
			return fmt.Sprintf("labels have %s noise at rate %v", p.GetNoise(), p.GetNoiseRate())
		}
		return ""
	}},
	{ExactError, "errors are computed exactly, and not measured on a sample of fresh points", func(f Facts) string {
		if m := f.Setting.GetTest(); m > 0 {
			return fmt.Sprintf("errors are measured with the confidence of %d independent points", m)
		}
		return ""
	}},
	{FixedBeforehand, "the adversary's queries or rounds do not depend on answers", func(f Facts) string {
		if sees := f.Setting.GetSees(); sees != SeesNothing {
			return fmt.Sprintf("the adversary reacts to %s", answersSeen[sees])
		}
		return ""
	}},
	{UnseenAnswer, "the adversary chooses the truth of a round without seeing the answer to it", func(f Facts) string {
		if sees := f.Setting.GetSees(); sees == SeesAnswers {
			return fmt.Sprintf("the adversary reacts to %s", answersSeen[sees])
		}
		return ""
	}},
}

// answersSeen describes the knowledge of an adversary.
var answersSeen = map[string]string{SeesPast: "the answers so far", SeesAnswers: "the answer of the round"}

func noisy(p *pluginv1.Problem) bool { return p.GetNoiseRate() > 0 }

// bestReference fails if the reference error is below the least error of the class, or if that is
// unknown.
func bestReference(f Facts) string {
	const slack = 1e-12 // the least error is a sum of masses, and a reference may have been copied from a report
	above := f.Setting.GetReference()
	if f.Setting.GetProblem().GetRealizable() {
		return "" // the least error is 0
	}
	switch least, err := f.Least(); {
	case err != nil:
		return "the least error of the class is not known"
	case least > above+slack:
		return fmt.Sprintf("the least error of the class is %.4g, and goal.reference is %.4g", least, above)
	}
	return ""
}

// Check returns an error if a bound of a plugin cannot be used in a task: it has no name, its
// value is not a number, the task does not have its unit, or its premises are unknown or
// repeated.
func Check(b *pluginv1.Bound, task pluginv1.Task) error {
	units := task.Units()
	switch v := b.GetValue(); {
	case b.GetName() == "":
		return fmt.Errorf("a bound has no name")
	case math.IsNaN(v) || v < 0:
		return fmt.Errorf("bound %q is %v: give a number from 0 on, or +Inf", b.GetName(), v)
	case b.GetUnit() != "" && !slices.Contains(units, b.GetUnit()):
		return fmt.Errorf("bound %q has the unit %q: in the task %s use %s", b.GetName(), b.GetUnit(),
			task.Name(), strings.Join(units, " or "))
	}
	for i, p := range b.GetPremises() {
		switch {
		case !slices.ContainsFunc(premises, func(known Premise) bool { return known.Name == p }):
			return fmt.Errorf("bound %q has the premise %q, which does not exist: use %s", b.GetName(), p,
				strings.Join(Names(), ", "))
		case slices.Contains(b.GetPremises()[:i], p):
			return fmt.Errorf("bound %q states the premise %q twice", b.GetName(), p)
		}
	}
	return checkValues(b)
}

// checkValues returns an error if the intermediate values of a bound cannot all be columns. SQL
// names of columns are not case-sensitive.
func checkValues(b *pluginv1.Bound) error {
	const most, longest = 50, 100
	if n := len(b.GetWith()); n > most {
		return fmt.Errorf("bound %q has %d intermediate values: at most %d are possible", b.GetName(), n, most)
	}
	names := b.WithNames()
	for i, name := range names {
		switch {
		case name == "" || len(name) > longest || strings.ContainsFunc(name, unicode.IsControl):
			return fmt.Errorf("bound %q has the intermediate value %.100q: a name needs 1 to %d bytes and no control "+
				"characters", b.GetName(), name, longest)
		case slices.ContainsFunc(names[:i], func(other string) bool { return strings.EqualFold(name, other) }):
			return fmt.Errorf("bound %q states the intermediate value %q twice", b.GetName(), name)
		}
	}
	return nil
}

// UnitOf returns the unit of a bound in a task, stated or implied.
func UnitOf(b *pluginv1.Bound, task pluginv1.Task) string {
	return cmp.Or(b.GetUnit(), task.Units()[0])
}

// Names lists the names of all premises.
func Names() (names []string) {
	for _, p := range Premises() {
		names = append(names, p.Name)
	}
	return names
}

// Unmet returns the reason why a bound does not apply to a cell: the reason of its algorithm, or
// those of the premises that fail. It returns "" if the bound holds. The premises must have
// passed Check.
func Unmet(b *pluginv1.Bound, f Facts) string {
	if b.GetFails() != "" {
		return b.GetFails()
	}
	var reasons []string
	if UnitOf(b, f.Setting.GetTask()) == Examples {
		if !slices.Contains(b.GetPremises(), TargetInClass) && !slices.Contains(b.GetPremises(), BestReference) {
			reasons = append(reasons, fmt.Sprintf("it has no premise about the labels (one of "+
				"%s and %s)", TargetInClass, BestReference))
		}
		if _, _, ok := GoalOf(f.Setting).Safe(); !ok {
			reasons = append(reasons, fmt.Sprintf("errors are measured with the confidence of %d independent points, too few "+
				"to distinguish errors of reference + alpha from errors of the reference", f.Setting.GetTest()))
		}
	}
	for _, p := range Premises() {
		if !slices.Contains(b.GetPremises(), p.Name) {
			continue
		}
		if why := p.fails(f); why != "" {
			reasons = append(reasons, p.Name+" fails: "+why)
		}
	}
	return strings.Join(reasons, "; ")
}

// Goal is the requirement on a sample size: an error of at most Reference + Alpha with probability 1
// - Beta.
type Goal struct {
	Reference, Alpha, Beta float64
	Test                   int // number of points for measuring the error; 0: it is computed exactly
	Queries                int // task predict: T; the errors of T+1 states count
}

// GoalOf returns the goal of a setting.
func GoalOf(s *pluginv1.Setting) Goal {
	return Goal{s.GetReference(), s.GetAlpha(), s.GetBeta(), int(s.GetTest()), int(s.GetQueries())}
}

// chanceShare is the share of beta that is reserved for measured errors that are too large by
// chance.
const chanceShare = 1.0 / 20

// odds returns -ln of the permitted probability that one measured error is too large.
func (g Goal) odds() float64 {
	return math.Log(float64(g.Queries+1) / (chanceShare * g.Beta))
}

// Safe returns the alpha and beta of true errors with which the measured errors reach g. An error
// measured on m points is the mean of m independent numbers in [0, 1], whose expectations have
// the true error p as their mean. So it is above t = Reference + Alpha with probability at most e^(-m
// KL(t, p)) (Hoeffding 1963, Theorem 1), and also at most p/t (Markov), which does not require
// independence. For k measurements of such errors the probability is at most k times that. A
// twentieth of beta is reserved for it, and alpha is the largest p minus the reference. ok is
// false if no p above the reference satisfies it, because there are too few points.
func (g Goal) Safe() (alpha, beta float64, ok bool) {
	if g.Test == 0 {
		return g.Alpha, g.Beta, true
	}
	t := g.Reference + g.Alpha
	need := g.odds() / float64(g.Test)
	low, high := g.Reference, t
	if !(divergence(t, low) > need) {
		high = low
	}
	for range 60 {
		if p := (low + high) / 2; divergence(t, p) >= need {
			low = p
		} else {
			high = p
		}
	}
	if low = max(low, float64(t*math.Exp(-g.odds()))); low == g.Reference {
		return 0, 0, false
	}
	return low - g.Reference, (1 - chanceShare) * g.Beta, true
}

// divergence returns the Kullback-Leibler divergence of a coin that shows heads with probability
// t from one that does with probability p <= t: +Inf for p = 0.
func divergence(t, p float64) float64 {
	d := float64(t * math.Log(t/p))
	if t < 1 {
		d += float64((1 - t) * math.Log((1-t)/(1-p)))
	}
	return d
}
