//go:build !linux

package host

import "net"

// ownPeer trusts the owner of the socket: only Linux is asked whose process is at the other end.
func ownPeer(*net.UnixConn) error { return nil }
