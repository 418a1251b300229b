package concept

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// tally is a sample of an ordered domain, counted by value.
type tally struct {
	axis
	sorter          // of 2 value, plus 1 where the label is +1
	pos, neg  []int // examples of values[i] labelled +1 and -1
	positives int   // all examples labelled +1
	negatives int
}

// reset counts a new sample, reusing the memory of the last one.
func (t *tally) reset(o *ordered, x, y []float64) error {
	t.domain, t.keys, t.positives = o.domain, t.keys[:0], 0
	for i, label := range y {
		v, ok := coordinate(x[i], o.domain)
		if !ok || label != 1 && label != -1 {
			_, err := o.value(x, y, i)
			return err
		}
		key := v << 1
		if label > 0 {
			key |= 1
			t.positives++
		}
		t.keys = append(t.keys, key)
	}
	t.negatives = len(y) - t.positives
	t.count()
	return nil
}

// count sorts the keys and turns them into values and their counts.
func (t *tally) count() {
	t.sort(0, bits.Len64(t.domain-1)+1)
	t.values, t.pos, t.neg = t.values[:0], t.pos[:0], t.neg[:0]
	k := -1
	for _, key := range t.keys {
		if v := key >> 1; k < 0 || v != t.values[k] {
			t.values, t.pos, t.neg = append(t.values, v), append(t.pos, 0), append(t.neg, 0)
			k++
		}
		if key&1 == 1 {
			t.pos[k]++
		} else {
			t.neg[k]++
		}
	}
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

// checkLabel refuses the label of example i if it is neither -1 nor +1.
func checkLabel(y []float64, i int) error {
	if y[i] != 1 && y[i] != -1 {
		return fmt.Errorf("label %v of example %d: neither -1 nor +1", y[i], i)
	}
	return nil
}

// weighted is a weighted sample of an ordered domain, by value.
type weighted struct {
	values   []uint64
	pos, neg []float64 // weight of values[i] labelled +1 and -1
	total    float64   // what the sums of weights are to be divided by
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
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case points[i] < points[j]:
			return -1
		case points[i] > points[j]:
			return 1
		}
		return 0
	})
	s := &weighted{total: 1}
	if w == nil {
		s.total = max(1, float64(len(y)))
	}
	for _, i := range order {
		s.add(points[i], y[i], weightOf(w, i))
	}
	return s, nil
}

// add appends an example whose value is not below those before.
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

// weightOf returns the weight of example i: 1 where w is nil.
func weightOf(w []float64, i int) float64 {
	if w == nil {
		return 1
	}
	return w[i]
}

// thresholds returns the error of the thresholds above all values, and the least error of the
// others. Like leastInterval it walks over the values in order and keeps the least error so far of
// the hypotheses whose +1 part has not begun, lasts, or has ended. Weights are only ever added,
// never subtracted: an error of 0 comes out as 0.
func (s *weighted) thresholds() (above, others float64) {
	others = math.Inf(1)
	for i, pos := range s.pos {
		above, others = above+pos, min(above, others)+s.neg[i]
	}
	return above, others
}

// leastInterval returns the least weight that an interval labels wrongly, given the weights
// labelled +1 and -1 at each value.
func leastInterval(pos, neg []float64) float64 {
	below, inside, above := 0.0, math.Inf(1), math.Inf(1)
	for i, p := range pos {
		below, inside, above = below+p, min(below, inside)+neg[i], min(inside, above)+p
	}
	return min(below, inside, above)
}
