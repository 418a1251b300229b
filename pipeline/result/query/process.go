//go:build cgo

package query

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// childArg is the argument with which this binary answers questions as a child.
const childArg = "query-engine"

// IsChild reports whether this process was started to answer questions: main has to call Child then,
// before anything else.
func IsChild() bool { return slices.Equal(os.Args[1:], []string{childArg}) }

// process is a child that answers one question at a time.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	pipe  *os.File
	out   *bufio.Reader // of pipe
	says  head
	ended chan struct{} // closed when the process has ended
}

// start starts a child and returns the views that it found.
func (d *DB) start(ctx context.Context, end context.CancelCauseFunc) (*process, []View, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	p := &process{cmd: exec.Command(self, childArg), ended: make(chan struct{})}
	p.cmd.Dir, p.cmd.Env, p.cmd.Stderr = d.dir, []string{}, &p.says
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt is its parent's business
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	p.pipe, p.out, p.cmd.Stdout = read, bufio.NewReaderSize(read, 1<<16), write
	err = p.cmd.Start()
	_ = write.Close() // the child has its own
	if err != nil {
		_ = read.Close()
		return nil, nil, fmt.Errorf("start the SQL engine: %w", err)
	}
	go func() {
		_ = p.cmd.Wait() // the state says how it ended
		close(p.ended)
	}()
	release := p.watch(ctx, d.options, end)
	r, err := p.ask(ctx, d.options, d.options)
	if !release() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		p.close()
		return nil, nil, err
	}
	return p, r.Views, nil
}

// watch kills the process when the context ends, and calls end, which ends the context, when the
// process takes more memory than the options allow. The caller has to call release when the question
// is done with; it reports whether the process was spared.
func (p *process) watch(ctx context.Context, o Options, end context.CancelCauseFunc) (release func() bool) {
	guarded, stop := context.WithCancel(ctx)
	go p.guard(guarded, o, end)
	spare := context.AfterFunc(ctx, p.kill)
	return func() bool { stop(); return spare() }
}

// ask sends a line and returns the reply to it.
func (p *process) ask(ctx context.Context, o Options, line any) (*reply, error) {
	if err := json.NewEncoder(p.in).Encode(line); err != nil {
		return nil, p.broken(ctx, o)
	}
	return p.reply(ctx, o)
}

// reply reads a reply.
func (p *process) reply(ctx context.Context, o Options) (*reply, error) {
	line, err := readLine(p.out, maxLine)
	var r reply
	if err == nil {
		err = json.Unmarshal(line, &r)
	}
	if err != nil {
		return nil, p.broken(ctx, o)
	}
	return &r, r.err()
}

// broken ends a process that stopped talking, and returns the reason: that of the end of ctx, or how
// the process ended.
func (p *process) broken(ctx context.Context, o Options) error {
	p.kill()
	<-p.ended
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	text := fmt.Sprintf("the query ended the process that answered it (%v); it may need more memory than %s: raise it "+
		"with --memory, or ask for less", p.cmd.ProcessState, size(o.ceiling()))
	if says := p.says.String(); says != "" {
		text += fmt.Sprintf(" (%.200q)", says)
	}
	return &blame{text, ErrLimit}
}

func (p *process) kill() { _ = p.cmd.Process.Kill() } // it may have ended

// close ends the process, which need not be idle.
func (p *process) close() {
	p.kill()
	<-p.ended
	_ = p.in.Close()
	_ = p.pipe.Close()
}

func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// head keeps the first line or so of what is written to it.
type head struct{ text []byte }

func (h *head) Write(b []byte) (int, error) {
	h.text = append(h.text, b[:min(len(b), 1000-len(h.text))]...)
	return len(b), nil
}

func (h *head) String() string {
	first, _, _ := strings.Cut(strings.TrimSpace(string(h.text)), "\n")
	return first
}
