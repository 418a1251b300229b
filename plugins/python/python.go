// Package python holds the SDK for authors of algorithms in Python, the package in folder shatter, and
// packs a plugin that is written with it into one file.
//
// A packed plugin is a program that any Python runs: a first line that names the interpreter, and a zip
// archive of the author's files and of the SDK. It needs no other file of the author's, so it travels to
// other workers by content. The same files give the same bytes, and so the same identity, everywhere.
// Start with Build.
package python

import (
	"archive/zip"
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// sdk is the part of the package that plugins contain. The client, in folder _client, is not in it.
//
//go:embed shatter/*.py
var sdk embed.FS

// defaultInterpreter begins a program whose source names no interpreter.
const defaultInterpreter = "#!/usr/bin/env python3"

// startText is the module that Python runs first.
const startText = `import runpy

import shatter  # noqa: F401, before anything else is imported or printed

runpy.run_module(%q, run_name="__main__", alter_sys=True)
`

var moduleFile = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*\.py$`)

// A File is one of an author's files.
type File struct {
	Name string // without a folder, such as "mean.py"
	Text []byte
	Data bool // not a module, but a file for shatter.read_file
}

// Build returns the program whose main file is the first of the given ones, which may import the others.
func Build(files ...File) ([]byte, error) {
	list, err := withSDK(files)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	first, _, _ := strings.Cut(string(files[0].Text), "\n")
	if !strings.HasPrefix(first, "#!") {
		first = defaultInterpreter
	}
	fmt.Fprintln(&out, strings.TrimSpace(first))
	z := zip.NewWriter(&out)
	z.SetOffset(int64(out.Len()))
	for _, f := range list {
		// Neither compressed, as compressors change, nor dated.
		w, err := z.CreateHeader(&zip.FileHeader{Name: f.Name, Method: zip.Store})
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.Text); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// withSDK returns all files of the program whose main file is the first of the given ones.
func withSDK(files []File) ([]File, error) {
	seen := map[string]bool{}
	for _, f := range files {
		switch {
		case !f.Data && !moduleFile.MatchString(f.Name):
			return nil, fmt.Errorf("%q is not the name of a Python module: use letters, digits and underscores, and .py", f.Name)
		case seen[f.Name], f.Name == "__main__.py", f.Name == "shatter.py", f.Name == "shatter":
			return nil, fmt.Errorf("%q stands for another file of the program: choose another name", f.Name)
		}
		seen[f.Name] = true
	}
	main := strings.TrimSuffix(files[0].Name, ".py")
	start := fmt.Appendf(nil, startText, main)
	list := append([]File{{Name: "__main__.py", Text: start}}, files...)
	names, err := fs.Glob(sdk, "shatter/*.py")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		b, err := sdk.ReadFile(name)
		if err != nil {
			return nil, err
		}
		list = append(list, File{Name: path.Clean(name), Text: b})
	}
	return list, nil
}
