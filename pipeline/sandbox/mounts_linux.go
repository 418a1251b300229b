//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// mountSpace returns a name of the mount namespace of this process; "" if the system does not tell.
func mountSpace() string {
	name, _ := os.Readlink("/proc/self/ns/mnt")
	return name
}

// remount makes all file systems read-only for this process and what it starts, but for the program's
// folder. It changes nothing unless this process has a mount namespace of its own: in that of the host
// it would do so for the whole machine.
func (s *spec) remount() error {
	if s.NoSpaces != "" {
		return errors.New(s.NoSpaces)
	}
	if own := mountSpace(); own == "" || s.HostMounts == "" || own == s.HostMounts {
		return errors.New("the process is in the mount namespace of its host")
	}
	// Nothing passes from here to the host from now on.
	if err := unix.MountSetattr(-1, "/", unix.AT_RECURSIVE, &unix.MountAttr{Propagation: unix.MS_PRIVATE}); err != nil {
		return fmt.Errorf("the kernel refuses to make mounts private (%w)", err)
	}
	if s.Folder != "" {
		if err := unix.Mount(s.Folder, s.Folder, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("the kernel refuses a mount for the folder (%w)", err)
		}
	}
	const readOnly = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID
	if err := unix.MountSetattr(-1, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: readOnly}); err != nil {
		return fmt.Errorf("the kernel refuses to make mounts read-only (%w)", err)
	}
	if s.Folder == "" {
		return nil
	}
	err := unix.MountSetattr(-1, s.Folder, 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
	if err != nil {
		return fmt.Errorf("the kernel refuses to make the folder writable again (%w)", err)
	}
	return nil
}
