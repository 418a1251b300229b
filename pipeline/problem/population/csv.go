package population

import (
	"bufio"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
)

var csvFormat = format{name: "csv", extensions: []string{".csv"}, untyped: true, read: readCSV}

// csvReader reads records of a CSV file.
type csvReader struct {
	*csv.Reader
	file  *rationed
	table *table
}

// rationed reads from r until its ration is eaten up. It keeps a line without an end out of memory.
type rationed struct {
	r    io.Reader
	left int
}

var errTooLong = errors.New("the line is too long")

func (r *rationed) Read(b []byte) (int, error) {
	if r.left <= 0 {
		return 0, errTooLong
	}
	n, err := r.r.Read(b)
	r.left -= n
	return n, err
}

// readCSV reads a CSV file (RFC 4180, UTF-8) whose first line names the columns. Spaces around a
// cell do not count. If no features are listed, the numeric columns are those whose first cell
// is a number.
func readCSV(t *table, file *io.SectionReader) error {
	ration := &rationed{file, maxLine}
	f := bufio.NewReaderSize(ration, 64<<10)
	if mark, _ := f.Peek(3); string(mark) == "\uFEFF" {
		_, _ = f.Discard(3)
	}
	r := csvReader{csv.NewReader(f), ration, t}
	r.ReuseRecord, r.TrimLeadingSpace = true, true
	cells, err := r.next(0)
	if err != nil {
		return t.noMore(err, "no header line")
	}
	columns := make([]column, len(cells))
	for i, cell := range cells {
		columns[i].name = strings.Clone(strings.TrimSpace(cell))
	}
	if cells, err = r.next(len(columns)); err != nil {
		return t.noMore(err, "no rows below the header line")
	}
	for i, cell := range cells {
		columns[i].kind = guess(strings.TrimSpace(cell))
	}
	if err := t.begin(columns); err != nil {
		return err
	}
	for err == nil {
		line, _ := r.FieldPos(0)
		if err := t.csvRow(line, cells); err != nil {
			return err
		}
		cells, err = r.next(len(columns))
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// next reads one record of the given number of cells, 0 for any.
func (r csvReader) next(width int) ([]string, error) {
	r.file.left = maxLine
	cells, err := r.Read()
	file := r.table.spec.File
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return cells, err
	case errors.Is(err, errTooLong):
		return nil, refuse("data.file", "%s: a row has more than %d bytes; is it a CSV file, with a quote at the end of "+
			"each cell that begins with one?", file, maxLine)
	}
	var bad *csv.ParseError
	if !errors.As(err, &bad) {
		return nil, refuse("data.file", "%s: %v", file, err)
	}
	if errors.Is(err, csv.ErrFieldCount) {
		return nil, refuse("data.file", "%s: row %d has %d cells, the header line has %d",
			file, bad.StartLine, len(cells), width)
	}
	return nil, refuse("data.file", "%s: row %d: %v; write a cell with quotes as \"a \"\"b\"\" c\"",
		file, bad.StartLine, bad.Err)
}

// noMore names what the file lacks if err is io.EOF, and otherwise returns err.
func (t *table) noMore(err error, what string) error {
	if errors.Is(err, io.EOF) {
		return refuse("data.file", "%s has %s", t.spec.File, what)
	}
	return err
}

// guess returns the kind of a column whose first cell is given.
func guess(cell string) kind {
	if slices.Contains([]string{"", "?", "-", ".", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"}, cell) {
		return unknown
	}
	if _, err := strconv.ParseFloat(cell, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return numbers
	}
	return textual
}

// csvRow appends one row, which begins at a line of the file.
func (t *table) csvRow(line int, cells []string) error {
	row := t.rows
	if err := t.grow(row + 1); err != nil {
		return err
	}
	for i, role := range t.roles {
		if role.use == unused {
			continue
		}
		cell := strings.TrimSpace(cells[i])
		var err error
		switch role.use {
		case asLabel:
			err = t.label(row, line, cell)
		case asCategory:
			err = t.category(row, line, role.index, cell)
		case asNumber:
			err = t.csvNumber(row, line, role, cell)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// csvNumber sets a numeric cell.
func (t *table) csvNumber(row, line int, role role, cell string) error {
	v, err := strconv.ParseFloat(cell, 64)
	switch {
	case err == nil || errors.Is(err, strconv.ErrRange):
		return t.number(row, line, role.index, v)
	case cell == "":
		return t.missing(line, role.name)
	}
	remedy := "correct it, drop the row, or name the column in problem.data.categorical"
	if t.matrix {
		remedy = "every cell of a class matrix is 0 or 1"
	}
	return refuse("data.file", "%s: %q is not a number; %s", t.place(line, role.name), cell, remedy)
}
