package boosting

import "math"

// exponentials writes u_i = e^(s_i + shift). It returns how many of them reach 1, and the sum of
// those that do not.
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
// It computes the exponential itself, correct to 1.1 units in the last place, so that it has the
// same bits on every platform, needs no call and lets the processor work on several at once. It
// gives +Inf above 709 and 0 below -708.
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
	roundBits     = 0x4338_0000_0000_0000 // of roundMagic
	ln2Over64High = 0x1.62e42fefp-7       // 33 bits: its product with k is exact
	ln2Over64Low  = 0x1.473de6af278edp-40
)

// powers[i] is 2^(i/64), rounded to nearest.
var powers = [64]float64{
	1.0, 1.0108892860517005, 1.0218971486541166, 1.0330248790212284,
	1.0442737824274138, 1.0556451783605572, 1.0671404006768237, 1.0787607977571199,
	1.0905077326652577, 1.102382583307841, 1.1143867425958924, 1.1265216186082418,
	1.1387886347566916, 1.1511892299529827, 1.1637248587775775, 1.1763969916502812,
	1.189207115002721, 1.202156731452703, 1.215247359980469, 1.22848053610687,
	1.241857812073484, 1.255380757024691, 1.2690509571917332, 1.2828700160787783,
	1.2968395546510096, 1.3109612115247644, 1.3252366431597413, 1.339667524053303,
	1.3542555469368927, 1.3690024229745905, 1.383909881963832, 1.3989796725383112,
	1.4142135623730951, 1.42961333839197, 1.4451808069770467, 1.460917794180647,
	1.4768261459394993, 1.4929077282912648, 1.5091644275934228, 1.5255981507445384,
	1.5422108254079407, 1.559004400237837, 1.5759808451078865, 1.593142151342267,
	1.6104903319492543, 1.6280274218573478, 1.645755478153965, 1.6636765803267364,
	1.681792830507429, 1.7001063537185235, 1.718619298122478, 1.7373338352737062,
	1.7562521603732995, 1.7753764925265212, 1.7947090750031072, 1.8142521755003989,
	1.8340080864093424, 1.8539791250833855, 1.8741676341103, 1.8945759815869656,
	1.9152065613971474, 1.9360617934922943, 1.9571441241754002, 1.978456026387951,
}
