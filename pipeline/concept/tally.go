package concept

import (
	"fmt"
	"math/bits"
	"slices"
)

// tally is a sample of an ordered domain, counted by value.
type tally struct {
	values    []uint64 // distinct, ascending
	pos, neg  []int    // examples of values[i] labelled +1 and -1
	positives int      // all examples labelled +1
	negatives int
	keys      []uint64 // scratch: 2 value, plus 1 where the label is +1
	spare     []uint64
}

// reset counts a new sample, reusing the memory of the last one.
func (t *tally) reset(o *ordered, x, y []float64) error {
	t.keys, t.positives = t.keys[:0], 0
	for i, label := range y {
		v, err := o.value(x, y, i)
		if err != nil {
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
	t.sort(bits.Len64(o.domain-1) + 1)
	t.count()
	return nil
}

// sort sorts the keys, which have at most that many bits: a large sample by counting, digit by digit from the lowest.
func (t *tally) sort(width int) {
	const digit = 11 // bits
	if len(t.keys) < 256 {
		slices.Sort(t.keys)
		return
	}
	from, to := t.keys, slices.Grow(t.spare[:0], len(t.keys))[:len(t.keys)]
	for shift := 0; shift < width; shift += digit {
		var next [1 << digit]int // where the next key with that digit goes
		for _, key := range from {
			next[key>>shift%(1<<digit)]++
		}
		sum := 0
		for d, n := range next {
			next[d], sum = sum, sum+n
		}
		for _, key := range from {
			d := key >> shift % (1 << digit)
			to[next[d]] = key
			next[d]++
		}
		from, to = to, from
	}
	t.keys, t.spare = from, to
}

// count turns sorted keys into values and their counts.
func (t *tally) count() {
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

// value is the point of example i, checked together with its label.
func (o *ordered) value(x, y []float64, i int) (uint64, error) {
	v := uint64(x[i])
	if float64(v) != x[i] || v >= o.domain {
		return 0, fmt.Errorf("point %v of example %d: not in the domain of class %q, the integers 0 to %d", x[i], i, o.name, o.domain-1)
	}
	if y[i] != 1 && y[i] != -1 {
		return 0, fmt.Errorf("label %v of example %d: neither -1 nor +1", y[i], i)
	}
	return v, nil
}

// weighted is a weighted sample of an ordered domain, by value.
type weighted struct {
	values   []uint64
	pos, neg []float64 // weight of values[i] labelled +1 and -1
	total    float64   // what the sums of weights are to be divided by
}

// weigh sorts and sums a weighted sample. Without weights it counts, exactly.
func (o *ordered) weigh(x, y, w []float64) (*weighted, error) {
	order := make([]int, len(y))
	points := make([]uint64, len(y))
	for i := range y {
		v, err := o.value(x, y, i)
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
		weight := 1.0
		if w != nil {
			weight = w[i]
		}
		s.add(points[i], y[i], weight)
	}
	return s, nil
}

// add appends an example whose value is not below those before.
func (s *weighted) add(v uint64, label, weight float64) {
	if k := len(s.values); k == 0 || s.values[k-1] != v {
		s.values, s.pos, s.neg = append(s.values, v), append(s.pos, 0), append(s.neg, 0)
	}
	k := len(s.values) - 1
	if label > 0 {
		s.pos[k] += weight
	} else {
		s.neg[k] += weight
	}
}
