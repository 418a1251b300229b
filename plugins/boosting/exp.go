package boosting

import (
	"math"
	"math/big"
)

// exponentials writes u_i = e^(s_i + shift). It returns the number of u_i that are at least 1, and
// the sum of the others.
func exponentials(u, s []float64, shift float64) (capped int, tail float64) {
	sums := tally{factor: 1, limit: 1}
	for len(s) > 0 {
		near := min(4*blockRows, len(s)) // summed while they are in the nearest cache
		exps(u[:near], s[:near], shift)
		sums.add(u[:near])
		u, s = u[near:], s[near:]
	}
	return sums.capped, sums.tail
}

// exps writes u_i = e^(s_i + shift).
//
// Its own exponential is correct to 1.1 units in the last place, has the same bits on every
// platform, needs no call and lets the processor work on several numbers at once. It returns +Inf
// above 709 and 0 below -708.
func exps(u, s []float64, shift float64) {
	for i, t := range s {
		e := 0.0
		if x := t + shift; x > 709 {
			e = math.Inf(1)
		} else if x >= -708 {
			// x = (k/64) ln 2 + r with |r| <= ln(2)/128. The polynomial for e^r has degree 5;
			// 2^(k/64) comes from the table and the exponent.
			k := float64(x*(64/math.Ln2)) + roundMagic
			bits := math.Float64bits(k) - roundBits
			k -= roundMagic
			r := (x - float64(k*ln2Over64High)) - float64(k*ln2Over64Low)
			q := float64(r * r)
			p := r + float64(q*(0.5+float64(r*(1.0/6)))) +
				float64(float64(q*q)*(1.0/24+float64(r*(1.0/120))))
			power := math.Float64frombits(math.Float64bits(powers[bits%64]) + uint64(int64(bits)>>6)<<52)
			e = power + float64(power*p)
		}
		u[i] = e
	}
}

const (
	roundMagic    = 0x1.8p52              // adding it rounds to an integer, in the low bits
	roundBits     = 0x4338_0000_0000_0000 // bits of roundMagic
	ln2Over64High = 0x1.62e42fefp-7       // 33 bits: its product with k is exact
	ln2Over64Low  = 0x1.473de6af278edp-40
)

// powers[i] is 2^(i/64), rounded to nearest.
var powers = func() (list [64]float64) {
	root := big.NewFloat(2).SetPrec(200)
	for range 6 {
		root.Sqrt(root)
	}
	power := big.NewFloat(1).SetPrec(200)
	for i := range list {
		list[i], _ = power.Float64()
		power.Mul(power, root)
	}
	return list
}()
