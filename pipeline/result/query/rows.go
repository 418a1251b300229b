//go:build cgo

package query

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/flight"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
)

// Rows is an answer that is read batch by batch.
type Rows struct {
	ctx     context.Context
	end     context.CancelCauseFunc
	release func() bool // see process.watch
	db      *DB
	process *process
	reader  *ipc.Reader
	plan    bool
	ended   bool // the answer was read whole
}

// Query asks a question in SQL, with values (int64, float64, bool, string or nil) for its
// parameters. Its errors have ErrSQL or ErrLimit in their chains where the question or a limit is
// to blame; otherwise they are ctx's. The timeout runs until Close. When ctx or the time ends, so
// does the process that answers.
func (d *DB) Query(ctx context.Context, sql string, values ...any) (*Rows, error) {
	typed, err := typedValues(values)
	if err != nil {
		return nil, err
	}
	r, head, err := d.ask(ctx, question{SQL: sql, Values: typed})
	if err != nil {
		return nil, err
	}
	r.plan = head.Plan
	// The largest batch is a row, and its message a little longer.
	r.reader, err = ipc.NewReader(r.process.out, ipc.WithAllocator(modest{memory.DefaultAllocator, 2 * maxRow}))
	if err != nil {
		err = r.process.broken(r.ctx, d.options)
		r.Close()
		return nil, err
	}
	return r, nil
}

// Shape returns the columns of an answer and of the question's parameters, without answering it.
func (d *DB) Shape(ctx context.Context, sql string) (answer, parameters *arrow.Schema, err error) {
	r, head, err := d.ask(ctx, question{SQL: sql, Shape: true})
	if err != nil {
		return nil, nil, err
	}
	r.ended = true
	defer r.Close()
	if answer, err = flight.DeserializeSchema(head.Answer, memory.DefaultAllocator); err != nil {
		return nil, nil, fmt.Errorf("read the columns of the answer: %w", err)
	}
	if parameters, err = flight.DeserializeSchema(head.Parameters, memory.DefaultAllocator); err != nil {
		return nil, nil, fmt.Errorf("read the parameters: %w", err)
	}
	return answer, parameters, nil
}

// maxSQL is the length in bytes of the longest question.
const maxSQL = 1 << 16

// readable refuses SQL that is too long, or no text.
func readable(sql string) error {
	if len(sql) > maxSQL {
		return refuse("the SQL has %d bytes: at most %d are read", len(sql), maxSQL)
	}
	if !utf8.ValidString(sql) || strings.ContainsRune(sql, 0) {
		return refuse("the SQL is no text in UTF-8")
	}
	return nil
}

// ask hands a question to a process.
func (d *DB) ask(ctx context.Context, q question) (*Rows, *reply, error) {
	if err := readable(q.SQL); err != nil {
		return nil, nil, err
	}
	ctx, end := limit(ctx, "the query", d.options.Timeout)
	p, err := d.process(ctx, end)
	if err != nil {
		end(nil)
		return nil, nil, err
	}
	r := &Rows{ctx: ctx, end: end, db: d, process: p, release: p.watch(ctx, d.options, end)}
	head, err := p.ask(ctx, d.options, q)
	if err != nil {
		r.ended = !p.hasEnded() // it refused, and waits for the next one
		r.Close()
		return nil, nil, err
	}
	return r, head, nil
}

// Schema returns the columns of the answer: texts, int64, float64 and boolean.
func (r *Rows) Schema() *arrow.Schema { return r.reader.Schema() }

// Plan reports whether the answer is an explanation, whose texts have several lines.
func (r *Rows) Plan() bool { return r.plan }

// Next returns the next batch, which the caller releases, or io.EOF.
func (r *Rows) Next() (arrow.Record, error) {
	if r.ended {
		return nil, io.EOF
	}
	if cause := context.Cause(r.ctx); cause != nil {
		return nil, cause
	}
	if r.reader.Next() {
		rec := r.reader.Record()
		rec.Retain()
		return rec, nil
	}
	if r.reader.Err() != nil {
		return nil, r.process.broken(r.ctx, r.db.options)
	}
	if _, err := r.process.reply(r.ctx, r.db.options); err != nil {
		r.ended = !r.process.hasEnded()
		return nil, err
	}
	r.ended = true
	return nil, io.EOF
}

// Close ends the question, whether or not its answer was read.
func (r *Rows) Close() {
	if r.reader != nil {
		r.reader.Release()
	}
	if r.release() && r.ended {
		r.db.put(r.process)
	} else {
		r.process.close()
	}
	r.end(nil)
}
