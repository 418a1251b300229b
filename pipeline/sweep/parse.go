// Package sweep parses sweep files. It checks syntax, keys, values and their combinations, without algorithms and data
// files. It reports all mistakes at once, each with line, column, path and, for misspelled names, a suggestion. The
// rules are in the tags of schemas.Sweep, and the names in the registries of classes, distributions, noises and
// adversaries.
//
// Start with [Parse], or with [Read] to continue after mistakes. A [Block] is one grid of the file, with the defaults
// of the top level.
package sweep

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/shatterlab/shatter/pipeline/task"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

// MaxSource is the largest sweep file, in bytes.
const MaxSource = 1 << 20

// A File is a parsed sweep file. Values with mistakes are meaningless.
type File struct {
	Name   string // for messages
	Source []byte
	Sweep  schemas.Sweep
	Notes  []string // remarks for the user, such as values of ranges that coincide

	places map[string]Place
	findings
}

// A Place is the position of a key and its value, from 1. The position of the key is 0 for items of lists.
type Place struct{ KeyLine, KeyColumn, Line, Column int }

// Parse parses the sweep file src; messages call it name. It checks everything that requires neither algorithms nor
// data: syntax, keys, types, ranges and combinations. The error is of type [Mistakes].
func Parse(name string, src []byte) (*File, error) {
	f := Read(name, src)
	if err := f.mistakes.err(); err != nil {
		return nil, err
	}
	return f, nil
}

// Read is like [Parse] but returns the file together with its mistakes, so that PluginPaths and plan.Resolve can add
// more.
func Read(name string, src []byte) *File {
	f := &File{Name: name, Source: src, places: map[string]Place{}}
	r := NewReporter(f)
	c := &checker{r}
	if root := c.load(src); root != nil {
		c.value(root, reflect.ValueOf(&f.Sweep).Elem(), "", Rules{})
	}
	f.checkTogether(r)
	f.findings = r.findings
	return f
}

// load returns the root of the only document in src; nil after a mistake.
func (c *checker) load(src []byte) (root *yaml.Node) {
	if len(src) > MaxSource {
		c.fail(Place{}, "", "the file has %d bytes, more than the %d that a sweep file may have", len(src), MaxSource)
		return nil
	}
	defer func() { // the library panics for some malformed input
		if r := recover(); r != nil {
			c.fail(Place{}, "", "not readable as YAML: %v", r)
			root = nil
		}
	}()
	loader, err := yaml.NewLoader(bytes.NewReader(src))
	if err != nil {
		c.fail(Place{}, "", "not readable as YAML: %v", err)
		return nil
	}
	var document yaml.Node
	if err := loader.Load(&document); err != nil {
		c.syntax(src, err)
		return nil
	}
	var second yaml.Node
	if err := loader.Load(&second); err == nil {
		c.fail(Place{Line: second.Line, Column: second.Column}, "", "a second document: a sweep file has one")
		return nil
	} else if !errors.Is(err, io.EOF) {
		c.syntax(src, err)
		return nil
	}
	if document.Kind != yaml.DocumentNode || len(document.Content) != 1 || document.Content[0].ShortTag() == "!!null" {
		c.fail(Place{}, "", "the file is empty")
		return nil
	}
	return document.Content[0]
}

// begins reports whether the leading white space of a line, from 1, contains a character.
func begins(src []byte, line int, white byte) bool {
	for range line - 1 {
		_, src, _ = bytes.Cut(src, []byte("\n"))
	}
	space := len(src) - len(bytes.TrimLeft(src, " \t"))
	return bytes.IndexByte(src[:space], white) >= 0
}

// syntax reports an error of the YAML library about src as a mistake.
func (c *checker) syntax(src []byte, err error) {
	if errors.Is(err, io.EOF) {
		c.fail(Place{}, "", "the file is empty")
		return
	}
	var load *yaml.LoadError
	if errors.As(err, &load) {
		message := load.Message
		if load.ContextMsg != "" {
			message = load.ContextMsg + ": " + message
		}
		if load.Mark.Line == 0 {
			message += "; a sweep file is plain text in UTF-8"
		}
		if begins(src, load.Mark.Line, '\t') {
			message = "a tab at the beginning of the line: YAML is indented by spaces"
		}
		if strings.Contains(message, "cannot start any token") {
			message += "; put text that begins with a special character in quotes"
		}
		c.fail(Place{Line: load.Mark.Line, Column: load.Mark.Column}, "", "not YAML: %s", message)
		return
	}
	c.fail(Place{}, "", "not YAML: %v; a sweep file is plain text in UTF-8", err)
}

// At returns the place of the value at path, or of the nearest enclosing value in the file.
func (f *File) At(path string) Place {
	for {
		if p, ok := f.places[path]; ok {
			return p
		}
		if path == "" {
			return Place{Line: 1, Column: 1}
		}
		path = parent(path)
	}
}

// KeyAt returns the place of the key at path; zero if there is none.
func (f *File) KeyAt(path string) Place { return f.places[path] }

// Has reports whether the file has a value at path.
func (f *File) Has(path string) bool { _, ok := f.places[path]; return ok }

// Item returns the path of the i-th value of the axis at path. A single value has no index.
func (f *File) Item(path string, i int) string {
	if indexed := path + "[" + strconv.Itoa(i) + "]"; f.Has(indexed) {
		return indexed
	}
	return path
}

// Task returns the task, with its default.
func (f *File) Task() *task.Task { return task.Of(f.Sweep.Task) }

// Seed returns the seed, with its default.
func (f *File) Seed() schemas.Seed {
	if f.Sweep.Seed == nil {
		return schemas.NumberSeed(schemas.DefaultSeed)
	}
	return *f.Sweep.Seed
}

// JoinPath returns the path of a key of the mapping at path.
func JoinPath(path, key string) string {
	if path == "" {
		return wording.Shorten(key)
	}
	return path + "." + wording.Shorten(key)
}
