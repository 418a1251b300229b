//go:build cgo

package query

import (
	"context"
	"errors"
	"fmt"
	"time"

	duck "github.com/duckdb/duckdb-go-bindings"
)

// grace is the time in which an interrupted call may return.
const grace = 500 * time.Millisecond

// conn is a connection to the database, for one question.
type conn struct {
	db   *DB
	conn duck.Connection

	abandoned bool          // a call did not return in time: touch nothing of the connection until returned is closed
	returned  chan struct{} // closed when that call returns
	pending   []func()      // what to free then
}

// maxStuck is the number of interrupted calls that may still be running before further questions
// are refused. Each of them keeps a core and memory.
const maxStuck = 8

func (d *DB) connect() (*conn, error) {
	if n := d.stuck.Load(); n >= maxStuck {
		return nil, &blame{fmt.Sprintf("%d interrupted queries have not ended yet: try again later", n), ErrLimit}
	}
	c := &conn{db: d}
	if duck.Connect(d.db, &c.conn) == duck.StateError {
		return nil, errors.New("connect to DuckDB")
	}
	return c, nil
}

// release frees something of the connection as soon as no call is inside it.
func (c *conn) release(free func()) {
	if c.abandoned {
		c.pending = append(c.pending, free)
	} else {
		free()
	}
}

// close ends the connection as soon as no call is inside it.
func (c *conn) close() {
	if !c.abandoned {
		duck.Disconnect(&c.conn)
		return
	}
	go func() {
		<-c.returned
		for _, free := range c.pending {
			free()
		}
		duck.Disconnect(&c.conn)
		c.db.stuck.Add(-1)
	}()
}

// exec runs a statement of this package.
func (c *conn) exec(sql string) error {
	var r duck.Result
	defer duck.DestroyResult(&r)
	if duck.Query(c.conn, sql, &r) == duck.StateError {
		return errors.New(plain(duck.ResultError(&r)))
	}
	return nil
}

// await calls call, which enters DuckDB, and waits for it. Where ctx ends first it interrupts the
// call, repeatedly because an interrupt may come between two parts of the work, and returns the
// cause. If the call has not returned after grace, await leaves it running with its connection.
func (c *conn) await(ctx context.Context, call func() error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	done, ended := make(chan error, 1), make(chan struct{})
	go func() {
		done <- call()
		close(ended)
	}()
	select {
	case err := <-done:
		if cause := context.Cause(ctx); err != nil && cause != nil {
			return cause // both came at once
		}
		return err
	case <-ctx.Done():
	}
	for end := time.Now().Add(grace); time.Now().Before(end); {
		duck.Interrupt(c.conn)
		select {
		case <-ended:
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
	c.abandoned, c.returned = true, ended
	c.db.stuck.Add(1)
	return context.Cause(ctx)
}

// failed returns the error for a message of DuckDB.
func (c *conn) failed(kind duck.ErrorType, message string) error {
	switch kind {
	case duck.ErrorTypeOutOfMemory:
		return &blame{fmt.Sprintf("the query needs more memory than %s; raise it with --memory, or aggregate before "+
			"sorting or joining", size(c.db.options.memory())), ErrLimit}
	case duck.ErrorTypePermission:
		return refuse("%s; a query reads the views of this result and nothing else", plain(message))
	}
	return explain(message, c.db.missing)
}

// size returns a number of bytes in words for people.
func size(bytes int64) string {
	if bytes%1e9 == 0 {
		return fmt.Sprintf("%d GB", bytes/1e9)
	}
	return fmt.Sprintf("%.4g MB", float64(bytes)/1e6)
}
