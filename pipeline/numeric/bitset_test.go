package numeric

import (
	"testing"

	"pgregory.net/rapid"
)

func TestBitSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b BitSet
		members := map[int64]bool{}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			i := rapid.Int64Range(0, 300).Draw(t, "i")
			if rapid.Bool().Draw(t, "set") {
				b.Set(i)
				members[i] = true
			} else {
				b.Clear(i)
				delete(members, i)
			}
		}
		from := rapid.Int64Range(0, 400).Draw(t, "from")
		end := rapid.Int64Range(from, 500).Draw(t, "end")
		clear, set := from, from
		for members[clear] {
			clear++
		}
		for set < end && !members[set] {
			set++
		}
		if b.Has(from) != members[from] || b.FirstClear(from) != clear || b.FirstSet(from, end) != set {
			t.Fatalf("has %v, first clear %d, first set %d; want %v, %d, %d",
				b.Has(from), b.FirstClear(from), b.FirstSet(from, end), members[from], clear, set)
		}
	})
}
