package simulation

import (
	"bytes"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/shatterlab/shatter/pipeline/disk"
)

// files holds the data of a folder that survives a power cut.
type files struct {
	mu      sync.Mutex
	dir     string
	durable map[string][]byte // content by path in the folder
	synced  map[string][]byte // content of synced files; their names may not be durable
	renamed map[string]bool   // files that were replaced since the last sync of their folder
}

func newFiles(dir string) *files {
	f := &files{dir: dir, durable: map[string][]byte{}, synced: map[string][]byte{}, renamed: map[string]bool{}}
	for _, name := range f.names() {
		f.durable[name] = f.read(name)
		f.synced[name] = f.durable[name]
	}
	return f
}

// names returns the sorted names of all existing files.
func (f *files) names() (list []string) {
	_ = filepath.WalkDir(f.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			list = append(list, f.name(path))
		}
		return nil // a missing file is not an error
	})
	return list
}

func (f *files) name(path string) string { return strings.TrimPrefix(path, f.dir+"/") }

func (f *files) read(name string) []byte {
	b, err := os.ReadFile(filepath.Join(f.dir, name))
	if err != nil {
		return nil
	}
	return b
}

// record records a step of the disk.
func (f *files) record(step disk.Step, path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := f.name(path)
	switch step {
	case disk.Synced:
		f.synced[name] = f.read(name)
		if _, ok := f.durable[name]; ok && !f.renamed[name] {
			f.durable[name] = f.synced[name]
		}
	case disk.Renaming:
		f.synced[name] = f.synced[name+".new"]
		f.renamed[name] = true
		delete(f.synced, name+".new")
	case disk.FolderSynced:
		f.syncNames(name)
	}
}

// syncNames makes the names in a folder durable.
func (f *files) syncNames(folder string) {
	there := f.names()
	for name := range f.durable {
		if filepath.Dir(name) == folder && !slices.Contains(there, name) {
			delete(f.durable, name)
		}
	}
	for _, name := range there {
		if filepath.Dir(name) == folder {
			f.durable[name] = append([]byte{}, f.synced[name]...)
			delete(f.renamed, name)
		}
	}
}

func isLog(name string) bool { return strings.HasSuffix(name, ".log") }

// leave copies the surviving data to another folder: everything or, after a power cut, the durable
// data and a part of the rest.
func (f *files) leave(to string, power bool, rng *rand.Rand) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	names := map[string]bool{}
	for _, name := range f.names() {
		names[name] = true
	}
	for name := range f.durable {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		content := f.read(name)
		if power {
			content = f.survives(name, content, rng)
		}
		if content == nil {
			continue
		}
		path := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// survives returns the content of a file after a power cut; nil: none.
func (f *files) survives(name string, content []byte, rng *rand.Rand) []byte {
	durable, ok := f.durable[name]
	switch {
	case ok && isLog(name) && bytes.HasPrefix(content, durable):
		return torn(durable, content, rng)
	case rng.IntN(2) == 0 && (ok || !isLog(name)):
		return durable
	case isLog(name): // the durable prefix survives; the rest may be cut or overwritten
		return torn(common(durable, content), content, rng)
	case f.renamed[name]:
		return f.synced[name]
	case strings.HasSuffix(name, ".new"):
		return torn(nil, content, rng)
	}
	return content
}

// common returns the longest common prefix of a and b.
func common(a, b []byte) []byte {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

// torn returns content cut somewhere after the durable prefix; its last bytes may be wrong.
func torn(durable, content []byte, rng *rand.Rand) []byte {
	out := bytes.Clone(content[:len(durable)+rng.IntN(len(content)-len(durable)+1)])
	if tail := out[len(durable):]; len(tail) > 0 && rng.IntN(3) == 0 {
		clear(tail[rng.IntN(len(tail)):])
	}
	if out == nil {
		out = []byte{}
	}
	return out
}
