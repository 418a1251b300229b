package host

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/shatterlab/shatter/pipeline/dataset"
	"github.com/shatterlab/shatter/pipeline/sandbox"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Limits of a session. Step cuts larger requests by itself; Open refuses larger ones.
const (
	MaxTrials  = 25_000   // trials of a session
	MaxSample  = 64 << 20 // bytes of a session's sample, trials*n*(dim+1)*8; a larger single trial travels alone
	MaxAnswers = 65_536   // answers per message
	MaxPoints  = 16 << 20 // bytes of points per message
)

// Command describes a program to start, and its limits. Path is required; the other fields have defaults.
type Command struct {
	Path      string        // the plugin's file
	Args      []string      // without the program's name
	Env       []string      // KEY=value, in addition to the variables that every plugin gets
	Start     time.Duration // limit on getting ready; 0: 1 minute
	Trial     time.Duration // limit on one trial, in learning and in each step of answering; 0: 10 minutes
	Memory    int64         // limit on the memory of all its processes, without what we share; 0: 2 GiB
	Threads   int           // recommended threads (GOMAXPROCS and its like); 0: 1
	SocketDir string        // parent directory of the sockets; "": the system's temporary directory

	// SessionMemory is the size of the session's memory file in bytes, of which only what is filled
	// costs memory. 0: 1 GiB.
	SessionMemory int64
	// Dataset holds the points that all sessions share (StepShared). It stays the caller's. nil: none.
	Dataset *dataset.Table

	// Digest is the SHA-256 of the file in hex digits: another file is not started. "": any.
	Digest string
	// Environment is the environment that the plugin must report. nil: any.
	Environment schemas.Environment
	// Sandbox is the policy of the sandbox. Its zero value takes the layers that are to be had.
	Sandbox sandbox.Policy
	// Output receives the output of the plugin's processes, line by line. It must not block, and several processes may
	// write at the same time. nil: errors quote the last lines only.
	Output io.Writer

	// Attached marks a Bridge to a process that a person has started. It has no limits of time and memory, and no
	// sandbox.
	Attached bool
}

// Limits of an attached process, which a person does not reach.
const (
	attachedTime   = 365 * 24 * time.Hour
	attachedMemory = 1 << 60
)

func (c Command) withDefaults() Command {
	if c.Attached {
		c.Start, c.Trial, c.Memory, c.Sandbox.Mode = attachedTime, attachedTime, attachedMemory, sandbox.Off
	}
	if c.Start == 0 {
		c.Start = time.Minute
	}
	if c.Trial == 0 {
		c.Trial = 10 * time.Minute
	}
	if c.Memory == 0 {
		c.Memory = 2 << 30
	}
	if c.Threads == 0 {
		c.Threads = 1
	}
	if c.SocketDir == "" {
		c.SocketDir = os.TempDir()
	}
	if c.SessionMemory == 0 {
		c.SessionMemory = 1 << 30
	}
	return c
}

// Process is one running plugin. Its methods may be called concurrently, but only one session is
// open at a time. Stop must be called in the end, also when the process has ended by itself.
type Process struct {
	child       *child
	client      *plugin.Client
	rpc         pluginv1.PluginClient
	description *pluginv1.DescribeResponse
	memory      *sessionMemory
	dataset     *os.File        // the shared dataset, opened for this process; nil: none
	points      *pluginv1.Table // the shared dataset; nil: none

	life    context.Context // context of all calls; the callers' contexts are watched instead
	cancel  context.CancelFunc
	session chan struct{} // full while a session is open
	stop    sync.Once
}

// Describe returns the plugin's description of its start. It must not be changed.
func (p *Process) Describe() *pluginv1.DescribeResponse { return p.description }

// Environment returns the environment that the plugin reported at the start.
// The variables that it got in addition are part of it, by digests of their values.
func (p *Process) Environment() schemas.Environment {
	e := environmentOf(p.description)
	if len(p.child.command.Args) > 0 { // built in: its outcomes depend on none
		return e
	}
	for _, variable := range p.child.command.Sandbox.Env {
		name, value, _ := strings.Cut(variable, "=")
		e = append(e, schemas.Component{Name: "$" + name, Digest: fmt.Sprintf("%x", sha256.Sum256([]byte(value)))[:16]})
	}
	slices.SortFunc(e, func(a, b schemas.Component) int { return cmp.Compare(a.Name, b.Name) })
	return e
}

