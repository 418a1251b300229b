package algo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Serve makes the program a plugin that serves the given algorithms. main only has to call it. It
// returns when the host no longer needs the process. If a user started the program by hand, or if
// an algorithm is not valid, Serve prints a message to standard error and exits with status 2.
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
	if err := holdLifeline(); err != nil {
		quit(err)
	}
	showOnQuit()
	requests, responses := os.NewFile(pluginv1.RequestFD, "requests"), os.NewFile(pluginv1.ResponseFD, "responses")
	go s.serveSessions(context.Background(), requests, responses)
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion: pluginv1.Version, MagicCookieKey: pluginv1.CookieKey, MagicCookieValue: pluginv1.CookieValue,
		},
		Plugins:    plugin.PluginSet{pluginv1.Name: &goPlugin{service: s}},
		GRPCServer: newServer,
		Logger:     hclog.New(&hclog.LoggerOptions{Level: hclog.Error, Output: os.Stderr, DisableTime: true}),
	})
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

// holdLifeline starts a goroutine that removes the plugin's socket and ends the process as soon as
// the host has ended. It detects that by the end of the pipe that the host holds open.
func holdLifeline() error {
	var st syscall.Stat_t
	if err := syscall.Fstat(pluginv1.LifelineFD, &st); err != nil || st.Mode&syscall.S_IFMT != syscall.S_IFIFO {
		return fmt.Errorf("descriptor %d is not a pipe to a host: the plugin can only be started by shatter",
			pluginv1.LifelineFD)
	}
	for fd := pluginv1.LifelineFD; fd <= pluginv1.LastFD; fd++ {
		syscall.CloseOnExec(fd) // programs that the author starts must not inherit it
	}
	pipe, dir := os.NewFile(pluginv1.LifelineFD, "lifeline"), os.Getenv(plugin.EnvUnixSocketDir)
	go func() {
		var b [1]byte
		for {
			if _, err := pipe.Read(b[:]); err != nil {
				removeSockets(dir)
				os.Exit(0)
			}
		}
	}()
	return nil
}

// removeSockets removes the sockets in the directory that the host made for them, and the directory
// if it is then empty.
func removeSockets(dir string) {
	entries, err := os.ReadDir(dir)
	if dir == "" || err != nil {
		return
	}
	for _, e := range entries {
		if e.Type()&os.ModeSocket != 0 {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
	_ = os.Remove(dir) // fails if it is not empty
}

// goPlugin registers the service with go-plugin.
type goPlugin struct {
	plugin.NetRPCUnsupportedPlugin
	service *service
}

func (p *goPlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	pluginv1.RegisterPluginServer(s, p.service)
	return nil
}

func (*goPlugin) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("a plugin is no client")
}

// newServer makes the gRPC server of a process that a host started.
func newServer(opts []grpc.ServerOption) *grpc.Server {
	restore := restoreOutput()
	unary := func(ctx context.Context, q any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		restore()
		return handle(ctx, q)
	}
	streamed := func(s any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		restore()
		return handle(s, stream)
	}
	opts = append(opts, serverLimits()...)
	return grpc.NewServer(append(opts, grpc.UnaryInterceptor(unary), grpc.StreamInterceptor(streamed))...)
}

// serverLimits returns the limits on messages, and flow-control windows of the size of a whole
// message.
func serverLimits() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(pluginv1.MaxMessage), grpc.MaxSendMsgSize(pluginv1.MaxMessage),
		grpc.InitialWindowSize(1 << 20), grpc.InitialConnWindowSize(1 << 20),
	}
}

// restoreOutput returns a function that redirects os.Stdout and os.Stderr to the current standard
// error. After the handshake go-plugin replaces both by pipes that it sends over gRPC, so the last
// output of a process that exits would be lost; the first call of the function undoes that.
func restoreOutput() func() {
	stderr := os.Stderr
	return sync.OnceFunc(func() { os.Stdout, os.Stderr = stderr, stderr })
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
