package concept

import (
	"math"
	"math/rand/v2"
	"sort"
)

// NewProfile implements Class.
func (c *rectangles) NewProfile() (Profile, error) {
	if err := c.planar("errors of all"); err != nil {
		return nil, err
	}
	return &rectangleProfile{class: c}, nil
}

// rectangleProfile is the profile of the rectangles in the plane. A rectangle that contains the
// rows i..j and the columns k..l of the sample has err = positives + sum, where sum adds up a
// gain of +1 for each negative inside and -1 for each positive; there are rows.left(i)
// rows.right(j) cols.left(k) cols.right(l) such rectangles. The others, the empty one and those
// without a row or a column, have err = positives.
//
// The weight of a rectangle is exp(-eps (err - Min)/2). For each i and j the sums of the columns
// form a sample on one axis.
type rectangleProfile struct {
	plane
	objective  // unweighted: minus is the number of positives
	class      *rectangles
	least      int       // least err - positives: at most 0, because of the empty rectangle
	none       float64   // number of rectangles without a row, including the empty one
	noColumn   float64   // number of column intervals without a column of the sample
	leftCols   []float64 // numbers of ends, as in axis
	rightCols  []float64
	sums       []float64 // scratch: sums of the gains in the current rows, by column
	eps        float64
	decays     []float64 // decays[d] = exp(-eps d/2)
	upto       []float64 // upto[i] = weight of the rectangles whose first row is at most i; upto[all rows] = weight of all
	rowWeights []float64 // scratch: for one i, weight of the rectangles whose last row is at most j
	colWeights columnWeights
}

// columnWeights holds the weights of the intervals of columns, for the sums over several rows.
type columnWeights struct {
	run   []int     // run[l] = the least sum of columns k..l over k <= l
	inner []float64 // inner[l] = sum over k <= l of left(k) decay(sum of k..l - run[l])
	upto  []float64 // upto[l] = weight of the intervals whose last column is at most l; upto[all columns] = weight of all
}

// Reset implements Profile. O(rows^2 columns).
func (p *rectangleProfile) Reset(x, y []float64) error {
	p.eps = math.NaN()
	if err := p.class.check(x, y); err != nil {
		return err
	}
	if err := p.reset(x[:2*len(y)], p.class.domain); err != nil {
		return err
	}
	if err := p.class.checkCost(len(p.rows.values), len(p.cols.values)); err != nil {
		return err
	}
	p.set(y, nil, nil)
	k := len(p.cols.values)
	p.leftCols, p.rightCols, p.sums = p.leftCols[:0], p.rightCols[:0], zeroed(p.sums, k)
	for i := range k {
		p.leftCols, p.rightCols = append(p.leftCols, float64(p.cols.left(i))), append(p.rightCols, float64(p.cols.right(i)))
	}
	p.none, p.noColumn = 1+float64(p.rows.inGaps()*inGap(p.class.domain)), p.cols.inGaps()
	sum, _ := p.leastBlock(p.gains, p.sums)
	p.least = min(int(sum), 0)
	return nil
}

// Min implements Profile.
func (p *rectangleProfile) Min() int { return int(p.minus) + p.least }

// weigh prepares the weights of eps. O(rows^2 columns).
func (p *rectangleProfile) weigh(eps float64) {
	if p.eps == eps {
		return
	}
	p.eps, p.decays, p.upto = eps, p.decays[:0], p.upto[:0]
	for d := 0; d <= len(p.gains); d++ {
		p.decays = append(p.decays, math.Exp(-penalty(eps, d)))
	}
	total := 0.0
	for i := range p.rows.values {
		p.weighRows(i)
		total += p.rowWeights[len(p.rowWeights)-1]
		p.upto = append(p.upto, total)
	}
	p.upto = append(p.upto, total+float64(p.none*p.decay(-p.least)))
}

// weighRows fills rowWeights for the first row i.
func (p *rectangleProfile) weighRows(i int) {
	clear(p.sums)
	p.rowWeights = p.rowWeights[:0]
	left, total := float64(p.rows.left(i)), 0.0
	for j := i; j < len(p.rows.values); j++ {
		p.addRow(j, p.gains, p.sums)
		p.weighColumns()
		total += float64(left * float64(p.rows.right(j)) * p.colWeights.upto[len(p.sums)])
		p.rowWeights = append(p.rowWeights, total)
	}
}

