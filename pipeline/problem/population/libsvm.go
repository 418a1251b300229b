package population

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// libsvmLabel is the name of the column of labels. The other columns are named by their numbers.
const libsvmLabel = "label"

// A libsvmCell is a cell of a LIBSVM file, NUMBER:VALUE.
type libsvmCell struct {
	column int
	value  string
}

// readLIBSVM reads a LIBSVM file: a label, then a cell for each number that is not 0. It reads the file twice: first to
// find the numbers of the columns.
func readLIBSVM(t *table, file *io.SectionReader) error {
	first, last := 1, 0
	err := t.libsvmRows(file, func(_ int, _ string, cells []libsvmCell) error {
		for _, c := range cells {
			first, last = min(first, c.column), max(last, c.column)
		}
		return nil
	})
	if err == nil && last < first {
		err = refuse("data.file", "%s holds no COLUMN:VALUE; is it a LIBSVM file?", t.spec.File)
	}
	if err != nil {
		return err
	}
	columns := []*column{{name: libsvmLabel, why: "it holds labels"}}
	for k := first; k <= last; k++ {
		columns = append(columns, &column{name: strconv.Itoa(k)})
	}
	if err := t.begin(columns); err != nil {
		return err
	}
	return t.libsvmRows(file, func(line int, label string, cells []libsvmCell) error {
		if err := t.reserve(1); err != nil {
			return err
		}
		t.addText(t.label, line, label)
		for k, c := range columns[1:] {
			value := "0"
			if len(cells) > 0 && cells[0].column == first+k {
				value, cells = cells[0].value, cells[1:]
			}
			if c.use != unused {
				t.addText(c, line, value)
			}
		}
		return nil
	})
}

// libsvmRows calls a function with the line number, the label and the other cells of each row.
func (t *table) libsvmRows(file *io.SectionReader, visit func(line int, label string, cells []libsvmCell) error) error {
	_, _ = file.Seek(0, io.SeekStart) // always succeeds
	x, err := t.openText(file)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(x)
	lines.Buffer(nil, maxLine)
	for line := 1; lines.Scan(); line++ {
		x.ration = maxLine
		words, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(words)
		if len(fields) == 0 {
			continue
		}
		cells, err := libsvmCells(fields[1:])
		if err != nil {
			return refuse("data.file", "%s: row %d: %v; is it a LIBSVM file?", t.spec.File, line, err)
		}
		if err := visit(line, strings.TrimPrefix(fields[0], "+"), cells); err != nil {
			return err
		}
	}
	if lines.Err() != nil {
		return t.unread(lines.Err())
	}
	return nil
}

// libsvmCells reads the cells of a row, whose columns ascend.
func libsvmCells(words []string) (cells []libsvmCell, err error) {
	for _, word := range words {
		number, value, ok := strings.Cut(word, ":")
		k, err := strconv.Atoi(number)
		switch n := len(cells); {
		case !ok || err != nil || k < 0 || k > maxDim:
			return nil, fmt.Errorf("%q is not COLUMN:VALUE with a column from 0 to %d", clip(word), maxDim)
		case n > 0 && k <= cells[n-1].column:
			return nil, fmt.Errorf("column %d comes after column %d", k, cells[n-1].column)
		}
		cells = append(cells, libsvmCell{k, value})
	}
	return cells, nil
}
