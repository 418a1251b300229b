package concept

import (
	"math"
)

// Dyadics names the class of the thresholds on the dyadic rationals p/2^k in [0, 1) that are
// exact in float64. t is in [0, 1], so that the class contains both constants. The order is
// dense.
const Dyadics = "thresholds-dyadics"

var dyadicsDefinition = Definition{
	Name:        Dyadics,
	Doc:         "+1 at the dyadic rationals of [0, 1) from t on",
	Shape:       InfiniteOrder,
	Thresholds:  true,
	New:         newInfinite,
	VC:          exactVC,
	Littlestone: ofInfiniteThresholds,
	NoSeparator: infinitelyMany,
	Rank: func(x float64) (uint64, bool) {
		return math.Float64bits(math.Abs(x)), x >= 0 && x < 1 // -0 is 0
	},
	Place:     func(i, n uint64) float64 { return float64(i) / float64(n) },
	PointsDoc: "numbers from 0 on below 1",
	First:     0,
	Last:      math.Float64bits(1),
	Dense:     true,
	Examples:  []Spec{{Name: Dyadics}},
}