// weighColumns fills colWeights from sums. Nothing overflows or cancels: each inner sum is
// relative to the exponential of its largest term.
func (p *rectangleProfile) weighColumns() {
	s := &p.colWeights
	s.run, s.inner, s.upto = s.run[:0], s.inner[:0], s.upto[:0]
	run, inner, total := 0, 0.0, 0.0
	for l, gain := range p.sums {
		// If run < 0, the intervals that start earlier weigh more than the one that starts here;
		// else less. The decay of the heavier ones is that of 0, which is 1.
		earlier, here := p.decays[max(run, 0)], float64(p.leftCols[l]*p.decays[max(-run, 0)])
		inner = float64(inner*earlier) + here
		run = min(run, 0) + int(gain)
		total += float64(p.rightCols[l] * inner * p.decays[run-p.least])
		s.run, s.inner, s.upto = append(s.run, run), append(s.inner, inner), append(s.upto, total)
	}
	s.upto = append(s.upto, total+float64(p.noColumn*p.decay(-p.least)))
}

// decay implements thinned.
func (p *rectangleProfile) decay(d int) float64 { return p.decays[d] }

// total implements thinned: the weight of all rectangles, at least 1.
func (p *rectangleProfile) total() float64 { return p.upto[len(p.rows.values)] }

// Exponential implements Profile. It draws the first and the last row inside, the last and the
// first column, and then uniform ends.
func (p *rectangleProfile) Exponential(eps float64, r *rand.Rand) Hypothesis {
	p.weigh(eps)
	h, _ := p.draw(r)
	return Rectangle(h[:])
}

// PermuteAndFlip implements Profile.
func (p *rectangleProfile) PermuteAndFlip(eps float64, r *rand.Rand) Hypothesis {
	p.weigh(eps)
	h := thin[[2]Range](p, r)
	return Rectangle(h[:])
}

// draw implements thinned. O(rows columns).
func (p *rectangleProfile) draw(r *rand.Rand) (h [2]Range, excess int) {
	i := pick(p.upto, r)
	if i == len(p.rows.values) {
		return p.drawNone(r), -p.least
	}
	p.weighRows(i)
	j := i + pick(p.rowWeights, r)
	clear(p.sums)
	for row := i; row <= j; row++ {
		p.addRow(row, p.gains, p.sums)
	}
	p.weighColumns()
	cols, sum := p.drawColumns(r)
	return [2]Range{p.rows.around(i, j, r), cols}, sum - p.least
}

// drawColumns draws an interval of columns by colWeights, and returns its sum too.
func (p *rectangleProfile) drawColumns(r *rand.Rand) (Range, int) {
	s := &p.colWeights
	l := pick(s.upto, r)
	if l == len(p.sums) {
		return anyGap(&p.cols, p.noColumn, r), 0
	}
	// From the last column leftwards, each column is the first one with the probability of its
	// term in inner, given that no column before it was.
	k, sum := l, int(p.sums[l])
	for uniform(r)*s.inner[k] >= p.startWeight(k) {
		k--
		sum += int(p.sums[k])
	}
	return p.cols.around(k, l, r), sum
}

// startWeight returns the part of inner[k] that the intervals of columns starting at k
// contribute; at k = 0 it is all of inner[k].
func (p *rectangleProfile) startWeight(k int) float64 {
	if k == 0 || p.colWeights.run[k-1] >= 0 {
		return p.leftCols[k]
	}
	return p.leftCols[k] * p.decays[-p.colWeights.run[k-1]]
}

// drawNone returns a rectangle without a row, drawn uniformly.
func (p *rectangleProfile) drawNone(r *rand.Rand) [2]Range {
	rows, ok := p.rows.between(uniform(r)*p.none/inGap(p.class.domain), r)
	if !ok {
		return [2]Range{Empty(), Empty()}
	}
	return [2]Range{rows, within(0, p.class.domain, r)}
}

// anyGap returns one of the n intervals that contain no value of the axis, drawn uniformly.
func anyGap(a *axis, n float64, r *rand.Rand) Range {
	for { // one iteration, except for rounding
		if h, ok := a.between(uniform(r)*n, r); ok {
			return h
		}
	}
}

// pick draws i with probability proportional to upto[i] - upto[i-1].
func pick(upto []float64, r *rand.Rand) int {
	u := uniform(r) * upto[len(upto)-1]
	return sort.Search(len(upto)-1, func(i int) bool { return upto[i] > u })
}
