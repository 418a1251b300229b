package worker

import (
	"fmt"
	"math"
)

// askedAlone is the number of points of a trial that a shuffled recheck asks about one by one.
const askedAlone = 32

// compareAlone fails a trial if the answer to a point that it was asked about alone is not, bit for bit,
// the one that it gave among others. order has the numbers of the points asked about alone.
func (l *listed) compareAlone(trial int, alone []float64, order []int32) {
	for place, a := range alone {
		number := order[place]
		if among := l.sorted[number]; math.Float64bits(a) != math.Float64bits(among) {
			l.scores.fail(trial, "recheck", fmt.Sprintf(
				"answers depend on other points: point %d of %d is answered %v when it is asked alone, and %v among others",
				number+1, l.len, a, among))
			return
		}
	}
}
