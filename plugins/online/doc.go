// Package online is learning in rounds: a point comes, its label is predicted, the truth is told. The classes of pipeline/concept are what a
// learner is measured against: its regret is its loss less the least loss of a function of the class on the same rounds, where a round costs
// (1 - y a)/2 for the answer a and the truth y.
//
//   - online/soa and online/halving keep the functions that agree with all truths so far, and predict for the worst case of a target in
//     the class (Littlestone 1988): their number of mistakes is bounded whatever the number of rounds.
//   - online/agnostic-experts makes no assumption on the truths; its regret grows with the Littlestone dimension (Ben-David, Pal and
//     Shalev-Shwartz 2009).
//   - online/hedge weighs all functions of a finite class, online/follow-the-leader takes the best one so far, and the online/ftpl-* take the
//     best one after random perturbation.
//
// They promise that a game depends on its setting, its rounds and its random numbers alone, not on games before it: what games share are the
// labels and the dimensions of the class. online/hedge and online/agnostic-experts answer the mean of the label, so that their expected loss is
// exact. They need points of the class's domain and truths of -1 or +1; anything else is an error that names it.
//
// On the thresholds of the natural and of the dyadic numbers, which are infinitely many, play online/soa (natural numbers alone) and
// online/follow-the-leader; the others refuse them.
//
// Start with Plugins.
package online

import "github.com/shatterlab/shatter/plugins/algo"

// Plugins are the algorithms of this package.
func Plugins() []algo.Plugin {
	known := new(boards)
	own := []algo.Plugin{soa(known), halving(known), agnosticExperts(known), hedge(known), followTheLeader(known)}
	return append(own, ftplPlugins()...)
}
