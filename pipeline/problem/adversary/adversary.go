// Package adversary holds the adversaries: some ask queries of a model, others play the rounds of a game.
//
// An adversary is one value of type Adversary in one file, and one line in the list All; the sweep
// file's schema, the checker and the messages ask that list. To add an adversary, write such a file
// and add the line: the tests of this package hold each entry to the contract that Adversary
// states.
//
// An adversary knows the problem with its target, and what was answered; never the sample, nor the
// algorithm's parameters or randomness. Its game is a function of the problem, of the trial's
// target, of its own stream of randomness and of the answers, bit for bit.
//
// Start reading at Adversary, then View, which begins games.
package adversary

import (
	"slices"

	"github.com/shatterlab/shatter/pipeline/theory"
	"github.com/shatterlab/shatter/schemas"
)

// Adversary is a kind of adversary. Its functions take a resolved problem, and must not call
// Lookup, nor anything that does: Go would reject the initialisation cycle.
type Adversary struct {
	Name string // the kind, as the sweep file has it
	Doc  string // one line for people: what it asks, and how it answers back

	// Reveals says in one line for people what a game tells a learner about the target, or about the
	// truths to come, beside what the learner is told of its answers.
	Reveals string

	// Predictable says that truths follow from the class and the truths before them: a learner that
	// knows its opponent has a regret far below 0. Such a game measures the learners that it is made
	// against, and shows no lower bound for others.
	Predictable bool

	// Target reports, of an adversary of task online, that the truths are those of the problem's target,
	// or of the rows of data, but for noise. The others say the truths themselves, and have no target.
	Target bool

	// Place orders the adversaries of one task where a message offers a choice: 1 comes first.
	Place int

	// Refuses returns "" where the adversary can act on a problem, and otherwise the reason, to be
	// read after its name.
	Refuses func(p *schemas.Problem) string

	// Sees lists the values of the key sees, the default first; none: the adversary looks at no
	// answer. In task predict, such an adversary has a list of queries that may be revealed
	// beforehand.
	Sees []string

	// Knows returns what a resolved adversary of this kind knows of the answers when it chooses, one of
	// theory's constants; nil: what the key sees says, and nothing where it does not apply.
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

	// queries begins a game of queries after a sample of n, rounds a game of rounds: one of them is nil.
	queries func(g game, a schemas.Adversary, n int64) Queries
	rounds  func(g game, a schemas.Adversary) (Rounds, error)
}

// Rate is the key rate of an adversary.
type Rate struct {
	Default float64                // what a missing key, 0, stands for
	Outside func(v float64) string // what is wrong with a rate, "" where it is in its range
}

// PlaysRounds reports whether the adversary plays the rounds of a game; else it asks queries.
func (k *Adversary) PlaysRounds() bool { return k.rounds != nil }

// Labels reports whether the adversary sets the truths itself, so that a game has no target.
func (k *Adversary) Labels() bool { return k.PlaysRounds() && !k.Target }

// Keys lists the keys of the sweep file that the adversary takes, beside its kind.
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
	seesMarks   = "marks"   // predict: the answers, and which queries were marked as hard
	seesAnswers = "answers" // online: all answers, that of the round too
	seesPast    = "past"    // online: the answers of the rounds before
)

// All lists the adversaries in the order in which the sweep file's schema has them.
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
// target lies in the class agree with some hypothesis of the class, whatever is answered.
func Realizable(a schemas.Adversary) bool {
	k := Lookup(a.Kind)
	return k != nil && k.Realizable != nil && k.Realizable(a)
}

// Sight returns what a resolved adversary knows of the answers when it chooses: one of theory's
// constants.
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

// always reports that truths agree with some hypothesis of the class, whatever the options.
func always(schemas.Adversary) bool { return true }

// choices lists the adversaries that play rounds, or those that ask queries, if they satisfy a condition, by their
// places.
func choices(rounds bool, ok func(k *Adversary) bool) []string {
	list := slices.DeleteFunc(All(), func(k *Adversary) bool { return k.PlaysRounds() != rounds || !ok(k) })
	slices.SortFunc(list, func(a, b *Adversary) int { return a.Place - b.Place })
	return names(list)
}

// Fitting lists the names of the adversaries that can act on a resolved problem, of the kind that choices describes.
func Fitting(rounds bool, p *schemas.Problem) []string {
	return choices(rounds, func(k *Adversary) bool { return k.Refuses(p) == "" })
}

func names(adversaries []*Adversary) (list []string) {
	for _, k := range adversaries {
		list = append(list, k.Name)
	}
	return list
}
