package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/pipeline/dataset"
	"github.com/shatterlab/shatter/pipeline/sandbox"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Start starts a plugin and waits until it is ready. It returns a *StartError for faults of the file, an *ExitError of
// cause Cancelled if ctx has ended, and another error for faults of this machine.
func Start(ctx context.Context, c Command) (*Process, error) {
	c = c.withDefaults()
	if err := checkFile(c.Path); err != nil {
		return nil, err
	}
	p, err := newProcess(c)
	if err != nil {
		return nil, fmt.Errorf("start plugin %q: %w", c.Path, err)
	}
	if err := p.connect(ctx); err != nil {
		p.Stop()
		return nil, err
	}
	if err := p.describe(ctx); err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}

// checkFile returns a *StartError if the file cannot be executed.
func checkFile(path string) error {
	info, err := os.Stat(path)
	reason := ""
	switch {
	case path == "":
		reason = "no file is named"
	case errors.Is(err, fs.ErrNotExist):
		reason = "there is no such file"
	case err != nil:
		reason = err.Error()
	case !info.Mode().IsRegular():
		reason = "it is not a file"
	case info.Mode().Perm()&0o111 == 0:
		reason = fmt.Sprintf("it is not executable; if it is the plugin, run: chmod +x %s", path)
	}
	if reason == "" {
		return nil
	}
	return &StartError{Plugin: path, Reason: reason, err: err}
}

// newProcess makes everything that a process needs.
func newProcess(c Command) (p *Process, err error) {
	p = &Process{session: make(chan struct{}, 1)}
	if c.Dataset != nil {
		p.points = tableAt(pluginv1.Table_PLACE_DATASET, 0, c.Dataset.Layout)
		if p.dataset, err = c.Dataset.Reader(); err != nil {
			return nil, err
		}
	}
	memory, err := dataset.NewMemory("shatter-session", c.SessionMemory)
	if err != nil {
		return nil, err
	}
	p.memory = &sessionMemory{Memory: memory}
	dir, err := newSocketDir(c.SocketDir)
	if err != nil {
		p.memory.close()
		return nil, err
	}
	p.life, p.cancel = context.WithCancel(context.Background())
	files := []*os.File{p.memory.File(), nil} // nil: closed
	switch {
	case c.Dataset != nil:
		files[1] = p.dataset
	case c.Attached:
		files[1] = files[0] // a bridge hands over both and reports no dataset
	}
	p.child = newChild(c, dir, files...)
	p.child.tail.path, p.child.tail.further = c.Path, c.Output
	p.child.atEnd = p.cancel // its connection may live on in a process that it started
	return p, nil
}

// connect starts the process and waits for the connection.
func (p *Process) connect(ctx context.Context) error {
	var err error
	connected := make(chan struct{})
	go func() {
		err = p.dial()
		close(connected)
	}()
	timeout := time.NewTimer(p.child.command.Start)
	defer timeout.Stop()
	select {
	case <-connected:
		if err == nil {
			return nil
		}
		return p.child.startError(err)
	case <-ctx.Done():
		p.child.end(Cancelled, ctx.Err().Error(), ctx.Err())
	case <-timeout.C:
		p.child.end(Time, fmt.Sprintf("it was not ready within %s; raise limits.start in the sweep file; "+
			"its output shows what it was doing", wording.Duration(p.child.command.Start)), nil)
	}
	<-connected
	return p.child.startError(errors.New("no answer"))
}

// dial starts the process and attaches go-plugin's client to the address of its handshake.
func (p *Process) dial() error {
	if err := p.child.start(); err != nil {
		return err
	}
	address, ok := <-p.child.hello
	if !ok {
		return errors.New("no handshake")
	}
	p.client = plugin.NewClient(&plugin.ClientConfig{
		Plugins: plugin.PluginSet{pluginv1.Name: &goPlugin{}},
		Reattach: &plugin.ReattachConfig{
			Protocol: plugin.ProtocolGRPC, ProtocolVersion: pluginv1.Version,
			Addr:         &net.UnixAddr{Net: "unix", Name: address},
			ReattachFunc: func() (runner.AttachedRunner, error) { return attached{p.child}, nil },
		},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		Logger:           hclog.NewNullLogger(), // callers get every error
		SyncStdout:       &p.child.tail,
		SyncStderr:       &p.child.tail,
		GRPCDialOptions: []grpc.DialOption{
			grpc.WithDefaultCallOptions(
				grpc.MaxCallRecvMsgSize(pluginv1.MaxMessage), grpc.MaxCallSendMsgSize(pluginv1.MaxMessage),
			),
			grpc.WithInitialWindowSize(1 << 20), grpc.WithInitialConnWindowSize(1 << 20),
		},
	})
	protocol, err := p.client.Client()
	if err != nil {
		return err
	}
	raw, err := protocol.Dispense(pluginv1.Name)
	if err == nil {
		p.rpc = raw.(pluginv1.PluginClient)
	}
	return err
}

// startError returns why a plugin is not ready, after an error of go-plugin.
func (h *child) startError(err error) error {
	e := &StartError{Plugin: h.command.Path, err: err}
	if !h.started() {
		if h.ended() == Cancelled {
			return h.gone("starting")
		}
		e.Reason = explainExec(h.command.Path, err)
		return e
	}
	if !h.endsWithin(pipeWait) { // it has usually ended, and its output has the reason
		h.end(Protocol, err.Error(), nil)
		h.endsWithin(killWait)
	}
	gone := h.gone("starting")
	e.Stderr = gone.Stderr
	e.hint = h.command.hint(gone.Stderr)
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.why.cause == Cancelled:
		return gone
	case h.rejected != "":
		e.Reason = h.rejected
	case h.why.cause == "":
		e.Reason = fmt.Sprintf("it ended before it was ready, with %s; is it a plugin of Shatter?", h.state)
	default:
		e.Reason = h.why.detail
	}
	return e
}

