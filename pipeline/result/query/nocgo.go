//go:build !cgo

package query

import (
	"context"
	"io"
	"net"

	"github.com/apache/arrow/go/v17/arrow"
)

// DB is empty in a build without cgo.
type DB struct{}

// Open returns ErrNoEngine.
func Open(string, Options) (*DB, error) { return nil, ErrNoEngine }

// CheckSyntax returns ErrNoEngine.
func CheckSyntax(string) error { return ErrNoEngine }

// Views returns nil.
func (*DB) Views() []View { return nil }

// Close does nothing.
func (*DB) Close() error { return nil }

// Query returns ErrNoEngine.
func (*DB) Query(context.Context, string, ...any) (*Rows, error) { return nil, ErrNoEngine }

// Serve returns ErrNoEngine.
func (*DB) Serve(context.Context, net.Listener, ServeOptions) error { return ErrNoEngine }

// Rows is empty in a build without cgo.
type Rows struct{}

// Schema returns nil.
func (*Rows) Schema() *arrow.Schema { return nil }

// Plan returns false.
func (*Rows) Plan() bool { return false }

// Next returns io.EOF.
func (*Rows) Next() (arrow.Record, error) { return nil, io.EOF }

// Close does nothing.
func (*Rows) Close() error { return nil }
