// Package cheats holds attackers: algorithms that reach a goal by something else than the
// sample of their trial. Each file holds one of them, and says what it uses.
package cheats

import (
	"context"

	"github.com/shatterlab/shatter/plugins/algo"
)

// Plugins returns the attackers.
func Plugins() []algo.Plugin {
	return append(onLinux, []algo.Plugin{
		blind, order, pca, sleeper, edge, memory, mean, solve, blocks, undo, rowOrder, pretrained, oracle, exit, mixed,
		twoFaced, lost, probes,
	}...)
}

// onLinux holds the attackers that need system calls of Linux.
var onLinux []algo.Plugin

// learner returns an algorithm of the task learn without parameters.
func learner(
	name, doc string, learn func(t *algo.Trial[struct{}], sample *algo.Data) (algo.Model, error),
) algo.Algorithm[struct{}] {
	return algo.Algorithm[struct{}]{
		Name: "cheat/" + name, Version: "1.0.0", Doc: doc,
		Learn: func(_ context.Context, t *algo.Trial[struct{}], sample *algo.Data) (algo.Model, error) {
			return learn(t, sample)
		},
	}
}

// private states that an algorithm is epsilon-differentially private.
func private(a algo.Algorithm[struct{}], source string) algo.Algorithm[struct{}] {
	a.Guarantee = func(s *algo.Setting[struct{}]) (algo.Guarantee, error) {
		return algo.Guarantee{Pure: true, Epsilon: s.Epsilon, Source: source}, nil
	}
	return a
}

// rule labels one point at a time.
type rule func(x []float64) float64

// Predict implements algo.Model.
func (r rule) Predict(_ context.Context, x *algo.Data, out []float64) error {
	for i := range out {
		out[i] = r(x.X(i))
	}
	return nil
}

// from labels the numbers from cut on +1.
func from(cut float64) rule {
	return func(x []float64) float64 { return sign(x[0] - cut) }
}

// along labels the points on the side of a normal vector +1.
func along(normal []float64) rule {
	return func(x []float64) float64 { return sign(dot(normal, x)) }
}

// sign returns -1 below 0, and otherwise +1.
func sign(v float64) float64 {
	if v < 0 {
		return -1
	}
	return 1
}

func dot(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// edges returns the largest number labelled -1 and the smallest labelled +1; those of an empty
// sample are -1 and X.
func edges(t *algo.Trial[struct{}], sample *algo.Data) (low, high float64) {
	low, high = -1, float64(t.Problem.Domain)
	for i := range sample.Len() {
		if v := sample.X(i)[0]; sample.Y(i) > 0 {
			high = min(high, v)
		} else {
			low = max(low, v)
		}
	}
	return low, high
}
