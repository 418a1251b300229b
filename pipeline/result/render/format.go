// Package render shows sheets and answers to people and to programs.
//
// It promises that the formats for programs have every column and every digit, that those for
// people say what they leave out, and that no text can move a terminal's cursor or be taken for
// markup. It needs nothing but the sheet.
//
// Start with Render. A format is one value in a file of its own; Formats lists them.
package render

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
)

// Format is a way to write tables.
type Format struct {
	Name   string
	Doc    string // what it writes and for whom, in a line for people
	Binary bool   // not for terminals

	brief func(w *bufio.Writer, b *brief) error // of the formats for people
	short bool                                  // whether people see the numbers of answers with four digits too
	write func(w *bufio.Writer, a Answer) error // of the formats for programs: writes any number of rows
}

// ForPeople reports whether the format is for people, and so leaves out and shortens.
func (f Format) ForPeople() bool { return f.brief != nil }

// Formats returns all formats, the one for terminals first.
func Formats() []Format {
	return []Format{tableFormat, jsonFormat, csvFormat, markdownFormat, texFormat, arrowFormat, parquetFormat}
}

// Find returns the format of a name.
func Find(name string) (f Format, known bool) {
	for _, f := range Formats() {
		if f.Name == name {
			return f, true
		}
	}
	return Format{}, false
}

// Names returns the names of the formats that sheets can be written in.
func Names() (names []string) {
	for _, f := range Formats() {
		names = append(names, f.Name)
	}
	return names
}

// A View says what of a sheet is shown. Its zero value leaves that to the format.
type View struct {
	Columns []string // exactly these, in this order, as sheet.Find takes them; none: the format chooses
	Width   int      // of the lines of the format table, in characters; 0: as long as they are
}

// Render writes a sheet in the format of a name with the zero View.
func Render(s *sheet.Sheet, w io.Writer, format string) error { return View{}.Render(s, w, format) }

// Render writes a sheet in the format of a name. The formats for people show numbers with about four
// digits, leave out columns that are empty or rarely asked for, and say once what is the same in all
// rows.
func (v View) Render(s *sheet.Sheet, w io.Writer, format string) error {
	f, ok := Find(format)
	if !ok {
		err := fmt.Errorf("unknown format: must be one of %s", strings.Join(Names(), ", "))
		return fmt.Errorf("show %s as %s: %w", s.Name, format, err)
	}
	chosen, err := s.FindAll(v.Columns)
	if err != nil {
		return err
	}
	if f.Name != tableFormat.Name {
		v.Width = 0
	}
	out := bufio.NewWriter(w)
	if f.brief != nil {
		if len(chosen) == 0 {
			s = s.FoldSearches()
		}
		err = f.brief(out, v.briefOf(s, chosen))
	} else {
		err = f.write(out, &oneBatch{s.Select(chosen).Record(), false})
	}
	if err := errors.Join(err, out.Flush()); err != nil {
		return fmt.Errorf("show %s as %s: %w", s.Name, f.Name, err)
	}
	return nil
}

// Answer is a table that is read batch by batch.
type Answer interface {
	Schema() *arrow.Schema       // of texts, int64, float64 and boolean
	Next() (arrow.Record, error) // that the caller releases; io.EOF at the end
}

// oneBatch is an answer of one batch.
type oneBatch struct {
	arrow.Record
	read bool
}

func (o *oneBatch) Next() (arrow.Record, error) {
	if o.read {
		return nil, io.EOF
	}
	o.read = true
	return o.Record, nil
}

// WriteAnswer writes an answer in the format of a name: all columns, with all their digits but in
// tex. The formats for people refuse long answers with a TooLongError. The lines of the format table
// have at most width characters, unless that is 0.
func WriteAnswer(w io.Writer, a Answer, format string, width int) error {
	f, ok := Find(format)
	if !ok {
		return fmt.Errorf("write answer: unknown format %q: must be one of %s", format, strings.Join(Names(), ", "))
	}
	out := bufio.NewWriterSize(w, 1<<16)
	if f.brief == nil {
		if err := f.write(out, a); err != nil {
			return err
		}
		return out.Flush()
	}
	b, err := wholeOf(a, f.short)
	if err != nil {
		return err
	}
	if f.Name == tableFormat.Name {
		b.fit(width)
	}
	if err := f.brief(out, b); err != nil {
		return err
	}
	return out.Flush()
}

// EachBatch calls fn with every batch of an answer, and releases it.
func EachBatch(a Answer, fn func(arrow.Record) error) error {
	for {
		rec, err := a.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		err = fn(rec)
		rec.Release()
		if err != nil {
			return err
		}
	}
}
