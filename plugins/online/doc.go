// Package online supplies algorithms that learn in rounds: a point arrives, the learner predicts
// its label, and the truth is revealed. A learner competes with a class of pipeline/concept: its
// regret is its loss minus the least loss of a function of the class on the same rounds. A round
// with the answer a and the truth y costs (1 - y a)/2.
//
//   - online/soa and online/halving keep the functions that agree with all truths so far, and
//     predict for the worst case of a target in the class (Littlestone 1988). Their number of
//     mistakes is bounded for any number of rounds.
//   - online/agnostic-experts assumes nothing about the truths. Its regret grows with the
//     Littlestone dimension (Ben-David, Pal and Shalev-Shwartz 2009).
//   - online/hedge weighs all functions of a finite class, online/follow-the-leader plays the one
//     with the fewest mistakes so far, and the online/ftpl-* play the best one after a random
//     perturbation. online/ftpl-real does so for functions with real values, under squared or absolute
//     loss.
//
// A game depends only on its setting, its rounds and its random numbers, not on earlier games:
// games share only the labels and the dimensions of the class, which do not change. online/hedge
// and online/agnostic-experts answer the mean of the label, so that their expected loss is exact.
//
// The algorithms require points of the class's domain and truths of -1 or +1; an error names any
// other value. There are infinitely many thresholds on the natural and on the dyadic numbers:
// online/follow-the-leader supports both, online/soa supports the natural numbers, and the other
// algorithms return an error.
//
// Start reading at Plugins.
package online

import (
	"context"

	"github.com/shatterlab/shatter/plugins/algo"
)

const version = "1.0.0"

// Plugins returns the algorithms of this package.
func Plugins() []algo.Plugin {
	known := new(boards)
	plugins := []algo.Plugin{
		soa(known), halving(known), agnosticExperts(known), hedge(known), followTheLeader(known),
	}
	return append(plugins, ftplPlugins()...)
}

// complete sets a's Check, Online and Bound, which all begin with resolve: it returns an error for
// a setting or the data that a game under it needs. begin starts a game with this data, and bounds
// returns the bounds on its regret.
func complete[P, R any](
	a algo.Algorithm[P],
	resolve func(*algo.Setting[P]) (R, error),
	begin func(*algo.Trial[P], R) (algo.Learner, error),
	bounds func(*algo.Setting[P], R) []algo.Bound,
) algo.Algorithm[P] {
	a.Version = version
	a.Check = func(s *algo.Setting[P]) error {
		_, err := resolve(s)
		return err
	}
	a.Online = func(_ context.Context, t *algo.Trial[P]) (algo.Learner, error) {
		resolved, err := resolve(&t.Setting)
		if err != nil {
			return nil, err
		}
		return begin(t, resolved)
	}
	a.Bound = func(s *algo.Setting[P]) ([]algo.Bound, error) {
		resolved, err := resolve(s)
		if err != nil {
			return nil, err
		}
		return bounds(s, resolved), nil
	}
	return a
}
