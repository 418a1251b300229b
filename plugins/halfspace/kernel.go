package halfspace

import (
	"context"
	"math"
)

// All work is inner products of four vectors of a table with another one: four sums in flight, each from the first coordinate to the last. So
// no sum depends on what is computed beside it, and no product is fused into an addition (hence float64(x*y)).

const (
	blockNumbers = 2048 // of a table, 16 KB, that stay in the nearest cache while points of a net go by
	blockPoints  = 4096 // of a net, between two looks at the context
)

// four is the inner products of w with one four, of len(w) coordinates.
func four(rows [][4]float64, w []float64) (a, b, c, d float64) {
	w = w[:len(rows)]
	for j := range rows {
		q, x := &rows[j], w[j]
		a += float64(q[0] * x)
		b += float64(q[1] * x)
		c += float64(q[2] * x)
		d += float64(q[3] * x)
	}
	return a, b, c, d
}

// products writes the inner products of all vectors with w; out is of length n.
func (t *table) products(out, w []float64) {
	var last [4]float64
	for rows := t.fours; len(rows) > 0; rows = rows[t.dim:] {
		last[0], last[1], last[2], last[3] = four(rows[:t.dim], w)
		out = out[copy(out, last[:]):]
	}
}

// sumBelow writes the sum of the vectors whose inner product with w is below limit: four are summed among themselves first.
func (t *table) sumBelow(sum, w []float64, limit float64) {
	clear(sum)
	for rest := t.fours; len(rest) > 0; rest = rest[t.dim:] {
		rows := rest[:t.dim]
		a, b, c, d := four(rows, w)
		a, b, c, d = oneBelow(a, limit), oneBelow(b, limit), oneBelow(c, limit), oneBelow(d, limit)
		if a+b+c+d == 0 {
			continue
		}
		out := sum[:len(rows)]
		for j := range rows {
			q := &rows[j]
			out[j] += (float64(q[0]*a) + float64(q[1]*b)) + (float64(q[2]*c) + float64(q[3]*d))
		}
	}
}

// oneBelow is 1 where v < limit, else 0.
func oneBelow(v, limit float64) float64 { return float64(below(v, limit)) }

// below is 1 where v < limit, else 0, for finite numbers: the sign of the difference, which is exact. Nothing is to be foreseen by the
// processor.
func below(v, limit float64) int32 { return int32(math.Float64bits(v-limit) >> 63) }

// countBelow writes, for each point of a net, how many vectors have an inner product with it below limit > 0. The error is the context's.
func (t *table) countBelow(ctx context.Context, counts []int32, net []float64, limit float64) error {
	clear(counts)
	rows := max(1, blockNumbers/(4*t.dim)) * t.dim
	for lo := 0; lo < len(counts); lo += blockPoints {
		hi := min(lo+blockPoints, len(counts))
		for at := 0; at < len(t.fours); at += rows {
			if err := ctx.Err(); err != nil {
				return err
			}
			countBlock(counts[lo:hi], net[lo*t.dim:hi*t.dim], t.fours[at:min(at+rows, len(t.fours))], limit)
		}
	}
	filled := int32(len(t.fours)/t.dim*4 - t.n) // zero vectors, below limit for all
	for i := range counts {
		counts[i] -= filled
	}
	return nil
}

// countBlock adds to the counts what these fours give.
func countBlock(counts []int32, net []float64, fours [][4]float64, limit float64) {
	dim := len(net) / len(counts)
	for i := range counts {
		counts[i] += countFours(fours, net[i*dim:(i+1)*dim], limit)
	}
}

// countFours is how many vectors in all these fours have an inner product with w below limit.
func countFours(fours [][4]float64, w []float64, limit float64) (count int32) {
	for ; len(fours) >= len(w); fours = fours[len(w):] {
		a, b, c, d := four(fours[:len(w)], w)
		count += below(a, limit) + below(b, limit) + below(c, limit) + below(d, limit)
	}
	return count
}
