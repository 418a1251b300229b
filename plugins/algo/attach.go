package algo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// serveAttached serves hosts that attach to this process, until a signal ends it. It is for
// processes that a user has started, under a debugger for example. It prints the line that contains
// its address for hosts.
//
// A host connects to the socket and sends one message, with the descriptors from SessionFD on. It
// receives the line of go-plugin's handshake, with the address of a gRPC server for this host
// alone, which runs until the connection ends.
func serveAttached(plugins []Plugin, s *service) error {
	removeDead()
	dir, err := os.MkdirTemp("", attachFolder)
	if err != nil {
		return fmt.Errorf("make a folder for the socket: %w", err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "socket")
	l, err := net.Listen("unix", path)
	if err != nil {
		return fmt.Errorf("listen for hosts; a shorter $TMPDIR may help: %w", err)
	}
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ends
		_ = l.Close()
	}()
	fmt.Fprintf(os.Stderr, "process %d serves %s; give this to shatter run, trial or plugin test:  --attach %s\n",
		os.Getpid(), strings.Join(s.names(), ", "), path)
	for i := 0; ; i++ {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		go func() {
			defer func() { _ = conn.Close() }()
			err := serveHost(conn.(*net.UnixConn), plugins, s.turn, fmt.Sprintf("%s%d", path, i))
			if err != nil {
				fmt.Fprintln(os.Stderr, "serve an attached host:", err)
			}
		}()
	}
}

// attachFolder begins the name of the temporary folder of a process to which hosts attach.
const attachFolder = "shatter-attach-"

// removeDead removes the folders of killed processes, whose sockets refuse connections.
func removeDead() {
	folders, _ := filepath.Glob(filepath.Join(os.TempDir(), attachFolder+"*"))
	for _, dir := range folders {
		conn, err := net.Dial("unix", filepath.Join(dir, "socket"))
		if err == nil {
			_ = conn.Close()
		} else if errors.Is(err, syscall.ECONNREFUSED) {
			_ = os.RemoveAll(dir)
		}
	}
}

// serveHost serves one host at a separate socket, until it closes the connection. All hosts take
// turns in using the algorithms.
func serveHost(conn *net.UnixConn, plugins []Plugin, turn chan struct{}, path string) error {
	files, err := receiveFiles(conn)
	if err != nil || files == nil {
		return err
	}
	s, err := newService(plugins, placesAt(func(fd uintptr) *os.File { return files[fd] }))
	if err != nil {
		return err
	}
	s.turn = turn
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go s.serveSessions(ctx, files[pluginv1.RequestFD], files[pluginv1.ResponseFD])
	server, err := s.serveAt(path, conn)
	if server != nil {
		defer server.Stop()
	}
	if err != nil {
		return err
	}
	_, _ = conn.Read(make([]byte, 1)) // returns after the host has ended
	return nil
}

// receiveFiles returns the files that a host sends, by the descriptors at which a plugin that the
// host starts inherits them. It returns nil if the host only probed the socket.
func receiveFiles(conn *net.UnixConn) (map[uintptr]*os.File, error) {
	places := []uintptr{pluginv1.SessionFD, pluginv1.DatasetFD, pluginv1.RequestFD, pluginv1.ResponseFD}
	message, room := make([]byte, 1), make([]byte, syscall.CmsgSpace(4*len(places)))
	n, m, _, _, err := conn.ReadMsgUnix(message, room)
	if n == 0 {
		return nil, nil //nolint:nilerr // the host has closed the connection
	}
	if err != nil {
		return nil, err
	}
	var fds []int
	controls, err := syscall.ParseSocketControlMessage(room[:m])
	for i := range controls {
		some, e := syscall.ParseUnixRights(&controls[i])
		fds, err = append(fds, some...), errors.Join(err, e)
	}
	if err == nil && len(fds) != len(places) {
		err = fmt.Errorf("it sent %d files, and %d are due: use shatter of the release of this SDK",
			len(fds), len(places))
	}
	files := map[uintptr]*os.File{}
	for i, fd := range fds {
		syscall.CloseOnExec(fd) // programs that the author starts must not inherit it
		if err == nil {
			files[places[i]] = os.NewFile(uintptr(fd), "host")
		}
	}
	return files, err
}
