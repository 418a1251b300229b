//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rights of Landlock.
const (
	readRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR

	folderRights = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR |
		unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX

	deviceRights = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE

	// fileRights are those that a rule about something else than a folder may give.
	fileRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// handledRights returns the rights to files that a kernel of a version of Landlock can take away.
func handledRights(version int) uint64 {
	rights := uint64(unix.LANDLOCK_ACCESS_FS_REFER - 1) // those of version 1 are the lowest bits
	for since, more := range map[int]uint64{
		2: unix.LANDLOCK_ACCESS_FS_REFER, 3: unix.LANDLOCK_ACCESS_FS_TRUNCATE,
		5: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV, 9: unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX,
	} {
		if version >= since {
			rights |= more
		}
	}
	return rights
}

// cutsHandled reports whether a kernel of a version of Landlock asks it before files are cut.
func cutsHandled(version int) bool {
	return handledRights(version)&unix.LANDLOCK_ACCESS_FS_TRUNCATE != 0
}

// ruleset is the kernel's landlock_ruleset_attr.
type ruleset struct{ files, network, scoped uint64 }

// size returns the part of the structure that a kernel of a version knows.
func (r ruleset) size(version int) uintptr {
	switch {
	case version < 4:
		return unsafe.Sizeof(r.files)
	case version < 6:
		return unsafe.Sizeof(r.files) + unsafe.Sizeof(r.network)
	}
	return unsafe.Sizeof(r)
}

// grant is a path with the rights to it and to all below it.
type grant struct {
	path   string
	rights uint64
}

// restrict takes all rights from this thread, and from all that it executes and starts, but the
// granted ones. Paths that do not exist are left out.
func restrict(r ruleset, version int, grants []grant) error {
	r.files &= handledRights(version)
	if version < 4 {
		r.network = 0
	}
	if version < 6 {
		r.scoped = 0
	}
	if r == (ruleset{}) {
		return nil
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&r)), r.size(version), 0)
	if errno != 0 {
		return fmt.Errorf("make rules: %w", errno)
	}
	defer func() { _ = unix.Close(int(fd)) }()
	for _, g := range grants {
		if err := addRule(fd, g, r.files); err != nil && r.files != 0 {
			return fmt.Errorf("make a rule about %q: %w", g.path, err)
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("restrict: %w", errno)
	}
	return nil
}

func addRule(fd uintptr, g grant, handled uint64) error {
	at, err := unix.Open(g.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = unix.Close(at) }()
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		return err
	}
	rule := unix.LandlockPathBeneathAttr{Parent_fd: int32(at), Allowed_access: g.rights & handled}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rule.Allowed_access &= fileRights
	}
	if rule.Allowed_access == 0 {
		return nil
	}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, fd, unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// landlockVersion returns the version of Landlock of this kernel; 0 if it has none.
func landlockVersion() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}
