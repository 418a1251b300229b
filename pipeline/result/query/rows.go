//go:build cgo

package query

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	duckdb "github.com/duckdb/duckdb-go/v2"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/schemas"
)

// maxWait is the maximum time that a query waits for other queries to end.
const maxWait = 10 * time.Second

// Query runs one select or explain statement, with values (int64, float64, bool, string or nil) for
// its parameters. Its errors wrap [ErrSQL] if the SQL is at fault, and [ErrLimit] if it exceeds a
// limit. The time limit includes reading the rows. The caller closes the rows.
func (d *DB) Query(ctx context.Context, sql string, values ...any) (*Rows, error) {
	r, err := d.begin(ctx, sql)
	if err != nil {
		return nil, err
	}
	if err := r.run(sql, values); err != nil {
		return nil, errors.Join(r.failed(err), r.Close())
	}
	return r, nil
}

// Shape returns the columns of the answer to a query and of its parameters, without running it.
func (d *DB) Shape(ctx context.Context, sql string) (answer, parameters *arrow.Schema, err error) {
	r, err := d.begin(ctx, sql)
	if err != nil {
		return nil, nil, err
	}
	if answer, parameters, err = r.shape(sql); err != nil {
		err = r.failed(err)
	}
	return answer, parameters, errors.Join(err, r.Close())
}

// begin returns the connection of one query, and starts its time limit.
func (d *DB) begin(ctx context.Context, sql string) (*Rows, error) {
	if err := readable(sql); err != nil {
		return nil, err
	}
	wait, stop := context.WithTimeoutCause(ctx, maxWait, &blame{fmt.Sprintf(
		"%d queries are running: try again when one has ended", d.options.Queries), ErrLimit})
	defer stop()
	if d.running.Acquire(wait, 1) != nil {
		return nil, context.Cause(wait)
	}
	r := &Rows{db: d, ctx: ctx, stop: func() {}}
	if t := d.options.Timeout; t > 0 {
		r.ctx, r.stop = context.WithTimeoutCause(ctx, t, &blame{fmt.Sprintf(
			"the query took longer than %v", t), ErrTime})
	}
	var err error
	if r.conn, err = d.db.Conn(r.ctx); err != nil {
		return nil, errors.Join(r.failed(err), r.Close())
	}
	return r, nil
}

// Rows is an answer that is read batch by batch.
type Rows struct {
	db     *DB
	ctx    context.Context
	stop   context.CancelFunc
	conn   *sql.Conn
	rows   *sql.Rows
	schema *arrow.Schema
	plan   bool
}

// answerTable is the temporary table that holds an answer.
const answerTable = `"the answer"`

// run runs a query into a temporary table, and then selects its rows with the types of result
// files.
func (r *Rows) run(sql string, values []any) (err error) {
	if err := r.check(sql, len(values)); err != nil {
		return err
	}
	read := sql
	if !r.plan {
		create := "create temp table " + answerTable + " as " + from(sql)
		if _, err := r.conn.ExecContext(r.ctx, create, values...); err != nil {
			return err
		}
		read, values = "from "+answerTable, nil
	}
	columns, err := r.columns(read)
	if err != nil {
		return err
	}
	r.schema = schemaOf(columns)
	if !r.plan {
		read = casts(columns) + read
	}
	r.rows, err = r.conn.QueryContext(r.ctx, read, values...)
	return err
}

// shape returns the schemas of the answer and of the parameters.
func (r *Rows) shape(sql string) (answer, parameters *arrow.Schema, err error) {
	if err := r.check(sql, -1); err != nil {
		return nil, nil, err
	}
	read := sql
	if !r.plan {
		read = from(sql)
	}
	columns, err := r.columns(read)
	if err != nil {
		return nil, nil, err
	}
	var params []column
	err = r.prepared(sql, func(s *duckdb.Stmt) error {
		for i := range s.NumInput() {
			t, err := s.ParamType(i + 1)
			if err != nil {
				return err
			}
			params = append(params, newColumn(fmt.Sprint(i+1), t))
		}
		return nil
	})
	return schemaOf(columns), schemaOf(params), err
}

