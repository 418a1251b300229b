package population

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

var csvFormat = format{name: "csv", extensions: []string{".csv", ".tsv", ".tab"}, read: readCSV}

// csvReader reads records of a CSV file. Spaces around a cell do not count.
type csvReader struct {
	*csv.Reader
	ration *rationed
	table  *table
	header []string
}

// readCSV reads a CSV file (RFC 4180, UTF-8) whose first line names the columns. Unless the features are
// listed, it reads the file twice: first to find the columns of numbers.
func readCSV(t *table, file *io.SectionReader) error {
	r, err := t.openCSV(file)
	if err != nil {
		return err
	}
	columns := make([]column, len(r.header))
	for i, name := range r.header {
		columns[i].name = name
	}
	if len(t.spec.Features) == 0 && !t.matrix {
		err = r.rows(func(line int, cells []string) error {
			for i, text := range cells {
				columns[i].classify(t, line, text)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if r, err = t.openCSV(file); err != nil {
			return err
		}
	}
	if err := t.begin(columns); err != nil {
		return r.hint(err, nil)
	}
	return r.rows(func(line int, cells []string) error {
		row := t.rows
		if err := t.grow(row + 1); err != nil {
			return err
		}
		for i, role := range t.roles {
			if role.use == unused {
				continue
			}
			if err := t.set(role, row, line, cell{text: cells[i]}); err != nil {
				return err
			}
		}
		return nil
	})
}

// openCSV opens a CSV file and reads its first line.
func (t *table) openCSV(file *io.SectionReader) (*csvReader, error) {
	text, ration, err := t.openText(file)
	if err != nil {
		return nil, err
	}
	r := &csvReader{Reader: csv.NewReader(text), ration: ration, table: t}
	r.ReuseRecord, r.TrimLeadingSpace = true, t.spec.Delimiter != "\t"
	if t.spec.Delimiter != "" {
		r.Comma, _ = utf8.DecodeRuneInString(t.spec.Delimiter)
	}
	cells, err := r.next()
	if errors.Is(err, io.EOF) {
		return nil, refuse("data.file", "%s has no header line", t.spec.File)
	}
	for _, cell := range cells {
		r.header = append(r.header, strings.Clone(cell))
		if !utf8.ValidString(cell) {
			return nil, refuse("data.file", "%s: row 1: %q is not UTF-8; convert the file, for example: "+
				"iconv -f LATIN1 -t UTF-8 %s > utf8.csv", t.spec.File, cell, t.spec.File)
		}
	}
	return r, err
}

// rows calls a function with each row below the header, and the line of the file on which the row begins.
func (r *csvReader) rows(visit func(line int, cells []string) error) error {
	for n := 0; ; n++ {
		cells, err := r.next()
		switch {
		case errors.Is(err, io.EOF) && n == 0:
			return refuse("data.file", "%s has no rows below the header line", r.table.spec.File)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		line, _ := r.FieldPos(0)
		if err := visit(line, cells); err != nil {
			return err
		}
	}
}

// next reads one record.
func (r *csvReader) next() ([]string, error) {
	r.ration.left = maxLine
	cells, err := r.Read()
	var bad *csv.ParseError
	switch {
	case err == nil:
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		return cells, nil
	case errors.Is(err, io.EOF):
		return nil, err
	case !errors.As(err, &bad):
		return nil, r.table.unread(err)
	case errors.Is(err, csv.ErrFieldCount):
		return nil, r.hint(refuse("data.file", "%s: row %d has %d cells, the header line has %d",
			r.table.spec.File, bad.StartLine, len(cells), len(r.header)), cells)
	}
	return nil, refuse("data.file", "%s: row %d: %v; write a cell with quotes as \"a \"\"b\"\" c\"",
		r.table.spec.File, bad.StartLine, bad.Err)
}

// hint adds a guess at the cause to an error if the header line, or the cells of the row in question, suggest one.
func (r *csvReader) hint(err error, cells []string) error {
	line := strings.Join(r.header, ",")
	if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "%") {
		return because(err, "the first line looks like a comment; remove such lines: grep -v '^%s' %s > rows.csv",
			line[:1], r.table.spec.File)
	}
	if r.table.spec.Delimiter != "" {
		return err
	}
	for _, delimiter := range []string{";", "\t", "|"} {
		if strings.Count(line, delimiter) < max(1, len(r.header)-1) {
			continue
		}
		if delimiter == "\t" {
			delimiter = `\t`
		}
		decimal := ""
		if decimalComma.MatchString(strings.Join(cells, ",")) {
			decimal = ` and problem.data.decimal: ","`
		}
		return because(err, "set problem.data.delimiter: \"%s\"%s", delimiter, decimal)
	}
	return err
}

// missingWords are the texts that stand for a missing number, in lower case.
var missingWords = []string{"", "?", "-", ".", "na", "n/a", "#n/a", "<na>", "nan", "null", "none"}

// isMissing reports whether a text in a column of numbers stands for a missing one.
func isMissing(text string) bool { return slices.Contains(missingWords, strings.ToLower(text)) }

// parse returns the number that a text stands for: true is 1 and false is 0.
func (t *table) parse(text string) (v float64, ok bool) {
	switch {
	case strings.EqualFold(text, "true"):
		return 1, true
	case strings.EqualFold(text, "false"):
		return 0, true
	}
	if t.spec.Decimal == "," {
		if strings.Contains(text, ".") {
			return 0, false
		}
		text = strings.Replace(text, ",", ".", 1)
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil || errors.Is(err, strconv.ErrRange)
}

// classify takes a cell of the column into account: a column of numbers has a number in each cell that is not missing,
// and in one at least.
func (c *column) classify(t *table, line int, text string) {
	if c.kind == other || isMissing(text) {
		return
	}
	if _, ok := t.parse(text); ok {
		c.kind = numbers
		return
	}
	c.kind, c.why = other, fmt.Sprintf("row %d holds %q%s", line, clip(text), t.notNumber(text))
}

var (
	decimalComma = regexp.MustCompile(`\d,\d+(;|$)`)
	commaNumber  = regexp.MustCompile(`^-?\d{1,3}(,\d{3})+(\.\d+)?$`)
	commaPoint   = regexp.MustCompile(`^-?\d+,\d+$`)
	unitNumber   = regexp.MustCompile(`^[$€£]?\s*-?[\d.,]+\s*[%$€£]?$`)
	date         = regexp.MustCompile(`^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}`)
)

// notNumber says what makes a text no number, if that can be guessed.
func (t *table) notNumber(text string) string {
	switch {
	case date.MatchString(text):
		return ", a date; write dates as numbers"
	case t.spec.Decimal == "" && commaNumber.MatchString(text):
		return "; write numbers without commas between thousands"
	case t.spec.Decimal == "" && commaPoint.MatchString(text):
		return `; for decimal commas set problem.data.decimal: ","`
	case unitNumber.MatchString(text):
		return "; write numbers without signs and separators"
	}
	return ""
}

// clip returns the beginning of a text.
func clip(text string) string {
	if short := []rune(text); len(short) > 40 {
		return string(short[:40]) + "..."
	}
	return text
}
