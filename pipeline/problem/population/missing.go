package population

import (
	"cmp"
	"slices"
)

// Values of problem.data.missing that are no error.
const (
	missingDrop = "drop" // leave out the row
	missingMean = "mean" // put the mean of the column in the place of the cell
)

// A gap is a missing cell: its row, and its column among the features.
type gap struct{ row, column int }

// missing records a missing cell, or refuses it. It may stand in the file as a text, for example "NA".
func (t *table) missing(role role, row, shown int, text string) error {
	if t.spec.Missing == missingDrop || t.spec.Missing == missingMean && role.use == asNumber {
		t.gaps = append(t.gaps, gap{row, role.index})
		return nil
	}
	if text != "" {
		text = " (" + text + ")"
	}
	remedy := "missing: drop or mean"
	if role.use != asNumber || t.side != 0 {
		remedy = "missing: drop"
	}
	if t.matrix {
		return refuse("data.file", "%s: the cell is missing%s; fill the cell", t.place(shown, role.name), text)
	}
	return refuse("data.file", "%s: the cell is missing%s; drop the row, fill the cell, or set problem.data.%s",
		t.place(shown, role.name), text, remedy)
}

// fillGaps leaves out the rows with missing cells or fills the cells, and returns the share of rows or cells.
func (t *table) fillGaps() (share float64, err error) {
	if len(t.gaps) == 0 {
		return 0, nil
	}
	if t.spec.Missing == missingMean {
		return float64(len(t.gaps)) / float64(len(t.numbers)), t.fillMeans()
	}
	rows := t.rows
	slices.SortFunc(t.gaps, func(a, b gap) int { return cmp.Compare(a.row, b.row) })
	gaps, features := t.gaps, len(t.spec.Features)
	t.rows = 0
	for row := range rows {
		if len(gaps) > 0 && gaps[0].row == row {
			for len(gaps) > 0 && gaps[0].row == row {
				gaps = gaps[1:]
			}
			continue
		}
		copy(t.numbers[t.rows*features:], t.numbers[row*features:(row+1)*features])
		t.y[t.rows] = t.y[row]
		for _, codes := range t.codes {
			codes[t.rows] = codes[row]
		}
		t.rows++
	}
	if t.rows == 0 {
		return 1, refuse("data.missing", "%s: each row has a missing cell; leave out columns", t.spec.File)
	}
	t.numbers, t.y = t.numbers[:t.rows*features], t.y[:t.rows]
	for k, codes := range t.codes {
		t.codes[k] = codes[:t.rows]
		for v, code := range t.values[k] {
			if !slices.Contains(t.codes[k], code) {
				delete(t.values[k], v) // no row is left that has it
			}
		}
	}
	return 1 - float64(t.rows)/float64(rows), nil
}

// fillMeans puts the mean of the other cells of its column in the place of each missing cell.
func (t *table) fillMeans() error {
	slices.SortFunc(t.gaps, func(a, b gap) int {
		return cmp.Or(cmp.Compare(a.column, b.column), cmp.Compare(a.row, b.row))
	})
	features := len(t.spec.Features)
	for gaps := t.gaps; len(gaps) > 0; {
		k := gaps[0].column
		n := slices.IndexFunc(gaps, func(g gap) bool { return g.column != k })
		if n < 0 {
			n = len(gaps)
		}
		mean, count, next := 0.0, 0.0, gaps[:n]
		for row := range t.rows {
			if len(next) > 0 && next[0].row == row {
				next = next[1:]
				continue
			}
			count++
			mean += (t.numbers[row*features+k] - mean) / count
		}
		if count == 0 {
			return refuse("data.missing", "%s: all cells of column %q are missing; leave it out", t.spec.File,
				t.spec.Features[k])
		}
		for _, g := range gaps[:n] {
			t.numbers[g.row*features+k] = mean
		}
		gaps = gaps[n:]
	}
	return nil
}