// from wraps the SQL of a select in another select, whose columns then have distinct names.
func from(sql string) string { return "from (" + strings.TrimRight(sql, "; \t\r\n") + "\n)" }

// explained matches the beginning of an explain statement. It does not match comments, because only
// DuckDB determines where they end.
var explained = regexp.MustCompile(`(?i)^\s*explain\s+(analyze\s+)?(\([\w\s,]*\)\s*)?`)

// check accepts one select or explain select statement with the given number of parameters; -1: any.
func (r *Rows) check(sql string, values int) error {
	body := sql
	err := r.prepared(sql, func(s *duckdb.Stmt) error {
		t, err := s.StatementType()
		switch {
		case err != nil:
			return err
		case t == duckdb.STATEMENT_TYPE_EXPLAIN: // explain analyze runs its statement
			r.plan, body = true, sql[len(explained.FindString(sql)):]
		case t != duckdb.STATEMENT_TYPE_SELECT:
			return readOnly(sql)
		}
		if n := s.NumInput(); values >= 0 && values != n {
			return refuse("the SQL has parameters (%d) and %d values were given: write the values into it", n, values)
		}
		return nil
	})
	if err != nil || !r.plan {
		return err
	}
	return r.prepared(body, func(s *duckdb.Stmt) error {
		if t, err := s.StatementType(); err != nil || t != duckdb.STATEMENT_TYPE_SELECT {
			return errors.Join(readOnly(sql), err)
		}
		return nil
	})
}

// CheckSyntax returns the error for SQL that DuckDB cannot parse, before a result is opened.
func CheckSyntax(sql string) error {
	if err := readable(sql); err != nil {
		return err
	}
	connector, err := duckdb.NewConnector("?enable_external_access=false", nil)
	if err != nil {
		return err
	}
	defer func() { _ = connector.Close() }() // nothing was written
	conn, err := connector.Connect(context.Background())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	s, err := conn.Prepare(sql)
	var of *duckdb.Error
	switch {
	case err == nil:
		return s.Close()
	case errors.As(err, &of) && of.Type == duckdb.ErrorTypeParser:
		return explain(of.Msg)
	}
	return nil // it may be valid for the views of a result
}

// prepared calls use with one prepared statement.
func (r *Rows) prepared(sql string, use func(*duckdb.Stmt) error) error {
	return r.conn.Raw(func(driver any) (err error) {
		s, err := driver.(*duckdb.Conn).Prepare(sql)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		return use(s.(*duckdb.Stmt))
	})
}

// columns returns the columns of the answer to a statement.
func (r *Rows) columns(sql string) (all []column, err error) {
	err = r.prepared(sql, func(s *duckdb.Stmt) error {
		n, err := s.ColumnCount()
		if err != nil {
			return err
		}
		for i := range n {
			name, err := s.ColumnName(i)
			if err != nil {
				return err
			}
			t, err := s.ColumnType(i)
			if err != nil {
				return err
			}
			all = append(all, newColumn(name, t))
		}
		return nil
	})
	return all, err
}

// A column is a column of an answer with its type in result files.
type column struct {
	name string
	typ  schemas.ColumnType
	cast string // the SQL type to cast to; empty: none
}

// newColumn returns a column of a DuckDB type.
func newColumn(name string, t duckdb.Type) column {
	switch t {
	case duckdb.TYPE_VARCHAR:
		return column{name, schemas.TextColumn, ""}
	case duckdb.TYPE_BIGINT:
		return column{name, schemas.IntColumn, ""}
	case duckdb.TYPE_DOUBLE:
		return column{name, schemas.FloatColumn, ""}
	case duckdb.TYPE_BOOLEAN:
		return column{name, schemas.BoolColumn, ""}
	case duckdb.TYPE_TINYINT, duckdb.TYPE_SMALLINT, duckdb.TYPE_INTEGER, duckdb.TYPE_UTINYINT, duckdb.TYPE_USMALLINT,
		duckdb.TYPE_UINTEGER, duckdb.TYPE_UBIGINT, duckdb.TYPE_HUGEINT, duckdb.TYPE_UHUGEINT:
		return column{name, schemas.IntColumn, "bigint"} // exact, or an error that names the value
	case duckdb.TYPE_FLOAT, duckdb.TYPE_DECIMAL:
		return column{name, schemas.FloatColumn, "double"}
	}
	return column{name, schemas.TextColumn, "varchar"}
}

