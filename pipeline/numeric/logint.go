package numeric

import (
	"math"
	"math/big"
)

// LogInt returns ln n for n >= 1, even if n is too large for a float64.
func LogInt(n *big.Int) float64 {
	var mantissa big.Float
	exponent := new(big.Float).SetInt(n).MantExp(&mantissa)
	m, _ := mantissa.Float64()
	return math.Log(m) + float64(float64(exponent)*math.Ln2)
}
