package sweep

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// PluginPaths returns the absolute paths of the file's plugins; relative ones start at dir. Each
// has to be an executable file: others are left out, and are mistakes of the file from then on. The
// error is of type Mistakes and holds all that the file has.
func (f *File) PluginPaths(dir string) ([]string, error) {
	var paths []string
	r := NewReporter(f)
	for i, p := range f.Sweep.Plugins {
		where := fmt.Sprintf("plugins[%d]", i)
		if !r.Sound(where) {
			continue
		}
		abs, err := Absolute(dir, p)
		if err != nil {
			r.At(where, "%v", err)
			continue
		}
		switch info, err := os.Stat(abs); {
		case err != nil:
			r.At(where, "%v; paths are relative to the sweep file", err)
		case !info.Mode().IsRegular():
			r.At(where, "%q is not a file", p)
		case info.Mode()&0o111 == 0:
			r.At(where, "%q is not executable: chmod +x it", p)
		case slices.Contains(paths, abs):
			r.At(where, "%q is given twice", p)
		default:
			paths = append(paths, abs)
		}
	}
	f.findings = r.findings
	return paths, r.Err()
}

// Absolute returns the absolute path of a file that a sweep file in dir names.
func Absolute(dir, path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.Abs(path)
}
