package population

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/shatterlab/shatter/pipeline/problem/blame"
)

var libsvmFormat = format{name: "libsvm", extensions: []string{".libsvm", ".svm", ".svmlight"}, read: readLIBSVM}

// libsvmLabel is the name of the column of labels. The other columns are named by their numbers.
const libsvmLabel = "label"

// readLIBSVM reads a LIBSVM file: a label, then NUMBER:VALUE for each number that is not 0. It reads the file twice:
// first to find the numbers of the columns.
func readLIBSVM(t *table, file *io.SectionReader) error {
	first, last := 1, 0
	err := t.libsvmRows(file, func(_ int, _ string, cells []string) error {
		for _, c := range cells {
			k, _, err := libsvmCell(c)
			if err != nil {
				return err
			}
			first, last = min(first, k), max(last, k)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if last < first {
		return refuse("data.file", "%s holds no COLUMN:VALUE; is it a LIBSVM file?", t.spec.File)
	}
	columns := []column{{name: libsvmLabel, kind: other}}
	for k := first; k <= last; k++ {
		columns = append(columns, column{name: strconv.Itoa(k), kind: numbers})
	}
	if err := t.begin(columns); err != nil {
		return err
	}
	return t.libsvmRows(file, func(line int, label string, cells []string) error {
		row := t.rows
		if err := t.grow(row + 1); err != nil {
			return err
		}
		features := len(t.spec.Features)
		clear(t.numbers[row*features:])
		if err := t.set(t.roles[0], row, line, cell{text: label}); err != nil {
			return err
		}
		before := math.MinInt
		for _, c := range cells {
			k, text, err := libsvmCell(c)
			switch role := t.roles[k-first+1]; {
			case err != nil:
				return err
			case k <= before:
				return fmt.Errorf("column %d comes after column %d", k, before)
			case role.use != unused:
				err = t.set(role, row, line, cell{text: text})
			}
			if err != nil {
				return err
			}
			before = k
		}
		return nil
	})
}

// libsvmCell splits NUMBER:VALUE.
func libsvmCell(text string) (k int, value string, err error) {
	number, value, ok := strings.Cut(text, ":")
	k, err = strconv.Atoi(number)
	if !ok || err != nil || k < 0 || k > maxDim {
		return 0, "", fmt.Errorf("%q is not COLUMN:VALUE with a column from 0 to %d", clip(text), maxDim)
	}
	return k, value, nil
}

// libsvmRows calls a function with the line number, the label and the other cells of each row.
func (t *table) libsvmRows(file *io.SectionReader, visit func(line int, label string, cells []string) error) error {
	text, ration, err := t.openText(file)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, maxLine)
	for line := 1; ; line++ {
		ration.left = maxLine
		if !lines.Scan() {
			break
		}
		words, _, _ := strings.Cut(lines.Text(), "#")
		cells := strings.Fields(words)
		if len(cells) == 0 {
			continue
		}
		err := visit(line, strings.TrimPrefix(cells[0], "+"), cells[1:])
		if e := (*blame.Error)(nil); err != nil && !errors.As(err, &e) {
			return refuse("data.file", "%s: row %d: %v; is it a LIBSVM file?", t.spec.File, line, err)
		}
		if err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = errTooLong
		}
		return t.unread(err)
	}
	return nil
}
