package host

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// ownPeer returns an error if another user's process is at the other end of a connection.
func ownPeer(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var peer *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		peer, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err := errors.Join(err, failed); err != nil {
		return fmt.Errorf("find out whose process listens: %w", err)
	}
	if int(peer.Uid) != os.Getuid() {
		return fmt.Errorf("a process of another user (number %d) listens there: run both as the same one", peer.Uid)
	}
	return nil
}
