package concept

// rangeMinimizer is the Minimizer of the ordered classes; walk, which each class defines, finds
// the minimum. It takes O(n log n + m) for n examples and a linear term of m points.
type rangeMinimizer struct {
	class *ordered
	term  anchors
	objective
	sweep
	walk func(*rangeMinimizer) (Range, float64)
}

// newMinimizer returns a minimizer with a linear term at the points z, and the walk of the class.
func (o *ordered) newMinimizer(z []float64, walk func(*rangeMinimizer) (Range, float64)) (Minimizer, error) {
	if err := o.checkTerm(z); err != nil {
		return nil, err
	}
	term, err := newAnchors(z, 1, 0, o.domain)
	if err != nil {
		return nil, err
	}
	m := &rangeMinimizer{class: o, term: term, walk: walk}
	m.domain = o.domain
	return m, nil
}

// Minimize implements Minimizer.
func (m *rangeMinimizer) Minimize(x, y, w, c []float64) (Hypothesis, float64, error) {
	for i := range y {
		if err := m.class.checkExample(x, y, i); err != nil {
			return nil, 0, err
		}
	}
	m.set(y, w, c)
	if err := m.merge(x[:len(y)], 1, 0, m.gains, &m.term, c); err != nil {
		return nil, 0, err
	}
	h, least := m.walk(m)
	return h, least, nil
}

// leastRun returns the least sum of a run sums[i..j] of neighbors, and the first run by i and
// then j that attains it (Kadane, from the right). It returns 0 if there are no sums.
func leastRun(sums []float64) (least float64, i, j int) {
	run, end := 0.0, 0
	for k := len(sums) - 1; k >= 0; k-- {
		if run < 0 {
			run += sums[k]
		} else {
			run, end = sums[k], k
		}
		if run <= least || k == len(sums)-1 {
			least, i, j = run, k, end
		}
	}
	return least, i, j
}
