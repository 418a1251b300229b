package algo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"google.golang.org/grpc"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Serve makes the program a plugin that serves the given algorithms. main only has to call it. The
// process ends with its host. If a user started the program by hand, or if an algorithm is not
// valid, Serve prints a message to standard error and exits with status 2.
//
// If a user started it with SHATTER_ATTACH=1, under a debugger, in an IDE or in a test, it prints a
// line with the flag by which shatter run, shatter trial and shatter plugin test attach to the
// process, and serves them until an interrupt.
//
// The program must not print to standard output before it calls Serve, because the host reads the
// plugin's address from there.
func Serve(plugins ...Plugin) {
	s, err := newService(plugins, inherited())
	if err != nil {
		quit(err)
	}
	if os.Getenv(pluginv1.CookieKey) != pluginv1.CookieValue {
		if os.Getenv(pluginv1.AttachKey) == "" {
			quit(errors.New(s.byHand()))
		}
		if err := serveAttached(plugins, s); err != nil {
			quit(err)
		}
		return
	}
	lifeline, err := openLifeline()
	if err != nil {
		quit(err)
	}
	showOnQuit()
	requests := os.NewFile(pluginv1.RequestFD, "requests")
	go s.serveSessions(context.Background(), requests, os.NewFile(pluginv1.ResponseFD, "responses"))
	dir := os.Getenv(pluginv1.SocketDirKey)
	server, err := s.serveAt(filepath.Join(dir, "socket"), os.Stdout)
	if err != nil {
		quit(err)
	}
	os.Stdout = os.Stderr                 // standard output contains only the handshake
	_, _ = lifeline.Read(make([]byte, 1)) // returns after the host has ended
	server.Stop()                         // removes the socket
	_ = os.Remove(dir)
	os.Exit(0)
}

// serveAt serves one host at a socket, and writes the handshake line with its path.
func (s *service) serveAt(path string, handshake io.Writer) (*grpc.Server, error) {
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	server := grpc.NewServer(
		grpc.MaxRecvMsgSize(pluginv1.MaxMessage), grpc.MaxSendMsgSize(pluginv1.MaxMessage),
		grpc.InitialWindowSize(1<<20), grpc.InitialConnWindowSize(1<<20), // for a whole message
	)
	pluginv1.RegisterPluginServer(server, s)
	go func() { _ = server.Serve(l) }() // ends with Stop
	_, err = fmt.Fprintf(handshake, "1|%d|unix|%s|grpc\n", pluginv1.Version, path)
	return server, err
}

// quit prints err to standard error and ends the process with status 2.
func quit(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(2)
}

// byHand returns the message for a user who starts the program by hand.
func (s *service) byHand() string {
	path, err := os.Executable()
	if err != nil {
		path = os.Args[0]
	}
	return fmt.Sprintf(`%s is a plugin of Shatter and does nothing by itself. It serves %s.

Name it in a sweep file:   plugins: [%s]
See what it offers:        shatter plugin list %s
Test it:                   shatter plugin test %s
Debug it:                  start it with %s=1 in a debugger, and attach shatter to it`,
		filepath.Base(path), strings.Join(s.names(), ", "), path, path, path, pluginv1.AttachKey)
}

func (s *service) names() (names []string) {
	for _, a := range s.description.Algorithms {
		names = append(names, a.Name)
	}
	return names
}

// openLifeline returns the pipe that the host holds open as long as it lives.
func openLifeline() (*os.File, error) {
	var st syscall.Stat_t
	if err := syscall.Fstat(pluginv1.LifelineFD, &st); err != nil || st.Mode&syscall.S_IFMT != syscall.S_IFIFO {
		return nil, fmt.Errorf("descriptor %d is not a pipe to a host: the plugin can only be started by shatter",
			pluginv1.LifelineFD)
	}
	for fd := pluginv1.LifelineFD; fd <= pluginv1.LastFD; fd++ {
		syscall.CloseOnExec(fd) // programs that the author starts must not inherit it
	}
	return os.NewFile(pluginv1.LifelineFD, "lifeline"), nil
}

// sdkVersion returns the version of this package for Describe.
func sdkVersion() string {
	const path = modulePath
	version := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == path && m.Version != "" && m.Replace == nil { // a checkout that replaces the module has no version
				version = m.Version
			}
		}
	}
	return fmt.Sprintf("shatter %s, %s", version, runtime.Version())
}

const modulePath = "github.com/shatterlab/shatter"

// buildEnvironment lists the Go release and the modules that the program was built with. It is empty
// for a program of this module, whose algorithms have versions. It does not contain the commit,
// because a new commit need not change the program.
func buildEnvironment() (list []*pluginv1.Component) {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Path == modulePath {
		return nil
	}
	list = append(list, &pluginv1.Component{Name: "go", Version: info.GoVersion})
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = &debug.Module{Path: m.Path, Version: m.Replace.Version, Sum: m.Replace.Sum}
		}
		list = append(list, &pluginv1.Component{Name: m.Path, Version: m.Version, Digest: m.Sum})
	}
	return list
}
