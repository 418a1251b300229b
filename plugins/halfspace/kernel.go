package halfspace

import (
	"context"

	"github.com/shatterlab/shatter/pipeline/matrix"
)

const (
	blockRows   = 256  // number of vectors of a table whose inner products are held at once
	blockPoints = 1024 // points of a net between two checks of the context
)

// blocks calls visit with the vectors of the table, block by block, and scratch space for one
// number per vector.
func (t *table) blocks(visit func(x, room []float64)) {
	var room [blockRows]float64
	rows := len(t.x) / t.dim
	for low := 0; low < rows; low += blockRows {
		count := min(blockRows, rows-low)
		visit(t.x[low*t.dim:(low+count)*t.dim], room[:count])
	}
}

func (t *table) margins(w []float64) []float64 {
	out := make([]float64, t.n)
	matrix.MultiplyRows(out, t.x, w)
	return out
}

// sumBelow writes the sum of the vectors whose inner product with w is below limit, which must be
// positive.
func (t *table) sumBelow(sum, w []float64, limit float64) {
	clear(sum)
	t.blocks(func(x, chosen []float64) {
		matrix.MultiplyRows(chosen, x, w)
		for i, v := range chosen {
			if chosen[i] = 0; v < limit {
				chosen[i] = 1
			}
		}
		matrix.AddRows(sum, x, chosen)
	})
}

// countBelow writes, for each point of a net, how many vectors have an inner product with it below
// limit, which must be positive. The error is the context's.
func (t *table) countBelow(ctx context.Context, counts []int32, net []float64, limit float64) (err error) {
	filled := int32(len(t.x)/t.dim - t.n) // zero vectors, counted for every point
	for i := range counts {
		counts[i] = -filled
	}
	t.blocks(func(x, products []float64) {
		for i := range counts {
			if i%blockPoints == 0 && err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return
			}
			matrix.MultiplyRows(products, x, net[i*t.dim:(i+1)*t.dim])
			for _, v := range products {
				if v < limit {
					counts[i]++
				}
			}
		}
	})
	return err
}
