package population

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"github.com/shatterlab/shatter/pipeline/wording"
)

// libsvmLabel is the name of the column of labels. The other columns are named by their numbers.
const libsvmLabel = "label"

// A libsvmRow is a row of a LIBSVM file: a label, then NUMBER:VALUE for each number that is not 0.
type libsvmRow struct {
	line    int
	label   string
	columns []int
	values  []string
}

// readLIBSVM reads a LIBSVM file. It fills the table after the last row, when the numbers of the
// columns are known.
func readLIBSVM(t *table, file *io.SectionReader) error {
	x, err := t.openText(file)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(x)
	lines.Buffer(nil, maxLine)
	var rows []libsvmRow
	first, last := 1, 0
	for line := 1; lines.Scan(); line++ {
		x.limit.N = maxLine
		words, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(words)
		if len(fields) == 0 {
			continue
		}
		row := libsvmRow{line: line, label: strings.TrimPrefix(fields[0], "+")}
		before := -1
		for _, word := range fields[1:] {
			number, value, ok := strings.Cut(word, ":")
			k, err := strconv.Atoi(number)
			switch {
			case !ok || err != nil || k < 0 || k > maxDim:
				return refuse("data.file", "%s: row %d: %q is not COLUMN:VALUE with a column from 0 to %d; is it a LIBSVM file?",
					t.spec.File, line, wording.Shorten(word), maxDim)
			case k <= before:
				return refuse("data.file", "%s: row %d: column %d comes after column %d; is it a LIBSVM file?",
					t.spec.File, line, k, before)
			}
			row.columns, row.values = append(row.columns, k), append(row.values, value)
			before, first, last = k, min(first, k), max(last, k)
		}
		rows = append(rows, row)
	}
	switch {
	case lines.Err() != nil:
		return t.unread(lines.Err())
	case last < first:
		return refuse("data.file", "%s holds no COLUMN:VALUE; is it a LIBSVM file?", t.spec.File)
	}
	columns := []*column{{name: libsvmLabel, why: "it holds labels"}}
	for k := first; k <= last; k++ {
		columns = append(columns, &column{name: strconv.Itoa(k)})
	}
	if err := t.begin(columns); err != nil {
		return err
	}
	for _, row := range rows {
		if err := t.reserve(1); err != nil {
			return err
		}
		t.addText(t.label, row.line, row.label)
		next := 0
		for k, c := range columns[1:] {
			value := "0"
			if next < len(row.columns) && row.columns[next] == first+k {
				value = row.values[next]
				next++
			}
			if c.use != unused {
				t.addText(c, row.line, value)
			}
		}
	}
	return nil
}
