package concept

import (
	"testing"

	"pgregory.net/rapid"
)

// The tree's least sum is that of a fresh walk over the numbers, or 0.
func TestRunTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := make([]float64, rapid.IntRange(1, 20).Draw(t, "numbers"))
		var tree runTree
		tree.reset(len(numbers))
		for range rapid.IntRange(1, 40).Draw(t, "changes") {
			i, v := rapid.IntRange(0, len(numbers)-1).Draw(t, "i"), rapid.IntRange(-3, 3).Draw(t, "v")
			tree.add(i, v)
			numbers[i] += float64(v)
			run, _, _ := leastRun(numbers)
			if want := min(0, int(run)); tree.least() != want {
				t.Fatalf("least sum of a run of %v: %d, want %d", numbers, tree.least(), want)
			}
		}
	})
}
