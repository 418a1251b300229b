package sweep

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Mistake is an error in a sweep file.
type Mistake struct {
	File         string
	Line, Column int    // from 1; 0: the file as a whole
	Path         string // path of the key or value, such as "algorithms[1].rounds"; empty: the file as a whole
	Message      string // with a suggestion or a remedy
}

// String returns file:line:column: path: message.
func (m Mistake) String() string {
	text := m.File
	if m.Line > 0 {
		text += fmt.Sprintf(":%d:%d", m.Line, m.Column)
	}
	if m.Path != "" {
		text += ": " + m.Path
	}
	return text + ": " + m.Message
}

// Mistakes is an error with all mistakes of a sweep file, in the order of the file.
type Mistakes []Mistake

// maxShown is the number of mistakes that a message shows.
const maxShown = 50

// Error returns one line for each mistake.
func (m Mistakes) Error() string {
	var lines []string
	for _, mistake := range m[:min(len(m), maxShown)] {
		lines = append(lines, mistake.String())
	}
	if len(m) > maxShown {
		lines = append(lines, fmt.Sprintf("and %d more", len(m)-maxShown))
	}
	return strings.Join(lines, "\n")
}

// sorted orders the mistakes by place and removes duplicates.
func (m Mistakes) sorted() Mistakes {
	slices.SortStableFunc(m, func(a, b Mistake) int {
		return cmp.Or(a.Line-b.Line, a.Column-b.Column)
	})
	seen := map[Mistake]bool{}
	return slices.DeleteFunc(m, func(one Mistake) bool {
		again := seen[one]
		seen[one] = true
		return again
	})
}

// Mistake returns a mistake without a message at the value at path, or at the nearest enclosing value.
func (f *File) Mistake(path string) Mistake {
	p := f.At(path)
	return Mistake{File: f.Name, Line: p.Line, Column: p.Column, Path: path}
}

// wrongs holds the paths of mistakes.
type wrongs struct {
	here  map[string]bool // paths of mistakes
	under map[string]bool // paths with mistakes inside; "" if there is any
}

// add records a mistake at path, including a missing key.
func (w *wrongs) add(path string) {
	if w.here == nil {
		w.here, w.under = map[string]bool{}, map[string]bool{}
	}
	w.here[path], w.under[""] = true, true
	for path != "" {
		path = parent(path)
		w.under[path] = true
	}
}

// sound reports whether there is no mistake at the path, inside it or around it.
func (w *wrongs) sound(path string) bool {
	if w.under[path] {
		return false
	}
	for ; ; path = parent(path) {
		if w.here[path] {
			return false
		}
		if path == "" {
			return true
		}
	}
}

// findings holds the mistakes of a file and their paths.
type findings struct {
	mistakes Mistakes
	wrongs   wrongs
}

func (f *findings) clone() findings {
	return findings{slices.Clone(f.mistakes), wrongs{maps.Clone(f.wrongs.here), maps.Clone(f.wrongs.under)}}
}

// parent returns the path of the enclosing value.
func parent(path string) string { return path[:max(strings.LastIndexAny(path, ".["), 0)] }

// A Reporter collects the mistakes of a file, including earlier ones. It tracks which parts are sound, so that
// callers do not report consequences of other mistakes.
type Reporter struct {
	File *File
	findings
}

// NewReporter returns a reporter with the known mistakes of the file.
func NewReporter(f *File) *Reporter {
	return &Reporter{f, f.findings.clone()}
}

// Sound reports whether no mistake was found at the paths, inside them or around them. A key that is missing because it
// was misspelled is not sound.
func (r *Reporter) Sound(paths ...string) bool {
	return !slices.ContainsFunc(paths, func(path string) bool { return !r.wrongs.sound(path) })
}

// Readable reports whether the task and the grids of the file are known.
func (r *Reporter) Readable() bool {
	return r.Sound("task") && !r.wrongs.here["grids"] && !r.wrongs.here[""]
}

// Count returns the number of mistakes.
func (r *Reporter) Count() int { return len(r.mistakes) }

// At reports a mistake at the value at path, or at the nearest enclosing value.
func (r *Reporter) At(path, format string, args ...any) {
	r.report(r.File.At(path), path, path, format, args)
}

// AtKey reports a mistake at the key at path instead of its value.
func (r *Reporter) AtKey(path, format string, args ...any) {
	p := r.File.places[path]
	if p.KeyLine == 0 {
		p = r.File.At(path)
	} else {
		p.Line, p.Column = p.KeyLine, p.KeyColumn
	}
	r.report(p, path, path, format, args)
}

// Missing reports a missing key of the mapping at path.
func (r *Reporter) Missing(path, key, format string, args ...any) {
	r.report(r.File.At(path), path, JoinPath(path, key), format, args)
}

// report adds a mistake at a place, displayed with a path, about the value at the path about.
func (r *Reporter) report(p Place, path, about, format string, args []any) {
	m := Mistake{File: r.File.Name, Line: p.Line, Column: p.Column, Path: path, Message: fmt.Sprintf(format, args...)}
	r.mistakes = append(r.mistakes, m)
	r.wrongs.add(about)
}

// Err returns the mistakes, sorted, as an error of type [Mistakes]; nil if there are none.
func (r *Reporter) Err() error { return r.mistakes.err() }

func (m Mistakes) err() error {
	if len(m) == 0 {
		return nil
	}
	return m.sorted()
}
