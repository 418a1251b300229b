package dataset

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// nameless creates an empty file without a name.
func nameless(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// seal fixes the file's size, forbids writes except through existing mappings, and forbids
// further seals.
func seal(f *os.File) error {
	err := addSeals(f, unix.F_SEAL_FUTURE_WRITE)
	if errors.Is(err, unix.EINVAL) { // before Linux 5.1: readers are trusted not to write
		err = addSeals(f, 0)
	}
	return err
}

func addSeals(f *os.File, more int) error {
	_, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL|more)
	return os.NewSyscallError("fcntl", err)
}

// reopen opens the file again, for reading.
func reopen(f *os.File) (*os.File, error) { return os.Open(fmt.Sprintf("/proc/self/fd/%d", f.Fd())) }
