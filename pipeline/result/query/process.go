//go:build cgo

package query

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/shatterlab/shatter/pipeline/sandbox"
)

// childArg is the argument with which this binary answers questions as a child.
const childArg = "query-engine"

// IsChild reports whether this process was started to answer questions: main has to call Child then,
// before anything else.
func IsChild() bool { return slices.Equal(os.Args[1:], []string{childArg}) }

// process is a child that answers one question at a time.
type process struct {
	cmd   *exec.Cmd
	in    *os.File
	pipe  *os.File
	out   *bufio.Reader // of pipe
	says  head
	ended chan struct{} // closed when the process has ended

	files []os.FileInfo // the views' files that it may read
}

// start starts a child and returns the views that it found.
func (d *DB) start(ctx context.Context, end context.CancelCauseFunc) (*process, []View, error) {
	program, files, err := d.program()
	if err != nil {
		return nil, nil, err
	}
	p := &process{files: files, ended: make(chan struct{})}
	if err := p.launch(program); err != nil {
		return nil, nil, fmt.Errorf("start the SQL engine: %w", err)
	}
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

// limitsFolder tells DuckDB how many cores it has, and ends it where it sees the folder but cannot read it.
const limitsFolder = "/sys/fs/cgroup"

// program returns the child's program, and the files of the views that it may read.
func (d *DB) program() (p sandbox.Program, files []os.FileInfo, err error) {
	self, err := os.Executable()
	if err != nil {
		return p, nil, err
	}
	read, files, err := d.readable()
	if err == nil && d.options.Sandbox.Mode != sandbox.Off {
		err = barred(read)
	}
	return sandbox.Program{
		Path: self, Args: []string{childArg}, Dir: d.dir, Read: append(read, limitsFolder), Policy: d.options.Sandbox,
		Memory: d.options.ceiling(),
	}, files, err
}

// readable returns the files of the views that are there, with their absolute paths.
func (d *DB) readable() (paths []string, files []os.FileInfo, err error) {
	dir, err := filepath.Abs(d.dir)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		path := filepath.Join(dir, fileOf(name))
		if info, err := os.Stat(path); err == nil {
			paths, files = append(paths, path), append(files, info)
		}
	}
	return paths, files, nil
}

// barred returns an error if a file, or a folder on the way to it, is another user's who alone may read it,
// and this user is root, who may read all but in the sandbox.
func barred(paths []string) error {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		return nil
	}
	for _, path := range paths {
		for right := fs.FileMode(0o444); ; right = 0o111 {
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			owner := info.Sys().(*syscall.Stat_t)
			allowed := info.Mode() & right & 0o007
			if owner.Gid == 0 {
				allowed = info.Mode() & right & 0o070
			}
			if owner.Uid == 0 {
				allowed = info.Mode() & right & 0o700
			}
			if allowed == 0 {
				return fmt.Errorf("only user %d may read %q, and in the sandbox root is a user like any other: ask as that user, "+
					"or let others read it, or add --sandbox off", owner.Uid, path)
			}
			if path == filepath.Dir(path) {
				break
			}
			path = filepath.Dir(path)
		}
	}
	return nil
}

// launch starts the program with pipes to it, and waits for its end.
func (p *process) launch(program sandbox.Program) error {
	var ours, theirs [3]*os.File // standard input, output and error
	for i := range ours {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ours[:i], theirs[:i])
			return err
		}
		ours[i], theirs[i] = r, w
	}
	ours[0], theirs[0] = theirs[0], ours[0]
	program.Stdin, program.Stdout, program.Stderr = theirs[0], theirs[1], theirs[2]
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the process ends with the thread
		var err error
		p.cmd, err = enter(program)
		closeAll(theirs[:])
		if started <- err; err != nil {
			return
		}
		_, _ = io.Copy(&p.says, ours[2])
		_ = p.cmd.Wait() // the state says how it ended
		sandbox.Forget(p.cmd.Process.Pid)
		_ = ours[2].Close()
		close(p.ended)
	}()
	if err := <-started; err != nil {
		closeAll(ours[:])
		return err
	}
	p.in, p.pipe, p.out = ours[0], ours[1], bufio.NewReaderSize(ours[1], 1<<16)
	return nil
}

// enter starts the program in the sandbox.
func enter(program sandbox.Program) (*exec.Cmd, error) {
	l, err := program.Start()
	if err != nil {
		return nil, err
	}
	if _, err = l.Layers(); err != nil {
		sandbox.Kill(l.Cmd.Process.Pid)
		_ = l.Cmd.Wait()
		sandbox.Forget(l.Cmd.Process.Pid)
	}
	return l.Cmd, err
}

func closeAll(lists ...[]*os.File) {
	for _, files := range lists {
		for _, f := range files {
			_ = f.Close()
		}
	}
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

// sees reports whether the process may read the files as they are now: those that were written since
// it started it may not.
func (p *process) sees(files []os.FileInfo) bool {
	return slices.EqualFunc(p.files, files, os.SameFile)
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
