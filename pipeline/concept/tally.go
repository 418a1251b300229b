package concept

import (
	"cmp"
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
			_, err := o.value(x, y, i)
			return err
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

// value returns the point of example i, after checking the point and its label.
func (o *ordered) value(x, y []float64, i int) (uint64, error) {
	v, ok := coordinate(x[i], o.domain)
	if !ok {
		return 0, fmt.Errorf("point %v of example %d: not in the domain of class %q, the integers 0 to %d",
			x[i], i, o.name, o.domain-1)
	}
	return v, checkLabel(y, i)
}

// checkLabel rejects the label of example i if it is neither -1 nor +1.
func checkLabel(y []float64, i int) error {
	if y[i] != 1 && y[i] != -1 {
		return fmt.Errorf("label %v of example %d: neither -1 nor +1", y[i], i)
	}
	return nil
}

// weighted is a weighted sample of an ordered domain, by value.
type weighted struct {
	values   []uint64
	pos, neg []float64 // weights of values[i] labeled +1 and -1
	total    float64   // divisor of the sums of weights
}

// weigh sorts and sums a weighted sample. Without weights each example weighs 1, and the sums are
// exact.
func (o *ordered) weigh(x, y, w []float64) (*weighted, error) {
	return weighByValue(y, w, func(i int) (uint64, error) { return o.value(x, y, i) })
}

// weighByValue sorts and sums a weighted sample whose example i has the value value(i).
func weighByValue(y, w []float64, value func(i int) (uint64, error)) (*weighted, error) {
	order := make([]int, len(y))
	points := make([]uint64, len(y))
	for i := range y {
		v, err := value(i)
		if err != nil {
			return nil, err
		}
		if w != nil && !(w[i] >= 0) {
			return nil, fmt.Errorf("weight %v of example %d: below 0 or not a number", w[i], i)
		}
		order[i], points[i] = i, v
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(points[i], points[j]) })
	s := &weighted{total: 1}
	if w == nil {
		s.total = max(1, float64(len(y)))
	}
	for _, i := range order {
		s.add(points[i], y[i], weightOf(w, i))
	}
	return s, nil
}

// add appends an example whose value is not below the previous ones.
func (s *weighted) add(v uint64, label, weight float64) {
	if k := len(s.values); k == 0 || s.values[k-1] != v {
		s.values, s.pos, s.neg = append(s.values, v), append(s.pos, 0), append(s.neg, 0)
	}
	s.put(len(s.values)-1, label, weight)
}

// put adds an example of values[k].
func (s *weighted) put(k int, label, weight float64) {
	if label > 0 {
		s.pos[k] += weight
	} else {
		s.neg[k] += weight
	}
}

// weightOf returns the weight of example i, or 1 if w is nil.
func weightOf(w []float64, i int) float64 {
	if w == nil {
		return 1
	}
	return w[i]
}

// thresholds returns the error of the thresholds above all values, and the least error of the
// others. Like leastInterval it visits the values in order and keeps the least error so far of
// the hypotheses whose +1 part has not started, is in progress, or has ended. It only adds
// weights and never subtracts: an error of 0 is exactly 0.
func (s *weighted) thresholds() (above, others float64) {
	others = math.Inf(1)
	for i, pos := range s.pos {
		above, others = above+pos, min(above, others)+s.neg[i]
	}
	return above, others
}

// leastInterval returns the least weight that an interval mislabels, given the weights labeled +1
// and -1 at each value.
func leastInterval(pos, neg []float64) float64 {
	below, inside, above := 0.0, math.Inf(1), math.Inf(1)
	for i, p := range pos {
		below, inside, above = below+p, min(below, inside)+neg[i], min(inside, above)+p
	}
	return min(below, inside, above)
}
