package population

import (
	"math"
	"slices"
)

// Values of problem.data.missing that are no error.
const (
	missingDrop = "drop" // leave out the row
	missingMean = "mean" // put the mean of the column in the place of the cell
)

// finish checks the columns, deals with missing cells, and returns the population.
func (t *table) finish() (*Rows, error) {
	if t.rows == 0 {
		return nil, refuse("data.file", "%s has no rows", t.spec.File)
	}
	if err := t.settle(); err != nil {
		return nil, err
	}
	missing, err := t.fillGaps()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(t.label.values, t.spec.Positive) {
		return nil, refuse("data.positive", "%q never occurs in column %q, whose values are %s; choose one of these",
			t.spec.Positive, t.label.name, quoted(t.label.values))
	}
	y := make([]float64, t.rows)
	for i, code := range t.label.codes {
		y[i] = -1
		if t.label.values[code] == t.spec.Positive {
			y[i] = 1
		}
	}
	if !slices.Contains(y, 1) || !slices.Contains(y, -1) {
		return nil, refuse("data.label", "%s: all rows of column %q are %q; labels must have two values",
			t.spec.File, t.label.name, t.label.values[t.label.codes[0]])
	}
	rows := &Rows{Y: y, Missing: missing, Report: t.report(missing)}
	if err := t.oneHot(rows); err != nil {
		return nil, err
	}
	if t.side == 0 {
		t.scale(rows)
	}
	return rows, nil
}

// used returns the columns in use.
func (t *table) used() []*column {
	return slices.DeleteFunc(slices.Clone(t.columns), func(c *column) bool { return c.use == unused })
}

// fillGaps leaves out the rows with missing cells or fills the cells, and returns the share of rows
// or cells.
func (t *table) fillGaps() (share float64, err error) {
	gaps := 0
	for _, column := range t.used() {
		gaps += column.gaps
	}
	switch {
	case gaps == 0:
		return 0, nil
	case t.spec.Missing == missingDrop:
		return t.dropRows()
	}
	for _, c := range t.features {
		mean, count := 0.0, 0.0
		for _, v := range c.numbers {
			if !math.IsNaN(v) {
				count++
				mean += (v - mean) / count
			}
		}
		if count == 0 {
			return 0, refuse("data.missing", "%s: all cells of column %q are missing; leave it out", t.spec.File, c.name)
		}
		for i, v := range c.numbers {
			if math.IsNaN(v) {
				c.numbers[i] = mean
			}
		}
	}
	return float64(gaps) / float64(t.rows*len(t.features)), nil
}

// dropRows leaves out the rows with missing cells, and returns their share.
func (t *table) dropRows() (share float64, err error) {
	gone, before := make([]bool, t.rows), t.rows
	for _, c := range t.used() {
		for i, v := range c.numbers {
			gone[i] = gone[i] || math.IsNaN(v)
		}
		for i, code := range c.codes {
			gone[i] = gone[i] || code < 0
		}
	}
	for _, c := range t.used() {
		c.numbers, c.codes = without(c.numbers, gone), without(c.codes, gone)
		t.rows = len(c.numbers) + len(c.codes)
	}
	if t.rows == 0 {
		return 1, refuse("data.missing", "%s: each row has a missing cell; leave out columns", t.spec.File)
	}
	return 1 - float64(t.rows)/float64(before), nil
}

// without returns the elements that are not gone, in the memory of s.
func without[T any](s []T, gone []bool) []T {
	kept := s[:0]
	for i, v := range s {
		if !gone[i] {
			kept = append(kept, v)
		}
	}
	return kept
}

// categoriesOf lists the categories that a column has, sorted.
func categoriesOf(c *column) (values []string) {
	occurs := make([]bool, len(c.values))
	for _, code := range c.codes {
		occurs[code] = true
	}
	for code, v := range c.values {
		if occurs[code] {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	return values
}

// oneHot sets the numbers of the rows: the features, then for each categorical column one number
// per value, sorted, 1 for the row's own and 0 for others; and 1 for the bias. It consumes the
// columns.
func (t *table) oneHot(rows *Rows) error {
	rows.Dim = len(t.features)
	place := make([][]int, len(t.categories)) // index of the 1 in a row, by categorical column and code
	for k, c := range t.categories {
		place[k] = make([]int, len(c.values))
		for _, v := range categoriesOf(c) {
			place[k][c.known[v]] = rows.Dim
			rows.Dim++
		}
	}
	if t.spec.Bias {
		rows.Dim++
	}
	if rows.Dim > maxDim || t.rows*rows.Dim > maxValues {
		return refuse("data.categorical", "%s: %d rows of %d numbers are too many; leave out columns with many values",
			t.spec.File, t.rows, rows.Dim)
	}
	rows.X = make([]float64, t.rows*rows.Dim)
	for j, c := range t.features {
		for i, v := range c.numbers {
			rows.X[i*rows.Dim+j] = v
		}
		c.numbers = nil
	}
	for k, c := range t.categories {
		for i, code := range c.codes {
			rows.X[i*rows.Dim+place[k][code]] = 1
		}
	}
	for i := rows.Dim - 1; t.spec.Bias && i < len(rows.X); i += rows.Dim {
		rows.X[i] = 1
	}
	return nil
}

// scale brings the rows into the unit ball by the stated bound.
func (t *table) scale(rows *Rows) {
	bring := t.byNorm
	if t.spec.Scale.Norm == 0 {
		bring = t.byRanges()
	}
	for i := range rows.Y {
		if bring(rows.Row(i)) {
			rows.Pulled++
		}
	}
}

// byNorm divides a row by the bound, or by its own norm if that is larger, and reports whether it
// is. With a bias, the row and the constant 1 after it are then divided by sqrt(2).
func (t *table) byNorm(row []float64) (beyond bool) {
	features, root := row, 1.0
	if t.spec.Bias {
		features, root = row[:len(row)-1], math.Sqrt2
	}
	largest, sum := 0.0, 0.0
	for _, v := range features {
		largest = max(largest, math.Abs(v))
	}
	for _, v := range features {
		sum += float64((v / largest) * (v / largest))
	}
	norm := math.Sqrt(sum) // norm of features/largest, so that nothing overflows; NaN if all are 0
	beyond = norm > t.spec.Scale.Norm/largest
	for j, v := range features {
		if features[j] = v / t.spec.Scale.Norm; beyond {
			features[j] = v / largest / norm
		}
	}
	for j := range row {
		row[j] /= root
	}
	return beyond
}

// byRanges maps each feature from its range to [-1, 1], a value outside to the nearer end, and
// divides the row by sqrt(k), k being the number of columns in use, and the bias: a one-hot group
// has norm 1, so the row has at most that.
func (t *table) byRanges() func(row []float64) (beyond bool) {
	var ranges [][2]float64
	for _, c := range t.features {
		ranges = append(ranges, t.spec.Scale.Ranges[c.name])
	}
	root := math.Sqrt(float64(t.divided()))
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

// divided returns the number of columns in use, by whose root byRanges divides.
func (t *table) divided() int {
	columns := len(t.features) + len(t.categories)
	if t.spec.Bias {
		columns++
	}
	return columns
}
