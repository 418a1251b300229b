package concept

import (
	"math"
)

// Dyadics names the class of the thresholds on the dyadic rationals p/2^k in [0, 1), as far as
// float64 holds them, which it does exactly; t is one of [0, 1], so that both constants are among
// the functions. The order is dense.
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
