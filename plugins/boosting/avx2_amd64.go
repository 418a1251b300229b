package boosting

import (
	"math"

	"golang.org/x/sys/cpu"
)

// hasAVX2 tells whether the functions below may be called. A test sets it to false.
var hasAVX2 = cpu.X86.HasAVX2

// expLanes holds the constants of expAVX2 and the 1 of capAVX2, in the order in which they name
// them and once for each of the four lanes.
var expLanes = inLanes(64/math.Ln2, roundMagic, ln2Over64High, ln2Over64Low, 1.0/6, 1.0/120,
	math.Float64frombits(63), 1.0/2, 1.0/24, -708, 709, math.Inf(1), 1)

var _ = expLanes // the assembly reads it

// inLanes returns each number four times.
func inLanes(v ...float64) (lanes [13][4]float64) {
	for i, c := range v {
		lanes[i] = [4]float64{c, c, c, c}
	}
	return lanes
}

// innerAVX2 writes the inner products of len(out) rows of x, a multiple of 8, with v. It prefetches
// what lies ahead bytes after the rows in work. Like the functions below, it checks no bounds.
//
//go:noescape
func innerAVX2(out, x, v []float64, ahead int)

// gatherAVX2 adds the sum of len(w) rows of x, a multiple of 4, weighted by w, to acc. It
// prefetches what lies ahead bytes after the rows in work.
//
//go:noescape
func gatherAVX2(acc, x, w []float64, ahead int)

// capAVX2 writes mu_i = min(1, factor * u_i) y_i. The length is a multiple of 4.
//
//go:noescape
func capAVX2(mu, u, y []float64, factor float64)

// lowerAVX2 lowers s_i by half * y_i h_i. The length is a multiple of 4. Each lane lowers one of
// the first four extremes to its smallest y_i h_i, and raises one of the last four to its largest.
//
//go:noescape
func lowerAVX2(s, h, y []float64, half float64, extremes *[8]float64)

// expAVX2 writes u_i = e^(s_i + shift). The length is a multiple of 4.
//
//go:noescape
func expAVX2(u, s []float64, shift float64)

// splitAVX2 writes the sum of each of four blocks of u, without the numbers whose product with
// factor reaches limit. It returns how many it summed.
//
//go:noescape
func splitAVX2(sums *[4]float64, u *[4 * blockRows]float64, factor, limit float64) (free int)
