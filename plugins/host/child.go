package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin"

	"github.com/shatterlab/shatter/pipeline/sandbox"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Deadlines of the ways to end a process.
const (
	endWait  = 500 * time.Millisecond // after the life-line is cut
	termWait = 500 * time.Millisecond // after SIGTERM
	showWait = 300 * time.Millisecond // after SIGQUIT
	killWait = 5 * time.Second        // after SIGKILL: longer only if the kernel does not let the process go
	pipeWait = time.Second            // for the rest of the output, if another process holds the pipe open
)

// A child is the process itself: it starts it with everything that it needs, reads its output, and ends it.
type child struct {
	command Command
	dir     *socketDir
	files   []*os.File // memory files, the descriptors from pluginv1.SessionFD on
	pipes   *pipeStream
	tail    tail

	process  *sandbox.Process // nil: not started yet
	lifeline *os.File
	hello    chan string // receives the address of a valid handshake, then is closed
	atEnd    func()      // called when the process has ended

	done chan struct{} // closed when the process has ended and its output is read
	fate
}

// A fate describes the end of a process.
type fate struct {
	mu       sync.Mutex
	why      ending // our reason to end it; zero if none
	rejected string // fault of its handshake; empty if none
	reaped   bool   // its process number may be reused
	state    string // exit state, once reaped
}

// ending is the reason why the host ended a process. The cause is empty if the host did not.
type ending struct {
	cause  Cause
	detail string
	err    error
}

func newChild(c Command, dir *socketDir, files ...*os.File) *child {
	return &child{command: c, dir: dir, files: files, done: make(chan struct{}), hello: make(chan string, 1)}
}

// allowed lists the variables of our environment that a plugin gets: what an interpreter needs to
// find itself and its libraries.
var allowed = []string{"PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPATH"}

// environment returns the plugin's whole environment. dir is its folder.
func (c *Command) environment(dir string) []string {
	var env []string
	for _, name := range allowed {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	threads := strconv.Itoa(c.Threads)
	for _, name := range []string{"GOMAXPROCS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"} {
		env = append(env, name+"="+threads)
	}
	// A Go plugin collects garbage rarely, because most plugins keep little between trials, and more often near its
	// memory limit.
	env = append(env, "GOGC=400", "GOMEMLIMIT="+strconv.FormatInt(c.Memory/10*9, 10))
	if c.Sandbox.Mode != sandbox.Off {
		// Caches go to the folder that it may write to. Python still finds the packages that the user has installed.
		if home := os.Getenv("HOME"); home != "" && os.Getenv("PYTHONUSERBASE") == "" {
			env = append(env, "PYTHONUSERBASE="+filepath.Join(home, ".local"))
		}
		env = append(env, "TMPDIR="+dir, "HOME="+dir)
	}
	return slices.Concat(env, c.Sandbox.Env, c.Env, []string{
		pluginv1.CookieKey + "=" + pluginv1.CookieValue, fmt.Sprintf("PLUGIN_PROTOCOL_VERSIONS=%d", pluginv1.Version),
		plugin.EnvUnixSocketDir + "=" + dir,
	})
}

// start starts the process.
func (h *child) start() error {
	// A file that was just written is "busy" for as long as another process that is being started
	// holds a copy of the descriptor that wrote it.
	const busyWait, pause = 2 * time.Second, 5 * time.Millisecond
	for deadline := time.Now().Add(busyWait); ; time.Sleep(pause) {
		err := h.startOnce()
		if !errors.Is(err, syscall.ETXTBSY) || time.Now().After(deadline) {
			return err
		}
	}
}

func (h *child) startOnce() error {
	var ours, theirs [5]*os.File // standard output, standard error, life-line, requests, responses
	for i := range ours {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ours[:i], theirs[:i])
			return err
		}
		ours[i], theirs[i] = r, w
	}
	for i := 2; i < 4; i++ { // we write to the life-line and the requests
		ours[i], theirs[i] = theirs[i], ours[i]
	}
	program := sandbox.Program{
		Path: h.command.Path, Args: h.command.Args, Env: h.command.environment(h.dir.path),
		Digest: h.command.Digest, Folder: h.dir.path,
		Stdout: theirs[0], Stderr: theirs[1], Files: slices.Concat(theirs[2:3], h.files, theirs[3:]),
		Policy: h.command.Sandbox,
	}
	h.pipes, h.tail.source = newPipeStream(ours[4], ours[3]), ours[1]
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the process ends with the thread
		err := h.launch(program, ours[2])
		closeAll(theirs[:])
		started <- err
		if err == nil {
			h.attend(ours[0], ours[1])
		}
	}()
	err := <-started
	if err != nil {
		closeAll(ours[:])
	}
	return err
}

