package law

import (
	"testing"
)

// levelsOf returns the levels of all points of an array, before they are permuted.
func levelsOf(dim, s int) (all [][]int) {
	a := array{s: s, at: make([]int32, dim)}
	for range s * s {
		of := make([]int, dim)
		for j, l := range a.at {
			of[j] = int(l)
		}
		all = append(all, of)
		a.step(int32(s))
	}
	return all
}

// Each pair of levels of two numbers occurs once.
func TestArrayLevels(t *testing.T) {
	for _, c := range []struct{ dim, s int }{{3, 3}, {4, 5}, {5, 5}, {7, 11}, {32, 37}} {
		all := levelsOf(c.dim, c.s)
		for j := range c.dim {
			for k := range j {
				seen := make([]bool, c.s*c.s)
				for i, of := range all {
					pair := of[k]*c.s + of[j]
					if seen[pair] {
						t.Fatalf("%+v: numbers %d and %d of point %d have levels that occurred before", c, k, j, i)
					}
					seen[pair] = true
				}
			}
		}
	}
}
