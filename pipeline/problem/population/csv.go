package population

import (
	"bufio"
	"encoding/csv"
	"errors"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
)

var csvFormat = format{
	name: "csv", extensions: []string{".csv"}, untyped: true,
	read: func(t *table, f *io.SectionReader) error { return csvTable{t, &rationed{f, maxLine}}.readCSV() },
}

// csvTable is a table that is read from a CSV file.
type csvTable struct {
	*table
	file *rationed
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
// cell do not count. Where no features are listed, the numeric columns are those whose first cell
// is a number.
func (t csvTable) readCSV() error {
	f := bufio.NewReaderSize(t.file, 64<<10)
	if mark, _ := f.Peek(3); string(mark) == "\uFEFF" {
		_, _ = f.Discard(3)
	}
	r := csv.NewReader(f)
	r.ReuseRecord, r.TrimLeadingSpace = true, true
	cells, err := t.nextRecord(r, 0)
	if err != nil {
		return t.noMore(err, "no header line")
	}
	columns := make([]column, len(cells))
	for i, cell := range cells {
		columns[i].name = strings.Clone(strings.TrimSpace(cell))
	}
	if cells, err = t.nextRecord(r, len(columns)); err != nil {
		return t.noMore(err, "no rows below the header line")
	}
	for i, cell := range cells {
		columns[i].kind = guess(strings.TrimSpace(cell))
	}
	if err := t.begin(columns); err != nil {
		return err
	}
	row := 0
	for b := range t.batches(r, cells) {
		for i, line := range b.lines {
			if err := t.csvRow(row, line, b.cells[i*len(columns):(i+1)*len(columns)]); err != nil {
				return err
			}
			row++
		}
		if b.err != nil && !errors.Is(b.err, io.EOF) {
			return b.err
		}
	}
	return nil
}

// recordBatch is a run of records.
type recordBatch struct {
	lines []int    // where each begins
	cells []string // of all
	err   error    // what ended the file after these; nil: it goes on
}

const (
	batchRecords = 256
	batchBytes   = 1 << 20 // after which a batch ends before it has so many
)

// batches returns the records of a file from its first one on, which is read already. They are split
// into cells beside the caller, who reads the cells meanwhile. A batch is valid until the next.
func (t csvTable) batches(r *csv.Reader, first []string) iter.Seq[*recordBatch] {
	return func(yield func(*recordBatch) bool) {
		free, full, stop := make(chan *recordBatch, 3), make(chan *recordBatch, 3), make(chan struct{})
		for range cap(free) {
			free <- &recordBatch{}
		}
		var splitting sync.WaitGroup
		splitting.Go(func() { defer close(full); t.split(r, first, free, full, stop) })
		defer splitting.Wait()
		defer close(stop)
		for b := range full {
			if !yield(b) {
				return
			}
			free <- b
		}
	}
}

// split fills the free batches with records until the file ends or stop is closed.
func (t csvTable) split(
	r *csv.Reader, cells []string, free <-chan *recordBatch, full chan<- *recordBatch, stop <-chan struct{},
) {
	for width, ended := len(cells), false; !ended; {
		var b *recordBatch
		select {
		case b = <-free:
		case <-stop:
			return
		}
		b.lines, b.cells, b.err = b.lines[:0], b.cells[:0], nil
		for from := r.InputOffset(); b.err == nil && len(b.lines) < batchRecords && r.InputOffset()-from < batchBytes; {
			line, _ := r.FieldPos(0)
			b.lines, b.cells = append(b.lines, line), append(b.cells, cells...)
			cells, b.err = t.nextRecord(r, width)
		}
		ended = b.err != nil
		full <- b // there is room for every batch
	}
}

// nextRecord reads one record of the given number of cells, 0 for any.
func (t csvTable) nextRecord(r *csv.Reader, width int) ([]string, error) {
	t.file.left = maxLine
	cells, err := r.Read()
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return cells, err
	case errors.Is(err, errTooLong):
		return nil, refuse("data.file", "%s: a row has more than %d bytes; is it a CSV file, with a quote at the end of "+
			"each cell that begins with one?", t.spec.File, maxLine)
	}
	var bad *csv.ParseError
	if !errors.As(err, &bad) {
		return nil, refuse("data.file", "%s: %v", t.spec.File, err)
	}
	if errors.Is(err, csv.ErrFieldCount) {
		return nil, refuse("data.file", "%s: row %d has %d cells, the header line has %d",
			t.spec.File, bad.StartLine, len(cells), width)
	}
	return nil, refuse("data.file", "%s: row %d: %v; write a cell with quotes as \"a \"\"b\"\" c\"",
		t.spec.File, bad.StartLine, bad.Err)
}

// noMore says what the file lacks if err is io.EOF, and otherwise returns err.
func (t csvTable) noMore(err error, what string) error {
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

// csvRow sets the cells of one row, which begins at a line of the file.
func (t csvTable) csvRow(row, line int, cells []string) error {
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
func (t csvTable) csvNumber(row, line int, role role, cell string) error {
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
