package concept

import (
	"fmt"
	"math"
	"slices"
)

// tally is a sample of an ordered domain, counted by value.
type tally struct {
	axis
	sorter          // keys are 2 value, plus 1 if the label is +1
	pos, neg  []int // number of examples of values[i] labeled +1 and -1
	positives int   // number of examples labeled +1
	negatives int
}

// reset counts a new sample, reusing memory.
func (t *tally) reset(o *ordered, x, y []float64) error {
	t.domain, t.positives = o.domain, 0
	t.keys = slices.Grow(t.keys[:0], len(y))[:len(y)]
	x = x[:len(y)]
	for i, label := range y {
		v, ok := coordinate(x[i], o.domain)
		if !ok || label != 1 && label != -1 {
			return o.checkExample(x, y, i)
		}
		plus := positive(label)
		t.positives += int(plus)
		t.keys[i] = v<<1 | plus
	}
	t.negatives = len(y) - t.positives
	t.count()
	return nil
}

// positive returns 1 for the label +1 and 0 for -1, by the sign bit, because branches on labels
// would be mispredicted.
func positive(label float64) uint64 { return ^math.Float64bits(label) >> 63 }

// count sorts the keys and converts them to values and their counts.
func (t *tally) count() {
	slices.Sort(t.keys)
	n := len(t.keys)
	values, pos, neg := slices.Grow(t.values[:0], n)[:n], zeroed(t.pos, n), zeroed(t.neg, n)
	k := -1
	for _, key := range t.keys {
		if v := key >> 1; k < 0 || v != values[k] {
			k++
			values[k] = v
		}
		plus := int(key & 1)
		pos[k] += plus
		neg[k] += 1 - plus
	}
	t.values, t.pos, t.neg = values[:k+1], pos[:k+1], neg[:k+1]
}

// checkExample checks the point and the label of example i.
func (o *ordered) checkExample(x, y []float64, i int) error {
	if _, ok := coordinate(x[i], o.domain); !ok {
		return fmt.Errorf("point %v of example %d: not in the domain of class %q, the integers 0 to %d",
			x[i], i, o.name, o.domain-1)
	}
	return checkLabel(y, i)
}

// checkLabel rejects the label of example i if it is neither -1 nor +1.
func checkLabel(y []float64, i int) error {
	if y[i] != 1 && y[i] != -1 {
		return fmt.Errorf("label %v of example %d: neither -1 nor +1", y[i], i)
	}
	return nil
}

// weightOf returns the weight of example i, or 1 if w is nil.
func weightOf(w []float64, i int) float64 {
	if w == nil {
		return 1
	}
	return w[i]
}
