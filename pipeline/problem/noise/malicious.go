package noise

import (
	"math"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/numeric"
)

// malicious replaces examples of halfspaces. It acts on the sample as a whole, as adversarial does.
var malicious = Noise{
	Name: "malicious",
	Doc: "floor(rate n) examples are replaced after seeing the clean sample of n. For halfspaces the " +
		"examples with the smallest y<x,m>, where m is the sum of all yx, are replaced by examples with yx " +
		"= -m/|m| and a fair label. This removes the examples that balance the average, and pulls it back " +
		"as far as single examples can. For other points labels are negated, as by adversarial noise. Ties " +
		"are broken at random",
	Rate:   true,
	Points: true,
	Step:   wholeShare,
	flipper: func(rate float64, points concept.Shape) Flipper {
		flips := adversarialFlips{rate: rate, points: points}
		if points == concept.Ball {
			return &maliciousExamples{flips}
		}
		return &flips
	},
}

// maliciousExamples replaces examples in the unit ball. Servedio (2003) and Bun, Carmosino and
// Sorrell (2020) allow an adversary any choice of up to a share of the sample. This one removes
// the examples with the most information on where the average is wrong. It inserts copies of one
// point on which every hypothesis near the average errs with the largest possible margin, so that
// smooth distributions give it their maximum weight. The copies are not hidden: a learner that
// searched for them could remove them.
type maliciousExamples struct{ adversarialFlips }

func (f *maliciousExamples) Flip(r *rand.Rand, x, y []float64) {
	k := flips(f.rate, len(y))
	if k == 0 {
		return
	}
	d := len(x) / len(y)
	f.draw(r, len(y))
	if f.setMean(x, y); numeric.Dot(f.toward, f.toward) == 0 {
		f.drawDirection(r, d)
	}
	f.rankPulls(x, y)
	length := math.Sqrt(numeric.Dot(f.toward, f.toward))
	for _, worst := range f.first(k) {
		i := worst.index
		y[i] = numeric.Coin(r)
		for j, v := range f.toward {
			x[i*d+j] = -y[i] * (v / length)
		}
	}
}

// setMean sets toward to the sum of all yx.
func (f *maliciousExamples) setMean(x, y []float64) {
	d := len(x) / len(y)
	f.toward = append(f.toward[:0], make([]float64, d)...)
	for i, label := range y {
		for j, v := range x[i*d : (i+1)*d] {
			f.toward[j] += label * v // exact: a label is -1 or +1
		}
	}
}
