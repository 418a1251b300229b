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

	"github.com/shatterlab/shatter/pipeline/disk"
)

// ownFile is the program that this process runs.
const ownFile = "/proc/self/exe"

// An image is the content of a program's file.
type image struct {
	info   os.FileInfo // state of the file when it was copied
	digest string
	file   *os.File // sealed copy; nil: the kernel cannot create one, and the file itself is executed
	own    bool     // the image is the program of this process
	script []string // words after #! in its first line; nil: not a script
}

// executable returns the path to execute if the copy is passed as descriptor fd. It is "" for a
// nil image.
func (m *image) executable(path string, fd int) string {
	switch {
	case m.own:
		return ownFile
	case m.file == nil:
		return path
	}
	return fmt.Sprintf("/proc/self/fd/%d", fd)
}

// open opens the copy for one program: an interpreter keeps it open, and programs that share an opened file share its
// offset, by which they could exchange numbers. It returns nil if there is no copy.
func (m *image) open() (*os.File, error) {
	if m.file == nil {
		return nil, nil
	}
	return os.Open(fmt.Sprintf("/proc/self/fd/%d", m.file.Fd()))
}

// environment returns the variables of a program. Python would otherwise search for modules in
// the folder of the copy of a script.
func (m *image) environment(env []string) []string {
	if m.file == nil || !isPython(m.script) {
		return env
	}
	return append(slices.Clip(env), "PYTHONSAFEPATH=1")
}

// maxImages limits the number of cached copies.
const maxImages = 8

var (
	imagesMutex sync.Mutex
	images      = map[string]*image{} // keys are paths
)

// openImage returns the content of an executable file, after checking its digest.
func openImage(path, digest string) (*image, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if own, err := os.Stat(ownFile); err == nil && os.SameFile(info, own) {
		return &image{own: true}, nil
	}
	imagesMutex.Lock()
	defer imagesMutex.Unlock()
	m := images[path]
	if m == nil || !sameFile(m.info, info) {
		if m, err = seal(path); err != nil {
			return nil, err
		}
		if len(images) >= maxImages {
			clear(images)
		}
		images[path] = m
	}
	if digest != "" && m.digest != digest {
		return nil, &ChangedError{path, digest, m.digest}
	}
	return m, nil
}

// sameFile reports whether a file is unchanged.
func sameFile(a, b os.FileInfo) bool {
	changed := func(info os.FileInfo) syscall.Timespec { return info.Sys().(*syscall.Stat_t).Ctim }
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && changed(a) == changed(b)
}

// seal copies a file into memory that no process can change, and computes its digest.
func seal(path string) (*image, error) {
	f, _, err := disk.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m := &image{}
	if m.info, err = f.Stat(); err != nil {
		return nil, err
	}
	to := io.Discard
	if m.file, err = executableMemory(); err == nil {
		to = m.file
	}
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(h, to), f); err != nil {
		return nil, err
	}
	m.digest = hex.EncodeToString(h.Sum(nil))
	m.script = firstLine(io.NewSectionReader(f, 0, 1<<10))
	if m.file == nil {
		return m, nil
	}
	const all = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err := unix.FcntlInt(m.file.Fd(), unix.F_ADD_SEALS, all); err != nil {
		return nil, os.NewSyscallError("seal", err)
	}
	return m, nil
}

// executableMemory creates an empty memory file that can be executed.
func executableMemory() (*os.File, error) {
	const name = "shatter-plugin"
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, fmt.Errorf("the kernel makes no memory file that can be executed (%w)", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}