// launch starts a program and waits until it is executed.
func (h *child) launch(program sandbox.Program, lifeline *os.File) error {
	if h.ended() != "" {
		return errStopped
	}
	process, err := program.Start()
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.why.cause != "" {
		process.End()
		return errStopped
	}
	h.process, h.lifeline = process, lifeline
	return nil
}

// errStopped reports that a process was ended before it started.
var errStopped = errors.New("stopped before it started")

// started reports whether there is a process.
func (h *child) started() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.process != nil
}

func closeAll(lists ...[]*os.File) {
	for _, files := range lists {
		for _, f := range files {
			f.Close()
		}
	}
}

// attend reads the process's output and waits for the end of the process and its descendants.
func (h *child) attend(stdout, stderr *os.File) {
	var readers sync.WaitGroup
	go h.guard()
	readers.Go(func() { h.tail.read(stderr) })
	readers.Go(func() { h.readStdout(stdout) })
	h.reap()
	h.atEnd()
	h.pipes.close()
	deadline := time.Now().Add(pipeWait)
	_ = stdout.SetReadDeadline(deadline)
	_ = stderr.SetReadDeadline(deadline)
	readers.Wait()
	stdout.Close()
	stderr.Close()
	h.lifeline.Close()
	h.dir.remove()
	close(h.done)
}

// reap waits for the process, and kills the rest of its group and its descendants.
func (h *child) reap() {
	defer h.process.Release()
	cmd := h.process.Cmd
	if awaitEnd(cmd.Process.Pid) {
		h.kill()
		h.mu.Lock()
		_ = cmd.Wait() // returns at once; the state is more precise than the error
	} else {
		_ = cmd.Wait()
		h.mu.Lock()
	}
	defer h.mu.Unlock()
	h.reaped = true
	h.state = cmd.ProcessState.String()
}

// kill kills the process and its descendants.
func (h *child) kill() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.reaped {
		h.process.Kill()
	}
}

// signal sends a signal to the process, or to its group.
func (h *child) signal(s syscall.Signal, group bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	pid := h.process.Cmd.Process.Pid
	if group {
		pid = -pid
	}
	if !h.reaped {
		_ = syscall.Kill(pid, s)
	}
}

// longestHandshake bounds the handshake line, in bytes.
const longestHandshake = 4096

// readStdout reads the handshake line from standard output. After a valid handshake, the rest joins standard error.
func (h *child) readStdout(stdout io.Reader) {
	var further io.Writer = &h.tail
	r := bufio.NewReaderSize(stdout, longestHandshake)
	if line, _ := r.ReadSlice('\n'); len(line) > 0 {
		address, reason := checkHandshake(strings.TrimSpace(string(line)))
		if reason == "" && !h.command.Attached && !h.dir.holds(address) { // a bridge names a socket of another process
			reason = fmt.Sprintf("it listens on unix %s: a plugin listens on a unix socket in the directory %s",
				shorten(address), plugin.EnvUnixSocketDir)
		}
		if reason == "" {
			h.hello <- address
		} else {
			h.reject(reason)
			further = io.Discard
		}
	}
	close(h.hello)
	_, _ = io.Copy(further, r)
}

