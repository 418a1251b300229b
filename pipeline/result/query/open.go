//go:build cgo

package query

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// DB holds the files of one result, open for questions. It is safe for concurrent use: each
// question has a process of its own, which serves the next one if it ends in peace.
type DB struct {
	dir     string
	options Options
	views   []View

	mu     sync.Mutex
	idle   []*process
	closed bool
}

// Open opens the result in the folder dir, whose files are views. Where files are missing, the error
// has fs.ErrNotExist in its chain.
func Open(dir string, o Options) (*DB, error) {
	d := &DB{dir: dir, options: o}
	if err := d.find(); err != nil {
		return nil, fmt.Errorf("open result: %w", err)
	}
	ctx, end := limit(context.Background(), "opening the files", d.openTime())
	defer end(nil)
	p, views, err := d.start(ctx, end)
	if err != nil {
		return nil, fmt.Errorf("open result %q: %w", dir, err)
	}
	d.views = withMetrics(views, o.Metrics)
	d.put(p)
	return d, nil
}

// find reports an error unless each view that is not optional has a file.
func (d *DB) find() error {
	for _, name := range names {
		path := filepath.Join(d.dir, fileOf(name))
		switch info, err := os.Stat(path); {
		case errors.Is(err, fs.ErrNotExist) && slices.Contains(optional, name):
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			return fmt.Errorf("%q is not a file", path)
		}
	}
	return nil
}

// process returns an idle process, or a new one.
func (d *DB) process(ctx context.Context, end context.CancelCauseFunc) (*process, error) {
	_, files, err := d.readable()
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	for len(d.idle) > 0 {
		p := d.idle[len(d.idle)-1]
		d.idle = d.idle[:len(d.idle)-1]
		if !p.hasEnded() && p.sees(files) {
			d.mu.Unlock()
			return p, nil
		}
		p.close()
	}
	d.mu.Unlock()
	p, _, err := d.start(ctx, end)
	return p, err
}

// put keeps a process for the next question.
func (d *DB) put(p *process) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		p.close()
		return
	}
	d.idle = append(d.idle, p)
}

// Views returns the views with their columns, without Alias.
func (d *DB) Views() []View { return d.views }

// Close ends all processes but those whose answers are still open, which end with them.
func (d *DB) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for _, p := range d.idle {
		p.close()
	}
	d.idle = nil
}

// openTime returns the time that the start of an engine may take, which a short limit for queries does
// not shorten; 0: any.
func (d *DB) openTime() time.Duration {
	if d.options.Timeout == 0 {
		return 0
	}
	return max(d.options.Timeout, time.Minute)
}

// limit returns ctx with a limit on the time that something takes, and a function that ends it with a
// cause. 0 is no limit.
func limit(ctx context.Context, what string, t time.Duration) (context.Context, context.CancelCauseFunc) {
	stop := func() {}
	if t > 0 {
		ctx, stop = context.WithTimeoutCause(ctx, t,
			&blame{fmt.Sprintf("%s took longer than %v; raise it with --timeout, or ask for less", what, t), ErrLimit})
	}
	ctx, end := context.WithCancelCause(ctx)
	return ctx, func(cause error) { end(cause); stop() }
}
