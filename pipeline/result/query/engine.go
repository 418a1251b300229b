//go:build cgo

package query

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	duck "github.com/duckdb/duckdb-go-bindings"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/schemas"
)

// engine is DuckDB with the files of one result. It runs in a child process, whose current folder
// is that of the result: SQL sees no other path than the names of the files.
type engine struct {
	options Options
	db      duck.Database
	views   []View
	missing []string // optional files that are not there
	trials  string   // SQL of trials without the key columns
}

// openEngine makes the files of the current folder views of an empty database in memory, and locks
// the database's configuration.
func openEngine(o Options) (*engine, error) {
	e := &engine{options: o}
	if err := e.start(); err != nil {
		return nil, err
	}
	if err := e.fill(); err != nil {
		duck.Close(&e.db)
		return nil, err
	}
	return e, nil
}

// start opens the empty database.
func (e *engine) start() error {
	var config duck.Config
	if duck.CreateConfig(&config) == duck.StateError {
		return errors.New("make the configuration of DuckDB")
	}
	defer duck.DestroyConfig(&config)
	settings := [][2]string{
		{"memory_limit", fmt.Sprintf("%dB", e.options.memory())},
		{"temp_directory", ""}, // nothing is spilled to the disk
		{"autoinstall_known_extensions", "false"},
		{"autoload_known_extensions", "false"},
		{"allow_community_extensions", "false"},
		{"allow_persistent_secrets", "false"},
	}
	if e.options.Threads > 0 {
		settings = append(settings, [2]string{"threads", fmt.Sprint(e.options.Threads)})
	}
	for _, s := range settings {
		if duck.SetConfig(config, s[0], s[1]) == duck.StateError {
			return fmt.Errorf("set %s of DuckDB to %q", s[0], s[1])
		}
	}
	var message string
	if duck.OpenExt("", &e.db, config, &message) == duck.StateError {
		return errors.New("start DuckDB: " + plain(message))
	}
	return nil
}

// fill makes the views and then locks the configuration.
func (e *engine) fill() error {
	c, err := e.connect()
	if err != nil {
		return err
	}
	defer c.close()
	var allowed []string
	for _, name := range names {
		file := fileOf(name)
		if _, err := os.Stat(file); err != nil && slices.Contains(optional, name) {
			e.missing = append(e.missing, name)
			continue
		}
		allowed = append(allowed, text(file))
		sql := "from read_parquet(" + text(file) + ")"
		if name == "trials" {
			e.trials = sql
		}
		if slices.Contains(withKeys, name) {
			sql = keyed(sql, e.views[0].Columns)
		}
		if err := c.exec(fmt.Sprintf(`create view "%s" as %s`, name, sql)); err != nil {
			return fmt.Errorf("%q: %w; if the file is damaged, running the sweep again writes it anew from the ledger",
				file, err)
		}
		if err := e.look(c, name); err != nil {
			return err
		}
	}
	for _, sql := range []string{
		fmt.Sprintf(`create view %s as from "table"`, Alias),
		fmt.Sprintf("set allowed_paths = [%s]", strings.Join(allowed, ", ")),
		"set enable_external_access = false",
		"set lock_configuration = true",
	} {
		if err := c.exec(sql); err != nil {
			return err
		}
	}
	return nil
}

// look finds the columns of a view.
func (e *engine) look(c *conn, name string) error {
	s, err := c.statement(`from "` + name + `"`)
	if err != nil {
		return err
	}
	defer s.close()
	v := View{Name: name}
	for _, col := range s.columns {
		v.Columns = append(v.Columns, schemas.Column{Name: col.name, Type: col.typ, Doc: meaning(name, col.name)})
	}
	e.views = append(e.views, v)
	return nil
}

// text returns s as a string literal of SQL.
func text(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

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

// cursor is an answer that DuckDB works out while it is read. It keeps about a megabyte of it.
type cursor struct {
	stmt   *statement
	result duck.Result
	schema *arrow.Schema
	ended  bool
}

// run starts the answer with values (int64, float64, bool, string or nil) for the parameters.
func (s *statement) run(values []any) (*cursor, error) {
	if len(values) != s.params {
		return nil, refuse("the SQL has parameters (%d) and %d values were given: write the values into it",
			s.params, len(values))
	}
	for i, v := range values {
		if err := bind(s.stmt, duck.IdxT(i+1), v); err != nil {
			return nil, err
		}
	}
	var pending duck.PendingResult
	defer duck.DestroyPending(&pending)
	if duck.PendingPreparedStreaming(s.stmt, &pending) == duck.StateError {
		message := duck.PendingError(pending)
		return nil, s.conn.failed(kindOf(message), message)
	}
	r := &cursor{stmt: s, schema: s.schema()}
	if duck.ExecutePending(pending, &r.result) == duck.StateError {
		defer r.close()
		return nil, r.failed()
	}
	return r, nil
}

func (r *cursor) failed() error {
	return r.stmt.conn.failed(duck.ResultErrorType(&r.result), duck.ResultError(&r.result))
}

func (r *cursor) close() { duck.DestroyResult(&r.result) }

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
	}
	if state == duck.StateError {
		return refuse("parameter %d cannot be %v", i, v)
	}
	return nil
}

// batchBytes is the size at which a batch of an answer ends, with the chunk of DuckDB (2048 rows)
// that exceeds it.
const batchBytes = 1 << 20

// next returns the next batch, which the caller releases, or io.EOF.
func (r *cursor) next() (arrow.Record, error) {
	if r.ended {
		return nil, io.EOF
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, r.schema)
	defer b.Release()
	rows, err := r.fetch(b.Fields())
	if err != nil {
		return nil, err
	}
	if rows == 0 {
		return nil, io.EOF
	}
	return b.NewRecord(), nil
}

// fetch appends chunks of the answer until they make a batch.
func (r *cursor) fetch(to []array.Builder) (rows int, err error) {
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
	}
	return rows, nil
}
