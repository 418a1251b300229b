package sweep

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/shatterlab/shatter/schemas"
)

// MaxSource is the size in bytes of the largest sweep file.
const MaxSource = 1 << 20

// File is a sweep file whose syntax, keys and types are right.
type File struct {
	Name   string // for messages
	Source []byte
	Sweep  schemas.Sweep

	Places map[string]Place
}

// place is where a path's key and value stand; the key's numbers are 0 for items of lists.
type Place struct{ KeyLine, KeyColumn, Line, Column int }

// Problem is one mistake in a sweep file.
type Mistake struct {
	File         string
	Line, Column int    // from 1; 0: the file as a whole
	Path         string // algorithms[1].rounds; empty: the file as a whole
	Message      string // with a suggestion or a remedy
}

// String is file:line:column: path: message.
func (p Mistake) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	if p.Path != "" {
		b.WriteString(": " + p.Path)
	}
	return b.String() + ": " + p.Message
}

// Problems is every mistake that was found, in the order of the file.
type Mistakes []Mistake

// maxShown keeps a message readable.
const maxShown = 50

// Error is one line for each mistake.
func (p Mistakes) Error() string {
	var b strings.Builder
	for i, problem := range p {
		if i == maxShown {
			fmt.Fprintf(&b, "\nand %d more", len(p)-maxShown)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(problem.String())
	}
	return b.String()
}

// sorted orders the mistakes by place and drops repetitions.
func (p Mistakes) Sorted() Mistakes {
	slices.SortStableFunc(p, func(a, b Mistake) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return slices.Compact(p)
}

// Parse reads the sweep file src, which name stands for in messages. It checks everything that can be checked without asking
// algorithms or opening data: syntax, keys, types, ranges, and what must stand together. The error is a Problems.
func Parse(name string, src []byte) (*File, error) {
	c := &checker{file: name, places: map[string]Place{}, fields: map[reflect.Type][]field{}}
	f := &File{Name: name, Source: src, Places: c.places}
	root := c.load(src)
	if root != nil {
		c.value(root, reflect.ValueOf(&f.Sweep).Elem(), "", Rules{})
	}
	if len(c.problems) == 0 {
		c.problems = f.together()
	}
	if len(c.problems) > 0 {
		return nil, c.problems.Sorted()
	}
	return f, nil
}

// load gives the file's only document.
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
		c.syntax(err)
		return nil
	}
	var second yaml.Node
	if err := loader.Load(&second); err == nil {
		c.fail(Place{Line: second.Line, Column: second.Column}, "", "a second document: a sweep file has one")
		return nil
	} else if !errors.Is(err, io.EOF) {
		c.syntax(err)
		return nil
	}
	if document.Kind != yaml.DocumentNode || len(document.Content) != 1 || document.Content[0].ShortTag() == "!!null" {
		c.fail(Place{}, "", "the file is empty")
		return nil
	}
	return document.Content[0]
}

func (c *checker) syntax(err error) {
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
		c.fail(Place{Line: load.Mark.Line, Column: load.Mark.Column}, "", "not YAML: %s", message)
		return
	}
	c.fail(Place{}, "", "not YAML: %v; a sweep file is plain text in UTF-8", err)
}

// at is the place of the value at path, or of the nearest thing around it that stands in the file.
func (f *File) At(path string) Place {
	for {
		if p, ok := f.Places[path]; ok {
			return p
		}
		if path == "" {
			return Place{Line: 1, Column: 1}
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
}

// problem blames the value at path.
func (f *File) Mistake(path, format string, args ...any) Mistake {
	p := f.At(path)
	return Mistake{File: f.Name, Line: p.Line, Column: p.Column, Path: path, Message: fmt.Sprintf(format, args...)}
}

// problemAtKey blames the key at path instead of its value.
func (f *File) MistakeAtKey(path, format string, args ...any) Mistake {
	p := f.Mistake(path, format, args...)
	if at := f.Places[path]; at.KeyLine > 0 {
		p.Line, p.Column = at.KeyLine, at.KeyColumn
	}
	return p
}

// PluginPaths gives the absolute paths of the file's plugins, relative ones starting at dir. The error is a Problems.
func (f *File) PluginPaths(dir string) ([]string, error) {
	var paths []string
	var problems Mistakes
	for i, p := range f.Sweep.Plugins {
		where := fmt.Sprintf("plugins[%d]", i)
		abs, err := Absolute(dir, p)
		if err != nil {
			problems = append(problems, f.Mistake(where, "%v", err))
			continue
		}
		switch info, err := os.Stat(abs); {
		case err != nil:
			problems = append(problems, f.Mistake(where, "%v; paths are relative to the sweep file", err))
		case !info.Mode().IsRegular():
			problems = append(problems, f.Mistake(where, "%q is not a file", p))
		case info.Mode()&0o111 == 0:
			problems = append(problems, f.Mistake(where, "%q is not executable: chmod +x it", p))
		case slices.Contains(paths, abs):
			problems = append(problems, f.Mistake(where, "%q is given twice", p))
		default:
			paths = append(paths, abs)
		}
	}
	if len(problems) > 0 {
		return nil, problems.Sorted()
	}
	return paths, nil
}

func Absolute(dir, path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.Abs(path)
}
