//go:build amd64 || arm64

package sandbox

import (
	"errors"
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

	// fileRights are the rights that a rule about a path other than a folder may grant.
	fileRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// A ruleset is the kernel's landlock_ruleset_attr: the rights that are removed. An older kernel
// accepts the longer structure if the fields that it does not support are zero.
type ruleset struct{ files, network, scoped uint64 }

// rulesetOf returns all rights that a kernel with this version of Landlock can remove.
func rulesetOf(version int) ruleset {
	r := ruleset{files: unix.LANDLOCK_ACCESS_FS_REFER - 1} // the rights of version 1 are the lowest bits
	for since, rights := range map[int]uint64{
		2: unix.LANDLOCK_ACCESS_FS_REFER, truncateSince: unix.LANDLOCK_ACCESS_FS_TRUNCATE,
		5: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV, 9: unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX,
	} {
		if version >= since {
			r.files |= rights
		}
	}
	if version >= 4 {
		r.network = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if version >= 6 {
		r.scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return r
}

// truncateSince is the first version of Landlock that controls truncation.
const truncateSince = 3

// The rules are written here because landlock-lsm/go-landlock restricts all threads of the
// process, before Landlock 8 through libpsx, which needs linker flags in binaries with cgo.

// restrictFiles removes all rights from this thread, and from all programs that it executes and
// starts, except the rights to the paths of the entry. The ruleset also denies TCP, abstract
// sockets and signals, if the kernel can.
func (e *entry) restrictFiles() (how string, err error) {
	version := landlockVersion()
	if version == 0 {
		return "", errors.New("the kernel has no Landlock")
	}
	r := rulesetOf(version)
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&r)), unsafe.Sizeof(r), 0)
	if errno != 0 {
		return "", fmt.Errorf("make rules of Landlock: %w", errno)
	}
	defer func() { _ = unix.Close(int(fd)) }()
	for _, grant := range []struct {
		paths  []string
		rights uint64
	}{{e.Write, folderRights}, {e.Read, readRights}, {devices, deviceRights}} {
		for _, path := range grant.paths {
			if err := addRule(fd, path, grant.rights&r.files); err != nil {
				return "", fmt.Errorf("make a rule of Landlock about %q: %w", path, err)
			}
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return "", fmt.Errorf("restrict by Landlock: %w", errno)
	}
	if version < truncateSince {
		err = denyCuts().install()
	}
	return fmt.Sprintf("Landlock %d", version), err
}

// addRule grants rights to a path and everything below it. It ignores a path that does not exist.
func addRule(fd uintptr, path string, rights uint64) error {
	at, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = unix.Close(at) }()
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		return err
	}
	rule := unix.LandlockPathBeneathAttr{Parent_fd: int32(at), Allowed_access: rights}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rule.Allowed_access &= fileRights
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
