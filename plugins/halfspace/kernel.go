package halfspace

import (
	"context"
	"math"
)

// All work is inner products of four vectors of a table with another vector: four sums in flight,
// each from the first coordinate to the last. So no sum depends on what is computed beside it, and
// no product is fused into an addition (hence float64(x*y)).

const (
	blockNumbers = 2048 // numbers of a table, 16 KB, that stay in the nearest cache while points of a net go by
	blockPoints  = 4096 // points of a net between two looks at the context
)

// four returns the inner products of w with the four vectors that rows holds, of len(w)
// coordinates.
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

// products writes the inner products of all vectors with w into out, which has length n.
func (t *table) products(out, w []float64) {
	var last [4]float64
	for rows := t.fours; len(rows) > 0; rows = rows[t.dim:] {
		last[0], last[1], last[2], last[3] = four(rows[:t.dim], w)
		out = out[copy(out, last[:]):]
	}
}

// margins returns the inner products of all vectors with w.
func (t *table) margins(w []float64) []float64 {
	out := make([]float64, t.n)
	t.products(out, w)
	return out
}

// sumBelow writes the sum of the vectors whose inner product with w is below limit. It sums each
// four among themselves first.
func (t *table) sumBelow(sum, w []float64, limit float64) {
	clear(sum)
	for fours := t.fours; len(fours) > 0; fours = fours[t.dim:] {
		rows := fours[:t.dim]
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

// oneBelow returns what below does, as a float64.
func oneBelow(v, limit float64) float64 { return float64(below(v, limit)) }

// below returns 1 where v < limit, and otherwise 0, for finite numbers: the sign of the difference,
// which is exact. It has no branch that the processor could predict wrongly.
func below(v, limit float64) int32 { return int32(math.Float64bits(v-limit) >> 63) }

// countBelow writes, for each point of a net, how many vectors have an inner product with it below
// limit, which is above 0. The error is the context's.
func (t *table) countBelow(ctx context.Context, counts []int32, net []float64, limit float64) error {
	clear(counts)
	rows := max(1, blockNumbers/(4*t.dim)) * t.dim
	for low := 0; low < len(counts); low += blockPoints {
		high := min(low+blockPoints, len(counts))
		points := net[low*t.dim : high*t.dim]
		for start := 0; start < len(t.fours); start += rows {
			if err := ctx.Err(); err != nil {
				return err
			}
			countBlock(counts[low:high], points, t.fours[start:min(start+rows, len(t.fours))], limit)
		}
	}
	filled := int32(len(t.fours)/t.dim*4 - t.n) // zero vectors, counted for every point
	for i := range counts {
		counts[i] -= filled
	}
	return nil
}

// countBlock adds to the count of each point of a net the number of vectors below limit among these
// fours.
func countBlock(counts []int32, net []float64, fours [][4]float64, limit float64) {
	dim := len(net) / len(counts)
	for i := range counts {
		counts[i] += countFours(fours, net[i*dim:(i+1)*dim], limit)
	}
}

// countFours returns how many vectors in these fours have an inner product with w below limit.
func countFours(fours [][4]float64, w []float64, limit float64) (count int32) {
	for ; len(fours) >= len(w); fours = fours[len(w):] {
		a, b, c, d := four(fours[:len(w)], w)
		count += below(a, limit) + below(b, limit) + below(c, limit) + below(d, limit)
	}
	return count
}
