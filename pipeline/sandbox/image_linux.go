//go:build amd64 || arm64

package sandbox

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/shatterlab/shatter/pipeline/disk"
)

// ownFile is the program that this process runs.
const ownFile = "/proc/self/exe"

// image is the content of a program's file.
type image struct {
	file *os.File // a sealed copy; nil: the file itself is executed
	own  bool     // it is this program
	why  string   // there is no copy

	script  []string // words of its first line; nil: it is no script
	modules []string // of Python, which lie beside the script and can be imported by it
}

// executable returns the path to execute, if the copy is passed as descriptor fd.
func (m *image) executable(path string, fd int) string {
	switch {
	case m.own:
		return ownFile
	case m.file == nil:
		return path
	}
	return fmt.Sprintf("/proc/self/fd/%d", fd)
}

func (m *image) release() {
	if m.file != nil {
		m.file.Close()
	}
}

func (m *image) layer() Layer {
	switch {
	case m.own:
		return Layer{Name: Bytes, Held: true, How: "the running program itself"}
	case m.file == nil:
		return Layer{Name: Bytes, How: m.why}
	case len(m.modules) > 0:
		return Layer{Name: Bytes, How: fmt.Sprintf("sealed copy, but modules beside the script, such as %s, are no part of "+
			"its digest: shatter plugin build packs them into it", filepath.Base(m.modules[0]))}
	}
	return Layer{Name: Bytes, Held: true, How: "sealed copy"}
}

// openImage opens the content of a file that is to be executed, after checking that it has a digest.
func openImage(path, digest string) (*image, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if own, err := os.Stat(ownFile); err == nil && os.SameFile(info, own) {
		return &image{own: true}, nil
	}
	c, err := copies.get(path, info)
	if err != nil {
		return nil, err
	}
	if digest != "" && c.digest != digest {
		return nil, &ChangedError{path, digest, c.digest}
	}
	m := &image{why: c.why, script: c.script}
	if len(c.script) > 0 && !c.packed && (filepath.Ext(path) == ".py" || isPython(c.script)) {
		m.modules = modulesBeside(path)
	}
	if c.file == nil {
		return m, nil
	}
	fd, err := unix.FcntlInt(c.file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	m.file = os.NewFile(uintptr(fd), "image")
	return m, nil
}

// environment returns the variables of a program. Those of Python name the modules beside a script,
// which it would look for beside the copy.
func (m *image) environment(env []string) []string {
	if m.file == nil || !isPython(m.script) {
		return env
	}
	env = append(slices.Clip(env), "PYTHONSAFEPATH=1")
	if len(m.modules) == 0 {
		return env
	}
	path := filepath.Dir(m.modules[0])
	for _, v := range env {
		if others, ok := strings.CutPrefix(v, "PYTHONPATH="); ok && others != "" {
			path += string(filepath.ListSeparator) + others
		}
	}
	return append(env, "PYTHONPATH="+path)
}

// sealed is a copy of a file that nobody can change.
type sealed struct {
	path   string
	info   os.FileInfo // when it was copied
	digest string
	file   *os.File // nil: none could be made, or used
	why    string
	script []string // words of its first line; nil: it is no script
	packed bool     // the script has a zip archive behind its first line
}

// fresh reports whether the file is still the one that was copied.
func (s *sealed) fresh(info os.FileInfo) bool {
	return os.SameFile(s.info, info) && s.info.Size() == info.Size() && s.info.ModTime().Equal(info.ModTime()) &&
		changed(s.info) == changed(info)
}

func changed(info os.FileInfo) syscall.Timespec { return info.Sys().(*syscall.Stat_t).Ctim }

// copyCache keeps the copies that were used last.
type copyCache struct {
	mu   sync.Mutex
	list []*sealed // the last used one last
}

const mostCopies = 8

var copies copyCache

// get returns the copy of a file as it is now.
func (c *copyCache) get(path string, info os.FileInfo) (*sealed, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.IndexFunc(c.list, func(s *sealed) bool { return s.path == path })
	if at >= 0 {
		s := c.list[at]
		c.list = slices.Delete(c.list, at, at+1)
		if s.fresh(info) {
			c.list = append(c.list, s)
			return s, nil
		}
	}
	s, err := seal(path)
	if err != nil {
		return nil, err
	}
	if len(c.list) == mostCopies {
		c.list = slices.Delete(c.list, 0, 1) // its descriptor goes with it
	}
	c.list = append(c.list, s)
	return s, nil
}

// seal copies a file into memory that nobody can change, and computes its digest.
func seal(path string) (*sealed, error) {
	f, _, err := disk.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	s := &sealed{path: path, info: info}
	if s.file, err = executableMemory(); err != nil {
		s.why = fmt.Sprintf("the kernel makes no memory file that can be executed (%v)", err)
	}
	to := io.Discard
	if s.file != nil {
		to = s.file
	}
	h := sha256.New()
	size, err := io.Copy(io.MultiWriter(h, to), f)
	if err != nil {
		return nil, err
	}
	s.digest = hex.EncodeToString(h.Sum(nil))
	var content io.ReaderAt = f
	if s.file != nil {
		content = s.file
	}
	s.script = firstLine(io.NewSectionReader(content, 0, size))
	if s.script != nil {
		_, err := zip.NewReader(content, size)
		s.packed = err == nil
	}
	if s.file == nil {
		return s, nil
	}
	if s.script != nil && !takesDescriptor(s.script) {
		s.file.Close()
		s.file, s.why = nil, filepath.Base(interpreter(s.script))+" opens a script by name"
		return s, nil
	}
	const all = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err := unix.FcntlInt(s.file.Fd(), unix.F_ADD_SEALS, all); err != nil {
		return nil, os.NewSyscallError("seal", err)
	}
	return s, nil
}

func executableMemory() (*os.File, error) {
	const name = "shatter-plugin"
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}
