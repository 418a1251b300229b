//go:build amd64 || arm64

package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The folder above one named shims is readable if the user's PATH leads there, and not because a plugin lies in such a
// folder or names an interpreter there.
func TestShims(t *testing.T) {
	dir := t.TempDir()
	shims := filepath.Join(dir, "shims")
	python := filepath.Join(shims, "python3")
	if err := os.Mkdir(shims, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(python, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, search string
		script       []string
		want         bool
	}{
		{"the plugin", "", nil, false},
		{"a named interpreter", "", []string{python}, false},
		{"a named one that PATH finds", shims, []string{python}, true},
		{"a found interpreter", shims, []string{"/usr/bin/env", "python3"}, true},
		{"another interpreter", "", []string{"/usr/bin/env", "python3"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("PATH", c.search)
			read := Program{Path: filepath.Join(shims, "plugin")}.readable(&image{script: c.script})
			if slices.Contains(read, dir) != c.want {
				t.Errorf("readable: %q", read)
			}
		})
	}
}
