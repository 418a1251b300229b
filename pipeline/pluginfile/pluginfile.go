// Package pluginfile reads plugins from a disk: one executable file, or a set, which is a folder
// with one file for each platform.
//
// The identity of a plugin depends on its content alone, not on its location: the SHA-256 of the
// file or, for a set, of its list, a text with a line for each platform and the SHA-256 of the
// platform's file. A worker that has the identity of a set can therefore fetch its list by
// content, and then the file for its own machine. The files of a set count as one plugin with the
// same outcomes on every platform. This package cannot check that; float profiles and rechecks of
// trials do. BuiltinDigest returns the identity of a built-in algorithm.
//
// Start with Open and Read. ReadList reads a fetched list.
package pluginfile

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/disk"
)

// Here is the platform of this machine.
const Here = runtime.GOOS + "/" + runtime.GOARCH

// platformName matches the names of a set's files, such as acme_linux_amd64 or linux-arm64.
var platformName = regexp.MustCompile(`(?:^|[-_.])(linux|darwin)[-_](amd64|arm64)$`)

// A Plugin is a plugin on this disk.
type Plugin struct {
	Path   string // path of its file, or of the folder of a set
	Set    bool
	Files  []File // ascending by platform; one file if the plugin is not a set
	Digest string // its identity, in hex; empty: the files were not read
}

// A File is the file of a plugin for one platform.
type File struct {
	Platform string // such as "linux/amd64"; empty: not in a set
	Path     string
	Digest   string // SHA-256 in hex; empty: it was not read
}

// Open describes the plugin at path without reading its files. Its error describes an invalid
// plugin, or reports that there is none.
func Open(path string) (*Plugin, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return openSet(path)
	}
	if err := checkFile(path, info); err != nil {
		return nil, err
	}
	return &Plugin{Path: path, Files: []File{{Path: path}}}, nil
}

func checkFile(path string, info fs.FileInfo) error {
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("%q is not a file", path)
	case info.Mode()&0o111 == 0:
		return fmt.Errorf("%q is not executable: chmod +x it", path)
	}
	return nil
}

// openSet describes the folder of a set. It ignores files that are not executable and have no
// platform's name.
func openSet(dir string) (*Plugin, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	p := &Plugin{Path: dir, Set: true}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := os.Stat(path) // follows links
		if err != nil {
			return nil, err
		}
		name := platformName.FindStringSubmatch(e.Name())
		if info.IsDir() || name == nil && info.Mode()&0o111 == 0 {
			continue
		}
		if name == nil {
			return nil, fmt.Errorf("%q is the folder of a plugin for several platforms, and its file %q is for none: "+
				"name it like %s_linux_amd64, or move it away", dir, e.Name(), filepath.Base(dir))
		}
		f := File{Platform: name[1] + "/" + name[2], Path: path}
		if err := cmp.Or(checkFile(path, info), f.checkFormat()); err != nil {
			return nil, err
		}
		p.Files = append(p.Files, f)
	}
	slices.SortFunc(p.Files, func(a, b File) int { return cmp.Compare(a.Platform, b.Platform) })
	for i := 1; i < len(p.Files); i++ {
		if a, b := p.Files[i-1], p.Files[i]; a.Platform == b.Platform {
			return nil, fmt.Errorf("%q and %q are both for %s: a plugin has one file for a platform",
				a.Path, b.Path, a.Platform)
		}
	}
	if len(p.Files) == 0 {
		return nil, fmt.Errorf("%q is a folder without a file of a plugin, which is named like %s_linux_amd64",
			dir, filepath.Base(dir))
	}
	return p, nil
}

// checkFormat returns an error if the file is a program for another platform than its own.
func (f File) checkFormat() error {
	is, err := Platform(f.Path)
	if err == nil && is != "" && is != f.Platform {
		err = fmt.Errorf("%q is a program for %s: its name says %s", f.Path, is, f.Platform)
	}
	return err
}

// Here returns the path of the file for this machine.
func (p *Plugin) Here() (string, error) {
	f, err := p.FileHere()
	return f.Path, err
}

// FileHere returns the file for this machine.
func (p *Plugin) FileHere() (File, error) {
	f, err := find(p.Files, Here)
	if err != nil {
		return File{}, fmt.Errorf("plugin %q: %w", p.Path, err)
	}
	return f, nil
}

// A PlatformError reports that a plugin has no file for a platform.
type PlatformError struct {
	Want string   // required platform
	Has  []string // available platforms
}

func (e *PlatformError) Error() string {
	return fmt.Sprintf("it has files for %s, and this machine is %s", strings.Join(e.Has, ", "), e.Want)
}

// find returns the file for a platform, or a *PlatformError.
func find(files []File, platform string) (File, error) {
	e := &PlatformError{Want: platform}
	for _, f := range files {
		if f.Platform == platform || f.Platform == "" {
			return f, nil
		}
		e.Has = append(e.Has, f.Platform)
	}
	return File{}, e
}

// Read opens the plugin at path and computes the digests of its files.
func Read(path string) (*Plugin, error) {
	p, err := Open(path)
	if err != nil {
		return nil, err
	}
	for i, f := range p.Files {
		if p.Files[i].Digest, err = Sum(f.Path); err != nil {
			return nil, err
		}
	}
	if p.Digest = p.Files[0].Digest; p.Set {
		sum := sha256.Sum256(p.List())
		p.Digest = hex.EncodeToString(sum[:])
	}
	return p, nil
}

// Sum returns the SHA-256 of a file in hex.
func Sum(path string) (string, error) {
	f, _, err := disk.Open(path)
	if err != nil {
		return "", fmt.Errorf("digest of plugin: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("digest of plugin %q: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// A list starts with listHead, and has a line "platform SHA-256" for each file in the order of
// the platforms. No program starts with listHead.
const (
	listHead    = "shatter plugin set 1\n"
	longestList = 4 << 10
)

// List returns the list of a set whose files were read.
func (p *Plugin) List() []byte {
	list := []byte(listHead)
	for _, f := range p.Files {
		list = fmt.Appendf(list, "%s %s\n", f.Platform, f.Digest)
	}
	return list
}

// ReadList reads the list of a set from a fetched file. It returns nil if the file is not a list
// but the plugin itself.
func ReadList(path string) ([]File, error) {
	f, _, err := disk.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, longestList+1))
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(text, []byte(listHead)) {
		return nil, nil
	}
	return parseList(text)
}

// FileHere returns the file for this machine from a list, or a *PlatformError.
func FileHere(list []File) (File, error) { return find(list, Here) }

var listLine = regexp.MustCompile(`^((?:linux|darwin)/(?:amd64|arm64)) ([0-9a-f]{64})$`)

func parseList(text []byte) (files []File, err error) {
	if len(text) > longestList || !bytes.HasSuffix(text, []byte("\n")) {
		return nil, errors.New("list of a plugin's platforms: it is damaged")
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for _, line := range lines[1:] {
		m := listLine.FindStringSubmatch(line)
		if m == nil || len(files) > 0 && files[len(files)-1].Platform >= m[1] {
			return nil, fmt.Errorf("list of a plugin's platforms: the line %.100q is wrong", line)
		}
		files = append(files, File{Platform: m[1], Digest: m[2]})
	}
	if len(files) == 0 {
		return nil, errors.New("list of a plugin's platforms: it is empty")
	}
	return files, nil
}
