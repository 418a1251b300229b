package population

import (
	"bufio"
	"encoding/csv"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shatterlab/shatter/pipeline/wording"
)

// A csvReader reads records of a CSV file.
type csvReader struct {
	*csv.Reader
	limit  *io.LimitedReader
	table  *table
	header []string
}

// readCSV reads a CSV file (RFC 4180, UTF-8) whose first line names the columns.
func readCSV(t *table, file *io.SectionReader) error {
	x, err := t.openText(file)
	if err != nil {
		return err
	}
	r := &csvReader{Reader: csv.NewReader(x), limit: x.limit, table: t}
	r.ReuseRecord, r.TrimLeadingSpace = true, t.spec.Delimiter != "\t"
	if t.spec.Delimiter != "" {
		r.Comma, _ = utf8.DecodeRuneInString(t.spec.Delimiter)
	}
	columns, err := r.readHeader()
	if err != nil {
		return err
	}
	if err := t.begin(columns); err != nil {
		first, _ := r.Read()
		return r.hint(err, first)
	}
	for {
		cells, err := r.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = t.reserve(1)
		}
		if err != nil {
			return err
		}
		line, _ := r.FieldPos(0)
		for i, c := range columns {
			if c.use != unused {
				t.addText(c, line, cells[i])
			}
		}
	}
}

// readHeader reads the first line.
func (r *csvReader) readHeader() (columns []*column, err error) {
	file := r.table.spec.File
	cells, err := r.next()
	if errors.Is(err, io.EOF) {
		return nil, refuse("data.file", "%s has no header line", file)
	}
	for _, cell := range cells {
		switch name := strings.Clone(cell); {
		case !utf8.ValidString(name):
			return nil, refuse("data.file", "%s: row 1: %q is not UTF-8; %s", file, name, r.table.toUTF8("LATIN1"))
		case strings.Contains(name, "\r"):
			return nil, refuse("data.file", `%s: its lines end with CR alone; convert it: tr '\r' '\n' < %s > lines.csv`,
				file, wording.ShellWord(file))
		default:
			r.header, columns = append(r.header, name), append(columns, &column{name: name})
		}
	}
	return columns, err
}

// next reads one record. Spaces around a cell do not count.
func (r *csvReader) next() ([]string, error) {
	r.limit.N = maxLine
	cells, err := r.Read()
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	bad, ok := errors.AsType[*csv.ParseError](err)
	switch {
	case r.limit.N <= 0:
		return nil, r.table.unread(bufio.ErrTooLong)
	case err == nil, errors.Is(err, io.EOF):
		return cells, err
	case !ok:
		return nil, r.table.unread(err)
	case errors.Is(err, csv.ErrFieldCount):
		return nil, r.hint(refuse("data.file", "%s: row %d has %s, the header line has %d", r.table.spec.File, bad.StartLine,
			wording.Count(len(cells), "cell"), len(r.header)), cells)
	}
	return nil, refuse("data.file", "%s: row %d: %v; write a cell with quotes as \"a \"\"b\"\" c\"",
		r.table.spec.File, bad.StartLine, bad.Err)
}

var decimalComma = regexp.MustCompile(`\d,\d+(;|$)`)

// hint adds a guess at the cause to an error if the header line, or the cells of the row in
// question, suggest one.
func (r *csvReader) hint(err error, cells []string) error {
	unnamed := func(name string) bool { return name == "" }
	line, file := strings.Join(r.header, ","), wording.ShellWord(r.table.spec.File)
	if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "%") {
		return because(err, "the first line looks like a comment; remove such lines: grep -v '^%s' %s > rows.csv",
			line[:1], file)
	}
	if strings.HasPrefix(line, "sep=") {
		return because(err, "the first line is for Excel alone; remove it: tail -n +2 %s > rows.csv", file)
	}
	if slices.ContainsFunc(r.header[1:], unnamed) {
		return because(err, "if a later line names the columns, remove the lines above it: tail -n +2 %s > rows.csv", file)
	}
	for _, delimiter := range []string{";", "\t", "|", " "} {
		if r.table.spec.Delimiter != "" || strings.Count(line, delimiter) < max(1, len(r.header)-1) {
			continue
		}
		decimal := ""
		if decimalComma.MatchString(strings.Join(cells, ",")) {
			decimal = ` and problem.data.decimal: ","`
		}
		return because(err, "set problem.data.delimiter: \"%s\"%s", strings.ReplaceAll(delimiter, "\t", `\t`), decimal)
	}
	value := func(name string) bool { _, ok := r.table.parse(name); return ok }
	switch {
	case len(cells) > len(r.header):
		return because(err, "name each column in the first line")
	case slices.ContainsFunc(r.header, value):
		return because(err, "the first line has to name the columns, and seems to hold values")
	}
	return err
}