// checkHandshake returns the address in a handshake line, or the reason why the line is invalid. It has the form
// core version | protocol version | network | address | protocol.
func checkHandshake(line string) (address, reason string) {
	parts := strings.Split(line, "|")
	core, err := strconv.Atoi(parts[0])
	if err != nil || len(parts) < 4 {
		return "", fmt.Sprintf("it printed %s on standard output before the handshake. "+
			"If it is a plugin of Shatter, nothing may be printed there before algo.Serve: print to standard error. "+
			"If it is not, name another file", shorten(line))
	}
	if core != plugin.CoreProtocolVersion {
		return "", fmt.Sprintf("it speaks version %d of go-plugin's own protocol, and this program version %d: "+
			"rebuild the plugin", core, plugin.CoreProtocolVersion)
	}
	version, err := strconv.Atoi(parts[1])
	if err != nil {
		return "", fmt.Sprintf("its handshake %s has no protocol version", shorten(line))
	}
	if reason := refuseVersions(version, version, ""); reason != "" {
		return "", reason
	}
	switch {
	case parts[2] != "unix":
		return "", fmt.Sprintf("it listens on %s %s: a plugin listens on a unix socket in the directory %s",
			parts[2], parts[3], plugin.EnvUnixSocketDir)
	case len(parts) < 5 || parts[4] != string(plugin.ProtocolGRPC):
		return "", fmt.Sprintf("its handshake %s does not end in |grpc: a plugin of Shatter speaks gRPC", shorten(line))
	case len(parts) > 5 && parts[5] != "":
		return "", "it asks for TLS, which is not used on a private socket"
	}
	return parts[3], ""
}

// shorten quotes a line that a plugin has printed, cut to 200 bytes.
func shorten(line string) string {
	const most = 200
	if len(line) > most {
		line = line[:most] + "..."
	}
	return strconv.Quote(line)
}

// reject ends a process whose handshake is wrong.
func (h *child) reject(reason string) {
	h.mu.Lock()
	h.rejected = reason
	h.mu.Unlock()
	h.end(Protocol, reason, nil)
}

// end makes sure that the process ends, and returns at once. The first cause is kept. A canceled process is first asked
// to end; a process that took too long first prints its stack. All others are killed immediately.
func (h *child) end(cause Cause, detail string, err error) {
	h.mu.Lock()
	first := h.why.cause == "" && !h.reaped
	if first {
		h.why = ending{cause, detail, err}
	}
	started := h.process != nil
	h.mu.Unlock()
	switch {
	case !first || !started:
	case cause == Cancelled:
		go h.askThenKill()
	case cause == Time:
		go h.showThenKill()
	default:
		h.kill()
	}
}

// askThenKill cuts the life-line, asks again with SIGTERM, and then kills.
func (h *child) askThenKill() {
	_ = h.lifeline.Close()
	if h.endsWithin(endWait) {
		return
	}
	h.signal(syscall.SIGTERM, true)
	if !h.endsWithin(termWait) {
		h.kill()
	}
}

// showThenKill makes the process print its stack, as the SDKs do at SIGQUIT, and then kills it.
func (h *child) showThenKill() {
	h.signal(syscall.SIGQUIT, false)
	h.endsWithin(showWait)
	h.signal(syscall.SIGKILL, true)
}

// endsWithin waits at most d for the end, and reports whether the process has ended.
func (h *child) endsWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-h.done:
		return true
	case <-timer.C:
		return false
	}
}

// ended returns why the process ended or is about to; "" while it lives.
func (h *child) ended() Cause {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.why.cause == "" && h.reaped {
		return Exit
	}
	return h.why.cause
}

// gone describes the end of the process. where is its activity.
func (h *child) gone(where string) *ExitError {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := &ExitError{
		Plugin: h.command.Path, Cause: h.why.cause, Where: where, Detail: h.why.detail, err: h.why.err,
		Stderr: h.tail.String(), State: "still running",
	}
	if h.reaped {
		e.State = h.state
	}
	if e.Cause == "" {
		e.Cause = Exit
	}
	return e
}

// An attached lets go-plugin attach to a process.
type attached struct{ *child }

// Wait waits for the end of the process.
func (h attached) Wait(context.Context) error {
	<-h.done
	return nil
}

// Kill does nothing: the process has ended before go-plugin is asked to end it.
func (attached) Kill(context.Context) error { return nil }

// ID returns the process's number.
func (h attached) ID() string { return strconv.Itoa(h.process.Cmd.Process.Pid) }

// PluginToHost returns the address as it is.
func (attached) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

// HostToPlugin returns the address as it is.
func (attached) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
