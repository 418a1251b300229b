//go:build cgo

package query

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	duck "github.com/duckdb/duckdb-go-bindings"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
)

// batchBytes is the size at which a batch of an answer ends, with the chunk of DuckDB (2048 rows)
// that exceeds it.
const batchBytes = 1 << 20

// Rows is an answer that is read batch by batch.
type Rows struct {
	ctx    context.Context
	end    func()
	conn   *conn
	stmt   *statement
	result duck.Result
	schema *arrow.Schema
	ended  bool
}

// Query asks a question in SQL, with values (int64, float64, bool, string or nil) for its
// parameters. Its errors have ErrSQL or ErrLimit in their chains where the question or a limit is
// to blame; otherwise they are ctx's. The timeout runs until Close.
func (d *DB) Query(ctx context.Context, sql string, values ...any) (*Rows, error) {
	ctx, end := d.limit(ctx)
	c, err := d.connect()
	if err != nil {
		end()
		return nil, err
	}
	s, err := c.ask(ctx, sql)
	if err != nil {
		c.close()
		end()
		return nil, err
	}
	r := &Rows{ctx: ctx, end: end, conn: c, stmt: s, schema: s.schema()}
	if err := r.run(values); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Shape returns the columns of an answer and of the question's parameters, without answering it.
func (d *DB) Shape(ctx context.Context, sql string) (answer, parameters *arrow.Schema, err error) {
	ctx, end := d.limit(ctx)
	defer end()
	c, err := d.connect()
	if err != nil {
		return nil, nil, err
	}
	defer c.close()
	s, err := c.ask(ctx, sql)
	if err != nil {
		return nil, nil, err
	}
	defer s.close()
	return s.schema(), s.parameters(), nil
}

// limit returns ctx with the limits on time and memory, and a function that releases them.
func (d *DB) limit(ctx context.Context) (context.Context, func()) {
	stop := func() {}
	if t := d.options.Timeout; t > 0 {
		ctx, stop = context.WithTimeoutCause(ctx, t,
			&blame{fmt.Sprintf("the query took longer than %v; raise it with --timeout, or ask for less", t), ErrLimit})
	}
	ctx, end := context.WithCancelCause(ctx)
	growth := d.options.ceiling()
	large := &blame{fmt.Sprintf("the query made this process grow by more than %s: it builds values that are too large, "+
		"or needs more with --memory", size(growth)), ErrLimit}
	go guard(ctx, resident()+growth, end, large)
	return ctx, func() { end(nil); stop() }
}

func (s *statement) schema() *arrow.Schema {
	fields := make([]arrow.Field, len(s.columns))
	for i, c := range s.columns {
		fields[i] = arrow.Field{Name: c.name, Type: sheet.ArrowType(c.typ), Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

// parameters returns the types that DuckDB expects of the parameters.
func (s *statement) parameters() *arrow.Schema {
	fields := make([]arrow.Field, s.params)
	for i := range fields {
		t := columnOf(duck.ParamType(s.stmt, duck.IdxT(i+1))).typ
		fields[i] = arrow.Field{Name: fmt.Sprint(i + 1), Type: sheet.ArrowType(t), Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

// run starts the answer. DuckDB works while the answer is read, and keeps about a megabyte of it.
func (r *Rows) run(values []any) error {
	if len(values) != r.stmt.params {
		return refuse("the SQL has parameters (%d) and %d values were given: write the values into it",
			r.stmt.params, len(values))
	}
	for i, v := range values {
		if err := bind(r.stmt.stmt, duck.IdxT(i+1), v); err != nil {
			return err
		}
	}
	return r.conn.await(r.ctx, func() error {
		var pending duck.PendingResult
		defer duck.DestroyPending(&pending)
		if duck.PendingPreparedStreaming(r.stmt.stmt, &pending) == duck.StateError {
			message := duck.PendingError(pending)
			return r.conn.failed(kindOf(message), message)
		}
		if duck.ExecutePending(pending, &r.result) == duck.StateError {
			return r.failed()
		}
		return nil
	})
}

func (r *Rows) failed() error {
	return r.conn.failed(duck.ResultErrorType(&r.result), duck.ResultError(&r.result))
}

func bind(s duck.PreparedStatement, i duck.IdxT, v any) error {
	var state duck.State
	switch v := v.(type) {
	case nil:
		state = duck.BindNull(s, i)
	case int64:
		state = duck.BindInt64(s, i, v)
	case float64:
		state = duck.BindDouble(s, i, v)
	case bool:
		state = duck.BindBoolean(s, i, v)
	case string:
		state = duck.BindVarcharLength(s, i, v, duck.IdxT(len(v)))
	default:
		return refuse("parameter %d is a %T: text, 64-bit integers, floats and booleans are known", i, v)
	}
	if state == duck.StateError {
		return refuse("parameter %d cannot be %v", i, v)
	}
	return nil
}

// Schema returns the columns of the answer: texts, int64, float64 and boolean.
func (r *Rows) Schema() *arrow.Schema { return r.schema }

// Plan reports whether the answer is an explanation, whose texts have several lines.
func (r *Rows) Plan() bool { return r.stmt.plan }

// Next returns the next batch, which the caller releases, or io.EOF.
func (r *Rows) Next() (arrow.Record, error) {
	if r.ended {
		return nil, io.EOF
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, r.schema)
	rows := 0
	err := r.conn.await(r.ctx, func() (err error) {
		rows, err = r.fetch(b.Fields())
		return err
	})
	if r.conn.abandoned {
		return nil, err // the builder is still in use
	}
	defer b.Release()
	if err != nil {
		return nil, err
	}
	if rows == 0 {
		return nil, io.EOF
	}
	return b.NewRecord(), nil
}

// fetch appends chunks of the answer until they make a batch.
func (r *Rows) fetch(to []array.Builder) (rows int, err error) {
	for bytes := 0; bytes < batchBytes; {
		chunk := duck.FetchChunk(r.result)
		if chunk.Ptr == nil {
			r.ended = true
			if message := duck.ResultError(&r.result); message != "" {
				return 0, r.failed()
			}
			return rows, nil
		}
		n := int(duck.DataChunkGetSize(chunk))
		for i, b := range to {
			bytes += appendVector(b, duck.DataChunkGetVector(chunk, duck.IdxT(i)), n)
		}
		rows += n
		duck.DestroyDataChunk(&chunk)
		if r.ctx.Err() != nil {
			return 0, errors.New("interrupted") // await knows the cause
		}
	}
	return rows, nil
}

// Close ends the question, whether or not its answer was read.
func (r *Rows) Close() {
	r.end()
	r.conn.release(func() { duck.DestroyResult(&r.result) })
	r.stmt.close()
	r.conn.close()
}
