package noise

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/numeric"
)

// adversarial acts on the sample as a whole: the sample of n is not a prefix of a larger one.
var adversarial = Noise{
	Name: "adversarial",
	Doc: "floor(rate n) labels are wrong, chosen after seeing the clean sample of n. The direction is drawn " +
		"for each trial, so that a learner which undoes one direction errs twice as much under another. On " +
		"whole numbers an end of the positives, along one coordinate, moves inwards over positives or " +
		"outwards over negatives, the nearest first. For halfspaces the labels with the smallest y<x,v> are " +
		"flipped, where v is a uniform direction; this pulls the average of yx farthest towards v. For " +
		"other points positives are flipped and then negatives, or the reverse. Ties are broken at random",
	Rate: true,
	Step: wholeShare,
	flipper: func(rate float64, points concept.Shape) Flipper {
		return &adversarialFlips{rate: rate, points: points}
	},
}

// adversarialFlips chooses the labels to flip. Bun, Carmosino and Sorrell (2020) allow any
// choice. This one makes the sample look as if another target had labeled it, in one of several
// ways that the sample does not distinguish.
type adversarialFlips struct {
	rate   float64
	points concept.Shape
	rank   []ranked
	toward []float64
}

// ranked is an example with its worth to the adversary: examples with larger worth are flipped
// first. In case of ties the example with the larger luck is flipped first. With ties broken by
// the order in the sample, a learner would know that the later examples are clean.
type ranked struct {
	worth float64
	luck  uint64
	index int
}

// flips returns the number of labels to flip among n: floor(rate n). A product that is below a
// whole number only because of rounding, such as 0.29*100, counts as that number.
func flips(rate float64, n int) int { return int(math.Floor(float64(rate*float64(n)) + 1e-9)) }

// wholeShare returns the least number up to 100 of which the rate flips a whole number of labels,
// or 0 if there is none. Between its multiples the share floor(rate n)/n is not monotone in n,
// and so the success rate is not either.
func wholeShare(rate float64) int64 {
	const most = 100
	for q := int64(1); q <= most && rate > 0; q++ {
		if flipped := float64(rate * float64(q)); math.Abs(flipped-math.Round(flipped)) < 1e-9 {
			return q
		}
	}
	return 0
}

func (f *adversarialFlips) Flip(r *rand.Rand, x, y []float64) {
	k := flips(f.rate, len(y))
	if k == 0 {
		return
	}
	f.draw(r, len(y))
	d := len(x) / len(y)
	switch f.points {
	case concept.Scalar, concept.Grid:
		c := coordinate{x: x[r.IntN(d):], d: d}
		f.rankValues(c.drawShift(r, y), c, y)
	case concept.Ball:
		f.drawDirection(r, d)
		f.rankPulls(x, y)
	default:
		f.rankLabels(numeric.Coin(r), y)
	}
	f.flip(k, y)
}

// draw draws the luck of n examples, and clears their worths.
func (f *adversarialFlips) draw(r *rand.Rand, n int) {
	f.rank = slices.Grow(f.rank[:0], n)[:n]
	for i := range f.rank {
		f.rank[i] = ranked{luck: r.Uint64(), index: i}
	}
}

// flip negates the k labels y of the highest rank.
func (f *adversarialFlips) flip(k int, y []float64) {
	for _, r := range f.first(k) {
		y[r.index] = -y[r.index]
	}
}

// first returns the k examples of the highest rank.
func (f *adversarialFlips) first(k int) []ranked {
	slices.SortFunc(f.rank, func(p, q ranked) int {
		return cmp.Or(cmp.Compare(q.worth, p.worth), cmp.Compare(q.luck, p.luck), cmp.Compare(p.index, q.index))
	})
	return f.rank[:k]
}

// coordinate is one coordinate of all examples.
type coordinate struct {
	x []float64 // starts at the coordinate of the first example
	d int       // number of coordinates of an example
}

func (c coordinate) of(i int) float64 { return c.x[i*c.d] }

// shift is a movement of an end of the positives along a coordinate: the end and the direction.
type shift struct{ right, outward bool }

// drawShift draws the shift of a sample. It does not choose an end without negatives beyond it,
// such as the right end of a threshold, unless both ends are such.
func (c coordinate) drawShift(r *rand.Rand, y []float64) shift {
	low, high := math.Inf(1), math.Inf(-1)
	for i, label := range y {
		if label > 0 {
			low, high = min(low, c.of(i)), max(high, c.of(i))
		}
	}
	below, above := false, false
	for i, label := range y {
		if label < 0 {
			below, above = below || c.of(i) < low, above || c.of(i) > high
		}
	}
	s := shift{right: numeric.Coin(r) > 0, outward: numeric.Coin(r) > 0}
	if below != above {
		s.right = above
	}
	return s
}

// rankValues ranks the examples for a shift of the left end, and mirrored for one of the right
// end. Inwards the order is low positives before high ones, and then high negatives before low
// ones. Outwards it is the negatives on the left of all positives, high ones first, then other
// negatives and then positives, low ones first. Values are below 2^40, so worths are exact.
func (f *adversarialFlips) rankValues(s shift, c coordinate, y []float64) {
	low := math.Inf(1) // least positive
	for i, label := range y {
		if label > 0 {
			low = min(low, s.mirror(c.of(i)))
		}
	}
	for i, label := range y {
		v, worth := s.mirror(c.of(i)), &f.rank[i].worth
		switch negative := label < 0; {
		case s.outward && negative && v < low:
			*worth = 2*concept.MaxDomain + v
		case s.outward == negative:
			*worth = 2*concept.MaxDomain - v
		case s.outward:
			*worth = -v
		default:
			*worth = v
		}
	}
}

// mirror returns the position of v as seen from the end that moves.
func (s shift) mirror(v float64) float64 {
	if s.right {
		return concept.MaxDomain - 1 - v
	}
	return v
}

// rankLabels ranks examples with the label first before the others.
func (f *adversarialFlips) rankLabels(first float64, y []float64) {
	for i, label := range y {
		f.rank[i].worth = label * first
	}
}

// drawDirection draws the direction in which the average is pulled.
func (f *adversarialFlips) drawDirection(r *rand.Rand, d int) {
	f.toward = slices.Grow(f.toward[:0], d)[:d]
	for j := range f.toward {
		f.toward[j] = r.NormFloat64()
	}
}

// rankPulls ranks by -y<x,v> for the drawn direction v: negating the label of an example moves
// the sum of all yx along v by twice that.
func (f *adversarialFlips) rankPulls(x, y []float64) {
	d := len(f.toward)
	for i, label := range y {
		f.rank[i].worth = -float64(label * numeric.Dot(x[i*d:(i+1)*d], f.toward))
	}
}
