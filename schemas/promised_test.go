package schemas_test

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// checkPromised compares got with the file at path, which records something that CHANGELOG.md promises
// to others.
func checkPromised(t *testing.T, path string, got []byte) {
	t.Helper()
	testkit.GoldenAt(t, path, got)
	if t.Failed() {
		t.Error("Others build on this. Say in schemas/CHANGELOG.md, under \"Unreleased\", what changes for them, and " +
			"whether a version has to rise; then run: go test ./schemas -update")
	}
}

// authorPackages are the folders of the packages that authors import, each with those below it.
var authorPackages = []string{"plugins/algo", "plugins/plugintest"}

// pythonNames matches the list of what the SDK in Python exports.
var pythonNames = regexp.MustCompile(`(?s)__all__ = \[.*?\]`)

// The exported declarations of the SDK in Go, and the names of that in Python, stay, or the changelog tells
// of it.
func TestPromisedSDK(t *testing.T) {
	var b strings.Builder
	for _, dir := range authorPackages {
		root := filepath.Join("..", dir)
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil || !d.IsDir():
				return err
			case d.Name() == "testdata" || d.Name() == "internal":
				return fs.SkipDir
			}
			fmt.Fprintf(&b, "package %s\n\n%s\n", filepath.ToSlash(path[len("../"):]), exported(t, path))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	names := pythonNames.FindString(testkit.ReadFile(t, "../plugins/python/shatter/__init__.py"))
	if names == "" {
		t.Error("plugins/python/shatter has no list of what it exports")
	}
	fmt.Fprintf(&b, "package plugins/python/shatter\n\n%s\n", names)
	checkPromised(t, "testdata/promised/sdk.txt", []byte(b.String()))
}

// exported returns the exported declarations of the package in a folder, in order, without comments and
// bodies.
func exported(t *testing.T, dir string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var declarations []string
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.FileExports(file)
		for _, d := range file.Decls {
			if text := declaration(t, d); text != "" {
				declarations = append(declarations, text)
			}
		}
	}
	slices.Sort(declarations)
	return strings.Join(declarations, "\n")
}

// declaration returns an exported declaration as text; "" if it is an import or a method that nobody can
// name.
func declaration(t *testing.T, d ast.Decl) string {
	t.Helper()
	switch d := d.(type) {
	case *ast.GenDecl:
		if d.Tok == token.IMPORT {
			return ""
		}
	case *ast.FuncDecl:
		if d.Body = nil; d.Recv != nil && !ast.IsExported(receiver(d.Recv.List[0].Type)) {
			return ""
		}
	}
	ast.Inspect(d, func(n ast.Node) bool { // no comments about fields that nobody sees
		switch n := n.(type) {
		case *ast.StructType:
			n.Incomplete = false
		case *ast.InterfaceType:
			n.Incomplete = false
		}
		return true
	})
	var b strings.Builder
	// Positions of the file would leave empty lines where comments were.
	if err := format.Node(&b, token.NewFileSet(), d); err != nil {
		t.Fatal(err)
	}
	return b.String() + "\n"
}

// receiver returns the name of a receiver's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// The messages of the plugin protocol stay as they are on the wire.
func TestPromisedProtocol(t *testing.T) {
	file := pluginv1.File_plugin_proto
	var b strings.Builder
	fmt.Fprintf(&b, "protocol versions %d to %d\n", pluginv1.OldestVersion, pluginv1.Version)
	for s := range all(file.Services()) {
		for m := range all(s.Methods()) {
			fmt.Fprintf(&b, "%s(%s) %s, streams %t %t\n", m.FullName(), m.Input().Name(), m.Output().Name(),
				m.IsStreamingClient(), m.IsStreamingServer())
		}
	}
	writeEnums(&b, file.Enums())
	for m := range all(file.Messages()) {
		for f := range all(m.Fields()) {
			kind := f.Kind().String()
			switch {
			case f.IsMap():
				kind = fmt.Sprintf("map<%s, %s>", f.MapKey().Kind(), f.MapValue().Kind())
			case f.Message() != nil:
				kind = string(f.Message().Name())
			case f.Enum() != nil:
				kind = string(f.Enum().Name())
			}
			fmt.Fprintf(&b, "%s = %d %s %s\n", f.FullName(), f.Number(), f.Cardinality(), kind)
		}
		writeEnums(&b, m.Enums())
	}
	checkPromised(t, "testdata/promised/protocol.txt", []byte(b.String()))
}

func writeEnums(b *strings.Builder, enums protoreflect.EnumDescriptors) {
	for e := range all(enums) {
		for v := range all(e.Values()) {
			fmt.Fprintf(b, "%s %s = %d\n", e.FullName(), v.Name(), v.Number())
		}
	}
}

// all returns the members of a list of descriptors.
func all[D any](list interface {
	Len() int
	Get(i int) D
}) func(yield func(D) bool) {
	return func(yield func(D) bool) {
		for i := range list.Len() {
			if !yield(list.Get(i)) {
				return
			}
		}
	}
}

// The columns of result files keep their names and types.
func TestPromisedColumns(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, "version %s\n", schemas.ResultVersion)
	for _, k := range trial.KeyColumns() {
		fmt.Fprintf(&b, "key %s %s\n", k.Name, k.Type)
	}
	for _, f := range resultFiles {
		for _, c := range result.Columns(f.name) {
			fmt.Fprintf(&b, "%s %s %s\n", f.name, c.Name, c.Type)
		}
	}
	for _, c := range result.FindColumns() {
		fmt.Fprintf(&b, "find %s %s\n", c.Name, c.Type)
	}
	checkPromised(t, "testdata/promised/columns.txt", []byte(b.String()))
}
