package concept

// objective holds the parts of a minimization that do not depend on the coordinates of the
// points.
//
// Minimizers start from the sum with every point labeled -1 and add gains. The gain of a point is
// the change of the sum if its label becomes +1: w or -w at an example and 2c at a point of the
// linear term. If several hypotheses have equal computed sums, the first is returned. Sums that
// are equal in exact arithmetic come out equal if no addition rounds, as with whole numbers below
// 2^53.
type objective struct {
	gains       []float64 // gains of the examples
	minus, plus float64   // sum with every point labeled -1, and with every point labeled +1
}

// set loads labels, weights and the linear term's coefficients; w and c may be nil.
func (o *objective) set(y, w, c []float64) {
	o.gains, o.minus, o.plus = o.gains[:0], 0, 0
	for i, label := range y {
		gain := weightOf(w, i)
		if label > 0 {
			o.minus += gain
			gain = -gain
		} else {
			o.plus += gain
		}
		o.gains = append(o.gains, gain)
	}
	for _, v := range c {
		o.minus, o.plus = o.minus-v, o.plus+v
	}
}

// anchors holds one coordinate of the points of a linear term.
type anchors struct {
	axis
	slot []int // point j has the value values[slot[j]]
}

// newAnchors sorts coordinate number axis of the points z, of dim numbers each below domain.
func newAnchors(z []float64, dim, axis int, domain uint64) (a anchors, err error) {
	var s sorter
	shift, err := s.order(z, dim, axis, domain)
	if err != nil {
		return a, err
	}
	a.slot = make([]int, len(s.keys))
	for _, key := range s.keys {
		a.extend(key >> shift)
		a.slot[key&(1<<shift-1)] = len(a.values) - 1
	}
	return a, nil
}

// sweep holds the gains on one axis, summed by value.
type sweep struct {
	sorter
	axis
	sums   []float64 // sums of the gains at each value
	linear []float64 // scratch: gains of the linear term at each of its values
}

// merge sums the gains of the points x in coordinate number axis and, if c is not nil, those of a
// linear term with the coefficients c. Beyond sorting x it takes O(n + m).
func (s *sweep) merge(x []float64, dim, axis int, gains []float64, term *anchors, c []float64) error {
	shift, err := s.order(x, dim, axis, s.domain)
	if err != nil {
		return err
	}
	fixed := s.sumTerm(term, c)
	s.values, s.sums = s.values[:0], s.sums[:0]
	keys, i, mask := s.keys, 0, uint64(1)<<shift-1
	for j := 0; i < len(keys) || j < len(fixed); {
		var v uint64
		var sum float64
		if j < len(fixed) && (i == len(keys) || fixed[j] <= keys[i]>>shift) {
			v, sum = fixed[j], s.linear[j]
			j++
		} else {
			v = keys[i] >> shift
		}
		for ; i < len(keys) && keys[i]>>shift == v; i++ {
			sum += gains[keys[i]&mask]
		}
		s.values, s.sums = append(s.values, v), append(s.sums, sum)
	}
	return nil
}

// sumTerm sums the gains of the linear term by value, and returns these values.
func (s *sweep) sumTerm(term *anchors, c []float64) []uint64 {
	if c == nil {
		return nil
	}
	s.linear = zeroed(s.linear, len(term.values))
	for j, slot := range term.slot {
		s.linear[slot] += float64(2 * c[j])
	}
	return term.values
}
