//go:build cgo

package query

import (
	"errors"
	"fmt"

	duck "github.com/duckdb/duckdb-go-bindings"
)

// conn is a connection to the database, for one question.
type conn struct {
	engine *engine
	conn   duck.Connection
}

func (e *engine) connect() (*conn, error) {
	c := &conn{engine: e}
	if duck.Connect(e.db, &c.conn) == duck.StateError {
		return nil, errors.New("connect to DuckDB")
	}
	return c, nil
}

func (c *conn) close() { duck.Disconnect(&c.conn) }

// exec runs a statement of this package.
func (c *conn) exec(sql string) error {
	var r duck.Result
	defer duck.DestroyResult(&r)
	if duck.Query(c.conn, sql, &r) == duck.StateError {
		return errors.New(plain(duck.ResultError(&r)))
	}
	return nil
}

// failed returns the error for a message of DuckDB.
func (c *conn) failed(kind duck.ErrorType, message string) error {
	switch kind {
	case duck.ErrorTypeOutOfMemory:
		return &blame{fmt.Sprintf("the query needs more memory than %s; raise it with --memory, or aggregate before "+
			"sorting or joining", size(c.engine.options.memory())), ErrLimit}
	case duck.ErrorTypePermission:
		return refuse("%s; a query reads the views of this result and nothing else", plain(message))
	}
	return explain(message, c.engine.missing)
}
