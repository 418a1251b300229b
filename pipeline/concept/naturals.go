package concept

import (
	"math"
)

// Naturals names the class of the thresholds on the natural numbers. Its points are 1, 2, ..., up
// to MaxNatural, all of them exact in float64, and t = 1, 2, .... The class contains the constant
// +1 but not the constant -1, although on any finite sample one of its functions is -1.
const Naturals = "thresholds-naturals"

// MaxNatural is the largest point of Naturals: float64 represents all whole numbers up to it.
const MaxNatural = 1 << 53

var naturalsDefinition = Definition{
	Name:        Naturals,
	Doc:         "+1 at the natural numbers from t on, for t = 1, 2, ...",
	Shape:       InfiniteOrder,
	Thresholds:  true,
	New:         newInfinite,
	VC:          exactVC,
	Littlestone: ofInfiniteThresholds,
	NoSeparator: infinitelyMany,
	Rank: func(x float64) (uint64, bool) {
		return uint64(x), x >= 1 && x <= MaxNatural && x == math.Trunc(x)
	},
	Place:     func(i, _ uint64) float64 { return float64(i + 1) },
	PointsDoc: "whole numbers 1 to 2^53",
	First:     1,
	Last:      MaxNatural + 1,
	Examples:  []Spec{{Name: Naturals}},
}
