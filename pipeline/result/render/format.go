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

	sheet func(w *bufio.Writer, s *sheet.Sheet) error
	// answer writes an answer of any length as it comes. nil: the format is for sheets alone.
	answer func(w *bufio.Writer, a Answer) error
}

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

// AnswerNames returns the names of the formats that answers can be written in.
func AnswerNames() (names []string) {
	for _, f := range Formats() {
		if f.answer != nil {
			names = append(names, f.Name)
		}
	}
	return names
}

// Render writes a sheet in the format of a name. The formats for people show numbers with four
// digits and no column that is empty, and say once what is the same in all rows.
func Render(s *sheet.Sheet, w io.Writer, format string) error {
	f, ok := Find(format)
	if !ok {
		err := fmt.Errorf("unknown format: must be one of %s", strings.Join(Names(), ", "))
		return fmt.Errorf("show %s as %s: %w", s.Name, format, err)
	}
	return f.write(s, w, f.sheet)
}

func (f Format) write(s *sheet.Sheet, w io.Writer, write func(*bufio.Writer, *sheet.Sheet) error) error {
	out := bufio.NewWriter(w)
	if err := write(out, s); err != nil {
		return fmt.Errorf("show %s as %s: %w", s.Name, f.Name, err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("show %s as %s: %w", s.Name, f.Name, err)
	}
	return nil
}

// Answer is a table that is read batch by batch.
type Answer interface {
	Schema() *arrow.Schema       // of texts, int64, float64 and boolean
	Next() (arrow.Record, error) // that the caller releases; io.EOF at the end
}

// WriteAnswer writes an answer in the format of a name: all columns, with all their digits. The
// formats for people refuse long answers with a TooLongError.
func WriteAnswer(w io.Writer, a Answer, format string) error {
	f, ok := Find(format)
	if !ok || f.answer == nil {
		return fmt.Errorf("write answer: unknown format %q: must be one of %s", format, strings.Join(AnswerNames(), ", "))
	}
	out := bufio.NewWriterSize(w, 1<<16)
	if err := f.answer(out, a); err != nil {
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
