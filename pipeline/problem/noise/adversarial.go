package noise

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/shatterlab/shatter/pipeline/concept"
)

// adversarial acts on the sample as a whole: the sample of n is no prefix of a larger one.
var adversarial = Noise{
	Name: "adversarial",
	Doc: "floor(rate n) labels are wrong, chosen after seeing the clean sample of n: of halfspaces those with the " +
		"largest y<x,w>, w being the plain average of yx; of an ordered domain positives by increasing value, and once " +
		"they run out negatives by decreasing value; of other points positives, and once they run out negatives; ties go " +
		"to the earlier example",
	Rate: true,
	flipper: func(rate float64, points concept.Shape) Flipper {
		return &adversarialFlips{rate: rate, points: points}
	},
}

// adversarialFlips chooses the labels to flip. On halfspaces it takes the largest pull on a learner
// that averages (Bun, Carmosino and Sorrell 2020 allow any choice); on an ordered domain the left
// end of the target seems to lie further right.
type adversarialFlips struct {
	rate   float64
	points concept.Shape
	rank   []ranked
	pull   []float64
}

// ranked is an example with its worth to the adversary: the larger, the sooner it is flipped.
type ranked struct {
	worth float64
	index int
}

// flips returns the number of labels to flip among n: floor(rate n), where a product that misses a
// whole number by rounding alone, such as 0.29*100, counts as that number.
func flips(rate float64, n int) int { return int(math.Floor(float64(rate*float64(n)) + 1e-9)) }

func (f *adversarialFlips) Flip(_ *rand.Rand, x, y []float64) { f.flip(flips(f.rate, len(y)), x, y) }

// flip negates k of the labels y of the examples x.
func (f *adversarialFlips) flip(k int, x, y []float64) {
	if k == 0 {
		return
	}
	f.rank = slices.Grow(f.rank[:0], len(y))
	switch f.points {
	case concept.Scalar:
		f.rankValues(x, y)
	case concept.Ball:
		f.rankPulls(x, y)
	default:
		f.rankLabels(y)
	}
	slices.SortFunc(f.rank, func(p, q ranked) int {
		if c := cmp.Compare(q.worth, p.worth); c != 0 {
			return c
		}
		return cmp.Compare(p.index, q.index)
	})
	for _, r := range f.rank[:k] {
		y[r.index] = -y[r.index]
	}
}

// rankValues prefers positives to negatives, low positives to high ones and high negatives to low
// ones. Values are below 2^40, so the worth of a positive is exact and above that of any negative.
func (f *adversarialFlips) rankValues(x, y []float64) {
	for i, v := range x {
		worth := v
		if y[i] > 0 {
			worth = 2*concept.MaxDomain - v
		}
		f.rank = append(f.rank, ranked{worth, i})
	}
}

// rankLabels prefers positives to negatives.
func (f *adversarialFlips) rankLabels(y []float64) {
	for i, label := range y {
		f.rank = append(f.rank, ranked{label, i})
	}
}

// rankPulls ranks by y<x,w>, w being the sum of all yx.
func (f *adversarialFlips) rankPulls(x, y []float64) {
	d := len(x) / len(y)
	f.pull = slices.Grow(f.pull[:0], d)[:d]
	clear(f.pull)
	for i, label := range y {
		for j, v := range x[i*d : (i+1)*d] {
			f.pull[j] += float64(label * v)
		}
	}
	for i, label := range y {
		worth := 0.0
		for j, v := range x[i*d : (i+1)*d] {
			worth += float64(v * f.pull[j])
		}
		f.rank = append(f.rank, ranked{float64(label * worth), i})
	}
}
