//go:build amd64 || arm64

package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownFile is the program that this process runs.
const ownFile = "/proc/self/exe"

// image is the content of a program's file.
type image struct {
	file *os.File // a sealed copy; nil: the file itself is executed
	own  bool     // it is this program
	why  string   // there is no copy
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
	if c.file == nil {
		return &image{why: c.why}, nil
	}
	fd, err := unix.FcntlInt(c.file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	return &image{file: os.NewFile(uintptr(fd), "image")}, nil
}

// sealed is a copy of a file that nobody can change.
type sealed struct {
	path   string
	info   os.FileInfo // when it was copied
	digest string
	file   *os.File // nil: none could be made
	why    string
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
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	s := &sealed{path: path, info: info}
	var head [2]byte
	if _, err := f.ReadAt(head[:], 0); err == nil && string(head[:]) == "#!" {
		s.why = "its interpreter opens the script by name"
	} else if s.file, err = executableMemory(); err != nil {
		s.why = fmt.Sprintf("the kernel makes no memory file that can be executed (%v)", err)
	}
	to := io.Discard
	if s.file != nil {
		to = s.file
	}
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(h, to), f); err != nil {
		return nil, err
	}
	s.digest = hex.EncodeToString(h.Sum(nil))
	if s.file == nil {
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
