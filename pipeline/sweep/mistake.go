package sweep

import (
	"fmt"
	"slices"
	"strings"
)

// Mistake is something wrong in a sweep file.
type Mistake struct {
	File         string
	Line, Column int    // from 1; 0: the file as a whole
	Path         string // of the key or value, "algorithms[1].rounds"; empty: the file as a whole
	Message      string // with a suggestion or a remedy
}

// String returns file:line:column: path: message.
func (m Mistake) String() string {
	var b strings.Builder
	b.WriteString(m.File)
	if m.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", m.Line, m.Column)
	}
	if m.Path != "" {
		b.WriteString(": " + m.Path)
	}
	return b.String() + ": " + m.Message
}

// Mistakes is the error of a sweep file: every mistake that was found, in the order of the file.
type Mistakes []Mistake

// maxShown is the number of mistakes that a message shows.
const maxShown = 50

// Error returns one line for each mistake.
func (m Mistakes) Error() string {
	var b strings.Builder
	for i, mistake := range m {
		if i == maxShown {
			fmt.Fprintf(&b, "\nand %d more", len(m)-maxShown)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(mistake.String())
	}
	return b.String()
}

// sorted orders the mistakes by their place and drops repetitions.
func (m Mistakes) sorted() Mistakes {
	slices.SortStableFunc(m, func(a, b Mistake) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return slices.Compact(m)
}

// Mistake returns a mistake at the value that stands at path, or at the nearest thing around it,
// without its message.
func (f *File) Mistake(path string) Mistake {
	p := f.At(path)
	return Mistake{File: f.Name, Line: p.Line, Column: p.Column, Path: path}
}

// Reporter collects the mistakes that one stage finds in a file.
type Reporter struct {
	File  *File
	found Mistakes
}

// At reports a mistake at the value that stands at path, or at the nearest thing around it.
func (r *Reporter) At(path, format string, args ...any) {
	p := r.File.At(path)
	r.add(p.Line, p.Column, path, format, args)
}

// AtKey reports a mistake at the key that stands at path, instead of its value.
func (r *Reporter) AtKey(path, format string, args ...any) {
	p := r.File.places[path]
	if p.KeyLine == 0 {
		r.At(path, format, args...)
		return
	}
	r.add(p.KeyLine, p.KeyColumn, path, format, args)
}

func (r *Reporter) add(line, column int, path, format string, args []any) {
	r.found = append(r.found, Mistake{
		File: r.File.Name, Line: line, Column: column, Path: path, Message: fmt.Sprintf(format, args...),
	})
}

// Err returns the mistakes, sorted, as an error of type Mistakes; nil where there are none.
func (r *Reporter) Err() error {
	if len(r.found) == 0 {
		return nil
	}
	return r.found.sorted()
}