// refusedPath matches a message about a path that a program may not read or write.
var refusedPath = regexp.MustCompile(`(?im)^.*(?:permission denied|read-only file system).*$`)

// missingModule matches the error of Python about a module that it does not find.
var missingModule = regexp.MustCompile(`ModuleNotFoundError: No module named '(\w+)`)

// lookedUp matches a traceback of Python through a look-up of an environment variable, and missingKey its error.
var (
	lookedUp   = regexp.MustCompile(`environ|<frozen os>|os\.py`)
	missingKey = regexp.MustCompile(`KeyError: '(\w+)'`)
)

// hint returns the remedy for a plugin whose output or error reports a missing variable or refused access to a file; ""
// for other texts.
func (c *Command) hint(stderr string) string {
	if m := missingKey.FindStringSubmatch(stderr); m != nil && lookedUp.MatchString(stderr) {
		return fmt.Sprintf("\nA plugin gets few variables of the environment: add --plugin-env %s to give it that too", m[1])
	}
	if c.Sandbox.Mode == sandbox.Off {
		return ""
	}
	denied := refusedPath.MatchString(stderr)
	if strings.Contains(stderr, "SemLock") && denied {
		return "\nSemaphores need a /dev/shm of the plugin's own, which takes the layer mounts of the sandbox " +
			"(shatter plugin test says why it is absent): use threads, or --sandbox off"
	}
	if m := missingModule.FindStringSubmatch(stderr); m != nil {
		return fmt.Sprintf("\nIf %[1]s.py is next to the script: shatter plugin build SCRIPT.py %[1]s.py packs "+
			"both into one program. If it was installed by pip install -e: add --sandbox-read with the "+
			"folder of its sources", m[1])
	}
	lines := refusedPath.FindAllString(stderr, -1)
	if len(lines) == 0 {
		return ""
	}
	path := "PATH"
	for _, word := range strings.FieldsFunc(lines[len(lines)-1], func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune("'\"`‘’:,;()[]", r)
	}) {
		if filepath.IsAbs(word) && word != c.Path {
			path = word
		}
	}
	return fmt.Sprintf("\nA plugin may write to $TMPDIR (HOME) only, and read only itself, its interpreter and the "+
		"system's libraries: add --sandbox-read %s to let it read that too", path)
}

// explainExec describes why the system refused to execute a file.
func explainExec(path string, err error) string {
	var changed *sandbox.ChangedError
	var missing *sandbox.MissingError
	switch {
	case errors.As(err, &changed):
		return changed.Error()
	case errors.As(err, &missing):
		return missing.Error()
	case errors.Is(err, syscall.ENOEXEC):
		return "it is no program for this machine; a script needs a first line like #!/usr/bin/env python3"
	case errors.Is(err, fs.ErrNotExist):
		return "the interpreter that its first line names, or a library that it needs to start, does not exist"
	case errors.Is(err, fs.ErrPermission):
		if words := sandbox.FirstLine(path); len(words) > 0 && !isProgram(words[0]) {
			return fmt.Sprintf("the interpreter that its first line names, %.200q, is no file that can be executed", words[0])
		}
		return "it may not be executed here: the file system may be mounted without that (noexec)"
	}
	return err.Error()
}

// isProgram reports whether the file at path is regular and executable.
func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// describe asks what the plugin serves.
func (p *Process) describe(ctx context.Context) error {
	d, err := p.DescribeAgain(ctx)
	if err != nil {
		return err
	}
	p.description = d
	reason := checkDescription(p.description)
	if want := p.child.command.Environment; reason == "" && want != nil {
		if changes := p.Environment().Changes(want); len(changes) > 0 {
			reason = "its environment has changed since it was started first (" + wording.Few(changes, schemas.MaxChanges) +
				"): run the command again, which compares recorded outcomes with new ones"
		}
	}
	if reason != "" {
		return &StartError{Plugin: p.child.command.Path, Reason: reason}
	}
	return nil
}

// environmentOf returns the environment of a description.
func environmentOf(d *pluginv1.DescribeResponse) (e schemas.Environment) {
	for _, c := range d.GetEnvironment() {
		e = append(e, schemas.Component{Name: c.Name, Version: c.Version, Digest: c.Digest, Files: c.Files})
	}
	return e
}

// checkDescription describes what is wrong with a description; "" if nothing is.
func checkDescription(d *pluginv1.DescribeResponse) string {
	if reason := refuseVersions(int(d.ProtocolMin), int(d.ProtocolMax), d.Sdk); reason != "" {
		return reason
	}
	if len(d.Algorithms) == 0 {
		return "it serves no algorithm"
	}
	const maxEnvironment = 128 << 10 // bytes
	size := 0
	for _, c := range d.Environment {
		size += proto.Size(c)
	}
	if size > maxEnvironment {
		return fmt.Sprintf("its environment takes %d bytes: at most %d are allowed", size, maxEnvironment)
	}
	seen := make(map[string]bool)
	for _, a := range d.Algorithms {
		if err := algo.CheckDescription(a); err != nil {
			return fmt.Sprintf("algorithm %s: %v", shorten(a.Name), err)
		}
		if seen[a.Name] {
			return fmt.Sprintf("algorithm %q is served twice", a.Name)
		}
		seen[a.Name] = true
	}
	return ""
}

// goPlugin makes the client of our service from go-plugin's connection.
type goPlugin struct {
	plugin.NetRPCUnsupportedPlugin
}

func (*goPlugin) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error {
	return errors.New("a host is no server")
}

func (*goPlugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return pluginv1.NewPluginClient(conn), nil
}