// DescribeAgain requests the present description of the plugin.
func (p *Process) DescribeAgain(ctx context.Context) (d *pluginv1.DescribeResponse, err error) {
	limit := p.child.command.questionTime(1)
	if p.description == nil {
		limit = p.child.command.Start
	}
	err = p.call(ctx, "describing itself", limit, func(ctx context.Context) (err error) {
		d, err = p.rpc.Describe(ctx, &pluginv1.DescribeRequest{})
		return err
	})
	return d, err
}

// Check validates one setting. A refusal is part of the response and no error.
func (p *Process) Check(ctx context.Context, s *pluginv1.Setting) (r *pluginv1.CheckResponse, err error) {
	err = p.call(ctx, "checking a setting", p.child.command.questionTime(1), func(ctx context.Context) (err error) {
		r, err = p.rpc.Check(ctx, s)
		return err
	})
	return r, err
}

// Bound returns the theory's sample sizes for one setting.
func (p *Process) Bound(ctx context.Context, s *pluginv1.Setting) (r *pluginv1.BoundResponse, err error) {
	err = p.call(ctx, "computing bounds", p.child.command.questionTime(1), func(ctx context.Context) (err error) {
		r, err = p.rpc.Bound(ctx, s)
		return err
	})
	return r, err
}

// call makes one call under watch. where is the plugin's activity, for messages.
func (p *Process) call(ctx context.Context, where string, limit time.Duration, f func(context.Context) error) error {
	w := p.watch(ctx, call{where: where, limit: limit})
	err := f(p.life)
	w.stop()
	if err != nil {
		return p.explain(err, where)
	}
	return nil
}

// explain returns the *ExitError of a call that failed. The process has ended by itself, or is ended because it broke
// the protocol.
func (p *Process) explain(err error, where string) error {
	h := p.child
	closed := status.Code(err) == codes.Unavailable || errors.Is(err, errPipes)
	if h.ended() == "" && (!closed || !h.endsWithin(pipeWait)) {
		p.end(Protocol, explainRPC(err), nil)
	}
	h.endsWithin(killWait)
	return h.gone(where)
}

// explainRPC describes the fault of a plugin that did not answer.
func explainRPC(err error) string {
	s, ok := status.FromError(err)
	switch {
	case errors.Is(err, io.EOF):
		return "it ended the session without an answer"
	case !ok:
		return err.Error()
	case s.Code() == codes.Unavailable:
		return "it closed its connection but did not end"
	case s.Code() == codes.Unimplemented:
		return "it does not serve the whole protocol: " + s.Message()
	}
	return fmt.Sprintf("it answered with an error, %s: %s", s.Code(), limited(s.Message()))
}

// end ends the process, and all calls to it.
func (p *Process) end(cause Cause, detail string, err error) {
	p.child.end(cause, detail, err)
	p.cancel()
	if p.child.started() {
		p.child.pipes.close()
	}
}

// Done returns a channel that is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.child.done }

// Sandbox returns the layers of the sandbox, as they were found when the process started.
func (p *Process) Sandbox() []sandbox.Layer { return p.child.process.Layers }

// Pid returns the process's number.
func (p *Process) Pid() int { return p.child.process.Cmd.Process.Pid }

// Memory returns the private memory, in bytes, of the process and its descendants. ok is false if it is unknown.
func (p *Process) Memory() (n int64, ok bool) {
	u, ok := p.child.process.Measure(p.child.shared(), math.MaxInt64)
	return u.Memory, ok
}

// Stop asks the process and its descendants to end, kills the rest, and frees its resources. It always returns within
// seconds. Running calls end with an *ExitError of cause Cancelled.
func (p *Process) Stop() {
	p.stop.Do(func() {
		p.end(Cancelled, "it was no longer needed", nil)
		if p.child.started() {
			p.child.endsWithin(endWait + termWait + killWait)
		} else {
			p.child.dir.remove()
		}
		// Kill first sends a request and would wait forever for the answer of a stopped process.
		if p.client != nil {
			within(killWait, p.client.Kill)
		}
		within(killWait, func() {
			p.memory.close()
			_ = p.dataset.Close() // an error for nil
		})
	})
}

// within runs f and waits for it no longer than d.
func within(d time.Duration, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// maxText is the longest text that is taken from a plugin, in bytes.
const maxText = 4096

// limited cuts a text of a plugin to maxText.
func limited(s string) string {
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText-3], "") + "..."
	}
	return s
}