// casts returns the select clause that casts columns to the types of result files.
func casts(columns []column) string {
	var list []string
	for _, c := range columns {
		item := quoted(c.name)
		if c.cast != "" {
			item = fmt.Sprintf("cast(%s as %s) as %[1]s", item, c.cast)
		}
		list = append(list, item)
	}
	return "select " + strings.Join(list, ", ") + " "
}

func schemaOf(columns []column) *arrow.Schema {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: c.name, Type: sheet.ArrowType(c.typ), Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

// Schema returns the columns of the answer: texts, int64, float64 and boolean.
func (r *Rows) Schema() *arrow.Schema { return r.schema }

// Plan reports whether the answer is an explanation, whose texts have several lines.
func (r *Rows) Plan() bool { return r.plan }

const (
	maxBatch      = 4096    // rows of a batch
	maxBatchBytes = 1 << 20 // bytes of text after which a batch ends
)

// Next returns the next batch, which the caller releases, or [io.EOF].
func (r *Rows) Next() (arrow.Record, error) {
	b := array.NewRecordBuilder(memory.DefaultAllocator, r.schema)
	defer b.Release()
	row, at := make([]any, len(b.Fields())), make([]any, len(b.Fields()))
	for i := range row {
		at[i] = &row[i]
	}
	rows := 0
	for bytes := 0; rows < maxBatch && bytes < maxBatchBytes && r.rows.Next(); rows++ {
		if err := r.rows.Scan(at...); err != nil {
			return nil, r.failed(err)
		}
		for i, v := range row {
			bytes += appendValue(b.Field(i), v)
		}
	}
	if err := r.rows.Err(); err != nil {
		return nil, r.failed(err)
	}
	if cause := context.Cause(r.ctx); cause != nil {
		return nil, cause
	}
	if rows == 0 {
		return nil, io.EOF
	}
	return b.NewRecord(), nil
}

// appendValue appends a value to the builder of its type, and returns the length of a text in
// bytes.
func appendValue(b array.Builder, v any) int {
	switch v := v.(type) {
	case int64:
		b.(*array.Int64Builder).Append(v)
	case float64:
		b.(*array.Float64Builder).Append(v)
	case bool:
		b.(*array.BooleanBuilder).Append(v)
	case string:
		b.(*array.StringBuilder).Append(v)
		return len(v)
	default:
		b.AppendNull()
	}
	return 0
}

// Close ends the query, whether or not its answer was read.
func (r *Rows) Close() error {
	var err error
	if r.rows != nil {
		err = r.rows.Close()
	}
	if r.conn != nil {
		err = errors.Join(err, r.conn.Close())
	}
	r.stop()
	r.db.running.Release(1)
	return err
}

// failed converts an error of the driver to the error of a query.
func (r *Rows) failed(err error) error {
	if cause := context.Cause(r.ctx); cause != nil {
		return cause
	}
	var of *duckdb.Error
	switch {
	case errors.Is(err, ErrSQL):
		return err
	case !errors.As(err, &of): // an error of the driver itself
		if err.Error() == "empty query" {
			return refuse("there is no SQL in it")
		}
		if strings.Contains(err.Error(), "multi-statement") {
			return refuse("several statements: a query is one " +
				"(a pivot that does not list its values with in (...) counts as two)")
		}
		return err
	case of.Type == duckdb.ErrorTypeOutOfMemory:
		return &blame{fmt.Sprintf("the query and its answer need more memory than %s",
			size(r.db.options.Memory)), ErrMemory}
	case of.Type == duckdb.ErrorTypePermission:
		return refuse("%s; a query reads the views of this result and nothing else", plain(of.Msg))
	}
	return explain(of.Msg)
}
