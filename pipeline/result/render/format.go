// Package render shows sheets and answers to people and to programs.
//
// The formats for programs have every column and every digit. The formats for people state what
// they omit. No text can move a terminal's cursor or be interpreted as markup. The package needs
// only the sheet.
//
// Start with [Render]. Each format is one value in its own file; [Formats] lists them.
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

// A Format is an output format of tables.
type Format struct {
	Name   string
	Doc    string // one line for users about the output and its purpose
	Binary bool   // not for terminals

	brief func(w *bufio.Writer, b *brief) error // nil in formats for programs
	short bool                                  // answers, too, have numbers with four digits
	write func(w *bufio.Writer, a Answer) error // nil in formats for people; writes any number of rows
}

// ForPeople reports whether the format is for people, and therefore omits and shortens.
func (f Format) ForPeople() bool { return f.brief != nil }

// Formats returns all formats, the one for terminals first.
func Formats() []Format {
	return []Format{tableFormat, jsonFormat, csvFormat, markdownFormat, texFormat, arrowFormat, parquetFormat}
}

// Find returns the format with a name.
func Find(name string) (f Format, known bool) {
	for _, f := range Formats() {
		if f.Name == name {
			return f, true
		}
	}
	return Format{}, false
}

// Names returns the names of all formats.
func Names() (names []string) {
	for _, f := range Formats() {
		names = append(names, f.Name)
	}
	return names
}

// A View selects what a format shows of a sheet. The zero value leaves the choice to the format.
type View struct {
	Columns []string // exactly these columns, in this order, by names as sheet.Find accepts them; none: the format chooses
	Width   int      // maximum length of lines in the format table, in characters; 0: unlimited
	Short   bool     // no parameters of algorithms, sources and reasons in the format table; in tex, a page's width
	SIUnitx bool     // numbers for the package siunitx in the format tex
	Notes   bool     // lines around the table as notes of the package threeparttable in the format tex
}

// Render writes a sheet in the named format with the zero View.
func Render(s *sheet.Sheet, w io.Writer, format string) error { return View{}.Render(s, w, format) }

// Render writes a sheet in the named format. The formats for people show numbers with about four
// digits, omit columns that are empty or rarely needed, and state once a value that all rows share.
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
	if f.Name == texFormat.Name && v.Short {
		v.Width, v.Short = texWidth, false
	} else if f.Name != tableFormat.Name {
		v.Width, v.Short = 0, false
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

// An Answer is a table that is read batch by batch.
type Answer interface {
	Schema() *arrow.Schema       // columns of type text, int64, float64 and boolean
	Next() (arrow.Record, error) // the caller releases the record; io.EOF at the end
}

// A oneBatch is an answer with one batch.
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

// WriteAnswer writes an answer in the named format: all columns, with all their digits except in
// tex. The formats for people return a [*TooLongError] for long answers. The lines of the format
// table have at most width characters, unless width is 0.
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

// EachBatch calls fn with every batch of an answer, and releases the batch.
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
