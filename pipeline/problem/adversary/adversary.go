// Package adversary holds the adversaries of games. Some ask queries of a model, others play the
// rounds of a game.
//
// An adversary is one value of type Adversary in one file, and one line in the list All. The
// sweep file's schema, the checker and the messages use that list. To add an adversary, write
// such a file and add the line: the tests of this package check each entry against the contract
// of Adversary.
//
// An adversary has access to the problem with its target, and to the answers, but not to the
// sample or the algorithm's parameters or randomness. Its game is a function of the problem, of
// the trial's target, of its own stream of randomness and of the answers, bit for bit.
//
// Start reading at Adversary, then View, which starts games.
package adversary

import (
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/theory"
	"github.com/shatterlab/shatter/schemas"
)

// Adversary is a kind of adversary. Its functions receive a resolved problem, and must not call
// Lookup, nor any function that calls it, because Go would reject the initialization cycle.
type Adversary struct {
	Name string // kind, as in the sweep file
	Doc  string // one-line description of its queries or points, and of its reaction to answers

	// Reveals describes in one line the information of a learner about the target, or about
	// future truths, in addition to the feedback on its answers. It starts with "nothing" if
	// there is none.
	Reveals string

	// Predictable means that truths follow from the class and the previous truths: a learner that
	// exploits this has a regret far below 0. Such a game measures the learners for which it was
	// constructed, and is not a lower bound for others.
	Predictable bool

	// Target means, for an adversary of task online, that the truths are those of the problem's
	// target, or of the rows of data, except for noise. Other adversaries choose the truths
	// themselves, and have no target.
	Target bool

	// Place is the position of the adversary in messages, among those of its task: 1 comes first.
	Place int

	// Refuses returns "" if the adversary can act on a problem, and otherwise the reason, phrased
	// to follow its name.
	Refuses func(p *schemas.Problem) string

	// Sees lists the values of the key sees, the default first; none: the adversary does not use
	// answers. In task predict, such an adversary has a list of queries that may be revealed
	// beforehand.
	Sees []string

	// Knows returns the knowledge of a resolved adversary of this kind about the answers when it
	// chooses, one of theory's constants; nil: the value of the key sees, and nothing if the key
	// does not apply.
	Knows func(a schemas.Adversary) string

	// Width reports whether the key width applies to a problem; nil: never.
	Width func(p *schemas.Problem) bool

	// Rate is the key rate; nil: it does not apply.
	Rate *Rate

	// From lists the classes on which the key from must be stated; on others it does not apply.
	From []string

	// Realizable reports whether all truths of a game on a distribution agree with some hypothesis
	// of the class, if the distribution's target does; nil: they need not.
	Realizable func(a schemas.Adversary) bool

	// queries starts a game of queries after a sample of n, rounds a game of rounds: one of them
	// is nil.
	queries func(g game, a schemas.Adversary, n int64) Queries
	rounds  func(g game, a schemas.Adversary) (Rounds, error)
}

// Rate is the key rate of an adversary.
type Rate struct {
	Default float64                // value of a missing key, 0
	Outside func(v float64) string // reason why a rate is invalid; "" if it is in its range
}

// PlaysRounds reports whether the adversary plays the rounds of a game; otherwise it asks
// queries.
func (k *Adversary) PlaysRounds() bool { return k.rounds != nil }

// RevealsTarget reports whether the queries alone may teach a learner the target.
func (k *Adversary) RevealsTarget() bool {
	return !k.PlaysRounds() && !strings.HasPrefix(k.Reveals, "nothing")
}

// Labels reports whether the adversary chooses the truths itself, so that a game has no target.
func (k *Adversary) Labels() bool { return k.PlaysRounds() && !k.Target }

// Keys lists the keys of the sweep file for the adversary, except its kind.
func (k *Adversary) Keys() (keys []string) {
	if len(k.Sees) > 0 {
		keys = append(keys, "sees")
	} else if !k.PlaysRounds() {
		keys = append(keys, "offline")
	}
	if k.Width != nil {
		keys = append(keys, "width")
	}
	if k.Rate != nil {
		keys = append(keys, "rate")
	}
	if len(k.From) > 0 {
		keys = append(keys, "from")
	}
	return keys
}

// Values of the key sees.
const (
	seesLabels  = "labels"  // predict: the answers
	seesMarks   = "marks"   // predict: the answers, and the queries that were marked as hard
	seesAnswers = "answers" // online: all answers, including that of the current round
	seesPast    = "past"    // online: the answers of the previous rounds
)

// All lists the adversaries in the order of the sweep file's schema.
func All() []*Adversary {
	return []*Adversary{
		&boundary, &repeat, &stochastic, &adaptive,
		&tree, &bisecting, &random, &planted, &roundRobin, &leaderKiller, &greedy, &sharedNoise, &smoothed,
	}
}

// SeesValues lists all values of the key sees.
func SeesValues() (values []string) {
	for _, k := range All() {
		for _, v := range k.Sees {
			if !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
	}
	return values
}

// Lookup returns the adversary with that name, or nil.
func Lookup(name string) *Adversary {
	for _, k := range All() {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// Realizable reports whether all truths of a resolved adversary's game on a distribution whose
// target lies in the class agree with some hypothesis of the class, for all answers.
func Realizable(a schemas.Adversary) bool {
	k := Lookup(a.Kind)
	return k != nil && k.Realizable != nil && k.Realizable(a)
}

// Sight returns the knowledge of a resolved adversary about the answers when it chooses: one of
// theory's constants.
func Sight(a schemas.Adversary) string {
	switch k := Lookup(a.Kind); {
	case k.Knows != nil:
		return k.Knows(a)
	case a.Sees == "":
		return theory.SeesNothing
	case a.Sees == seesAnswers:
		return theory.SeesAnswers
	}
	return theory.SeesPast
}

// always reports that truths agree with some hypothesis of the class, for all options.
func always(schemas.Adversary) bool { return true }

// choices lists the adversaries that play rounds, or those that ask queries, and satisfy a
// condition, by their places.
func choices(rounds bool, ok func(k *Adversary) bool) []string {
	list := slices.DeleteFunc(All(), func(k *Adversary) bool { return k.PlaysRounds() != rounds || !ok(k) })
	slices.SortFunc(list, func(a, b *Adversary) int { return a.Place - b.Place })
	return names(list)
}

// Fitting lists the names of the adversaries that can act on a resolved problem. rounds selects
// them as in choices.
func Fitting(rounds bool, p *schemas.Problem) []string {
	return choices(rounds, func(k *Adversary) bool { return k.Refuses(p) == "" })
}

func names(adversaries []*Adversary) (list []string) {
	for _, k := range adversaries {
		list = append(list, k.Name)
	}
	return list
}
