package population

import (
	"maps"
	"math"
	"slices"
)

// oneHot returns the final rows, and their number of numbers: the features, then for each
// categorical column one number per value, in the order of the sorted values, 1 for the row's own
// and 0 for others; and 1 for the bias.
func (t *table) oneHot() (x []float64, dim int, err error) {
	numbers := len(t.spec.Features)
	dim = numbers
	place := make([][]int, len(t.codes)) // of the 1 in a row, by categorical column and code
	for k, codes := range t.values {
		place[k] = make([]int, len(codes))
		for _, v := range slices.Sorted(maps.Keys(codes)) {
			place[k][codes[v]] = dim
			dim++
		}
	}
	if t.spec.Bias {
		dim++
	}
	if dim == numbers {
		return t.numbers, dim, nil
	}
	if dim > maxDim || t.rows*dim > maxValues {
		return nil, 0,
			refuse("data.categorical", "%s: %d rows of %d numbers are too many; leave out columns with many "+
				"values", t.spec.File, t.rows, dim)
	}
	x = make([]float64, t.rows*dim)
	for i := range t.rows {
		row := x[i*dim : (i+1)*dim]
		copy(row, t.numbers[i*numbers:(i+1)*numbers])
		for k, codes := range t.codes {
			row[place[k][codes[i]]] = 1
		}
		if t.spec.Bias {
			row[dim-1] = 1
		}
	}
	return x, dim, nil
}

// scaledTable is a table whose rows are brought into the unit ball.
type scaledTable struct{ *table }

// scale brings the rows of x into the unit ball by the stated bound, and returns the number of
// those that lay beyond it.
func (t scaledTable) scale(x []float64, dim int) (pulled int) {
	bring := t.byNorm
	if t.spec.Scale.Norm == 0 {
		bring = t.byRanges()
	}
	for i := range t.rows {
		if bring(x[i*dim : (i+1)*dim]) {
			pulled++
		}
	}
	return pulled
}

// byNorm divides a row by the bound, or by its own norm if that is larger, and reports whether it is. With a bias,
// the row and the constant 1 after it are then divided by sqrt(2).
func (t scaledTable) byNorm(row []float64) (beyond bool) {
	if !t.spec.Bias {
		return t.divide(row)
	}
	beyond = t.divide(row[:len(row)-1])
	for j := range row {
		row[j] /= math.Sqrt2
	}
	return beyond
}

// divide divides numbers by the bound, or by their own norm if that is larger.
func (t scaledTable) divide(row []float64) (beyond bool) {
	largest, sum := 0.0, 0.0
	for _, v := range row {
		largest = max(largest, math.Abs(v))
	}
	if largest == 0 {
		return false
	}
	for _, v := range row {
		sum += float64((v / largest) * (v / largest))
	}
	norm := math.Sqrt(sum) // of row/largest, so that nothing overflows
	if beyond = norm > t.spec.Scale.Norm/largest; beyond {
		for j := range row {
			row[j] = row[j] / largest / norm
		}
		return true
	}
	for j := range row {
		row[j] /= t.spec.Scale.Norm
	}
	return false
}

// byRanges maps each feature from its range to [-1, 1], a value outside to the nearer end, and
// divides the row by sqrt(k), k being the columns of the file in use, and the bias: a one-hot group has norm 1,
// so the row has at most that.
func (t scaledTable) byRanges() func(row []float64) (beyond bool) {
	ranges := make([][2]float64, len(t.spec.Features))
	for k, name := range t.spec.Features {
		ranges[k] = t.spec.Scale.Ranges[name]
	}
	columns := len(ranges) + len(t.codes)
	if t.spec.Bias {
		columns++
	}
	root := math.Sqrt(float64(columns))
	return func(row []float64) (beyond bool) {
		for j, v := range row {
			if j < len(ranges) {
				low, high := ranges[j][0], ranges[j][1]
				beyond = beyond || v < low || v > high
				v = 2*((min(max(v, low), high)-low)/(high-low)) - 1
			}
			row[j] = v / root
		}
		return beyond
	}
}
