// Package sweep reads the sweep file: its syntax, its keys and values with their places, and what
// has to stand together. It promises that every mistake is reported at once, each with its line,
// column and path, and with a suggestion where a name is misspelt. It needs the types of
// schemas.Sweep, whose tags are the rules, and the registries that know the names of classes, laws,
// noises and adversaries; it asks no algorithm and opens no data file.
//
// Start with Parse, or with Read to go on after mistakes. A Block is one grid of the file, with the
// defaults of the top level.
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
	"github.com/shatterlab/shatter/schemas"
)

// MaxSource is the largest sweep file, in bytes.
const MaxSource = 1 << 20

// File is a sweep file. Where it has mistakes, what they are about has no meaning.
type File struct {
	Name   string // for messages
	Source []byte
	Sweep  schemas.Sweep
	Notes  []string // what else a reader of the file should know: values of ranges that coincide

	places map[string]Place
	findings
}

// Place is where the key and the value of a path stand, from 1. The key's numbers are 0 for items
// of lists.
type Place struct{ KeyLine, KeyColumn, Line, Column int }

// Parse reads the sweep file src, which name stands for in messages. It checks all that can be
// checked without asking algorithms or opening data: syntax, keys, types, ranges, and what must
// stand together. The error is of type Mistakes.
func Parse(name string, src []byte) (*File, error) {
	f := Read(name, src)
	if err := f.mistakes.err(); err != nil {
		return nil, err
	}
	return f, nil
}

// Read reads the sweep file src as Parse does, and returns it with the mistakes that it has, for
// those who find more of them: PluginPaths and plan.Resolve.
func Read(name string, src []byte) *File {
	f := &File{Name: name, Source: src, places: map[string]Place{}}
	r := NewReporter(f)
	c := &checker{r, map[reflect.Type][]Key{}}
	if root := c.load(src); root != nil {
		c.value(root, reflect.ValueOf(&f.Sweep).Elem(), "", Rules{})
	}
	f.checkTogether(r)
	f.findings = r.findings
	return f
}

// load returns the root of the only document in src, and nil where a mistake was found.
func (c *checker) load(src []byte) (root *yaml.Node) {
	if len(src) > MaxSource {
		c.fail(Place{}, "", "the file has %d bytes, more than the %d that a sweep file may have", len(src), MaxSource)
		return nil
	}
	defer func() { // the library's answer to some malformed input is a panic
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

// begins reports whether the white space that a line, from 1, begins with has that character.
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

// At returns the place of the value at path, or of the nearest thing around it that stands in the
// file.
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

// KeyAt returns the place of the key at path, and zeros where there is none.
func (f *File) KeyAt(path string) Place { return f.places[path] }

// Has reports whether something stands at path.
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

// JoinPath returns the path of a key inside of path.
func JoinPath(path, key string) string {
	if path == "" {
		return Shorten(key)
	}
	return path + "." + Shorten(key)
}

// Shorten keeps a quotation from the file readable: it cuts it after 40 letters.
func Shorten(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "..."
	}
	return s
}
