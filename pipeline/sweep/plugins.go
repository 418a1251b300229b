package sweep

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/shatterlab/shatter/pipeline/pluginfile"
)

// PluginPaths returns the absolute paths of the file's plugins; relative ones start at dir. Each
// has to be a plugin that this machine can start, as package pluginfile describes them: others are
// left out, and are mistakes of the file from then on. The error is of type Mistakes and holds all
// that the file has.
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
		plugin, err := pluginfile.Open(abs)
		if err == nil {
			_, err = plugin.Here() // which answers questions about its settings
		}
		switch {
		case errors.As(err, new(*fs.PathError)):
			r.At(where, "%v; paths are relative to the sweep file", err)
		case err != nil:
			r.At(where, "%v", err)
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
