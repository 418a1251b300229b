package sweep

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/shatterlab/shatter/pipeline/pluginfile"
)

// PluginPaths returns the absolute paths of the file's plugins; dir is the base of relative ones. It omits plugins that
// this machine cannot start (see package pluginfile), and adds them to the mistakes of the file. The error is of type
// [Mistakes] and contains all mistakes of the file.
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
			_, err = plugin.Here() // this machine asks it about settings
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

// Absolute resolves a path in a sweep file, relative to the folder dir.
func Absolute(dir, path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.Abs(path)
}
