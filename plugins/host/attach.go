package host

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/shatterlab/shatter/pipeline/pluginfile"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Attach has c start bridge in place of the plugin at path, which may be a name of any kind. bridge is
// a program that calls Bridge with the socket of a plugin that a person has started, and digest what
// Attached returns for it.
func (c *Catalog) Attach(path, digest string, bridge Command) {
	e := c.entries[path]
	if e == nil {
		c.add(path, bridge)
		e = c.entries[path]
	}
	bridge.Attached = true
	e.command, e.builtin = bridge, false
	e.file = func() (*pluginfile.Plugin, error) {
		return &pluginfile.Plugin{Path: path, Files: []pluginfile.File{{Path: path, Digest: digest}}, Digest: digest}, nil
	}
}

// Attached returns the identity of the plugin that a person has started and that listens at a socket,
// which no other process has, or an error with the remedy.
func Attached(socket string) (digest string, err error) {
	const again = "start the plugin again with " + pluginv1.AttachKey + "=1 and give the line that it prints"
	info, err := os.Stat(socket)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("attach to %q: the plugin that listened there has ended; %s", socket, again)
	case errors.Is(err, fs.ErrPermission):
		return "", fmt.Errorf("attach to %q: it belongs to another user: run both as the same one", socket)
	case err != nil:
		return "", fmt.Errorf("attach to a plugin: %w; %s", err, again)
	case info.Mode().Type() != fs.ModeSocket:
		return "", fmt.Errorf("attach to %q: it is no socket; %s", socket, again)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Getuid() {
		return "", fmt.Errorf("attach to %q: it belongs to another user (number %d): run both as the same one",
			socket, st.Uid)
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return "", fmt.Errorf("attach to %q: the plugin that listened there has ended; %s", socket, again)
	}
	defer func() { _ = conn.Close() }()
	if err := ownPeer(conn); err != nil {
		return "", fmt.Errorf("attach to %q: %w", socket, err)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "shatter attached plugin\n%s\n%s\n", socket,
		info.ModTime().UTC().Format(time.RFC3339Nano)))
	return hex.EncodeToString(sum[:]), nil
}

// Bridge runs in the process that the host starts in place of a plugin that a person has started. It sends the
// inherited files to that plugin, prints the plugin's handshake to out, and ends with the host. It returns an error if
// the plugin ends first.
func Bridge(socket string, out io.Writer) error {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return fmt.Errorf("attach to %q: %w", socket, err)
	}
	defer func() { _ = conn.Close() }()
	if err := ownPeer(conn); err != nil { // the socket may have been replaced since Attached
		return fmt.Errorf("attach to %q: %w", socket, err)
	}
	files := syscall.UnixRights(pluginv1.SessionFD, pluginv1.DatasetFD, pluginv1.RequestFD, pluginv1.ResponseFD)
	if _, _, err := conn.WriteMsgUnix([]byte{1}, files, nil); err != nil {
		return fmt.Errorf("attach to %q: hand over files: %w", socket, err)
	}
	r := bufio.NewReaderSize(conn, longestHandshake)
	if err := passHandshake(r, out); err != nil {
		return fmt.Errorf("attach to %q: %w", socket, err)
	}
	hostGone := make(chan struct{})
	go func() {
		_, _ = os.NewFile(pluginv1.LifelineFD, "lifeline").Read(make([]byte, 1))
		close(hostGone)
	}()
	pluginGone := make(chan struct{})
	go func() {
		_, _ = r.ReadByte()
		close(pluginGone)
	}()
	select {
	case <-hostGone:
		return nil
	case <-pluginGone:
		return errors.New("the attached plugin has ended")
	}
}

// passHandshake writes the handshake line of an attached plugin to out. The process at a socket may send any bytes.
func passHandshake(r *bufio.Reader, out io.Writer) error {
	switch line, err := r.ReadSlice('\n'); {
	case errors.Is(err, bufio.ErrBufferFull):
		return fmt.Errorf("what listens there is no plugin: it sent %s, and no line ends within %d bytes",
			shorten(string(line)), longestHandshake)
	case err != nil:
		return errors.New("the plugin does not serve; what it printed says why")
	default:
		_, err = out.Write(line)
		return err
	}
}
