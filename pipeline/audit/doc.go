// Package audit tests differential privacy by experiments.
//
// A [Pair] is two neighboring samples, which differ in one example. A trial gives one of them to an
// algorithm and records numbers of the model that a person who sees the model can compute: its
// [Features]. A [Decider] bets against the claim that each event E of the features has
//
//	P(E) <= e^epsilon Q(E) + delta
//
// where P and Q are the distributions for the two samples, or against a claim of Gaussian or
// zero-concentrated privacy in the same way. If the claim is true, the bets multiply
// their wealth by 1/level or more with probability at most level (Ville 1939), however the events and
// the stakes follow from earlier trials. So a refutation is right with that confidence.
//
// Start with [Pairs], [Side] and [NewDecider].
package audit
