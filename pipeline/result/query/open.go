//go:build cgo

package query

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	duckdb "github.com/duckdb/duckdb-go/v2"
	"golang.org/x/sync/semaphore"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// A DB holds the files of one result, open for queries. Concurrent use is safe.
type DB struct {
	db      *sql.DB
	folder  string // temporary folder with the database of the views and a link to the result
	options Options
	views   []View
	running *semaphore.Weighted
}

// Open opens the result in the folder dir. Its files become views. If files are missing, the error
// wraps [fs.ErrNotExist].
func Open(dir string, o Options) (_ *DB, err error) {
	o.Memory, o.Queries = cmp.Or(max(0, o.Memory), 1<<30), cmp.Or(max(0, o.Queries), 4)
	d := &DB{options: o, running: semaphore.NewWeighted(int64(o.Queries))}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("open result %q: %w", dir, err), d.Close())
		}
	}()
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	for _, name := range names {
		path := filepath.Join(dir, fileOf(name))
		switch info, err := os.Stat(path); {
		case err != nil:
			return nil, err
		case !info.Mode().IsRegular():
			return nil, fmt.Errorf("%q is not a file", path)
		}
	}
	if d.folder, err = os.MkdirTemp("", "shatter-query-"); err != nil {
		return nil, err
	}
	// DuckDB reads paths as patterns. The link hides all special characters of the result's path.
	if err := os.Symlink(dir, d.path("result")); err != nil {
		return nil, err
	}
	if err := d.define(); err != nil {
		return nil, err
	}
	if err := d.lock(); err != nil {
		return nil, err
	}
	return d, d.describe()
}

func (d *DB) path(elements ...string) string {
	return filepath.Join(append([]string{d.folder}, elements...)...)
}

// Views returns the views with their columns, without Alias.
func (d *DB) Views() []View { return d.views }

// Close closes the database. It does not wait for queries that DuckDB cannot interrupt.
func (d *DB) Close() error {
	var err error
	if d.db != nil {
		err = d.db.Close()
	}
	if d.folder != "" {
		err = errors.Join(err, os.RemoveAll(d.folder))
	}
	return err
}

// define creates a database with a view of each file.
func (d *DB) define() (err error) {
	db, err := sql.Open("duckdb", d.path("views.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var table []string
	for _, name := range names {
		view := "from read_parquet(" + text(d.path("result", fileOf(name))) + ")"
		if name == "trials" || name == "failures" {
			view = keyed(view, table)
		}
		if _, err := db.Exec("create view " + quoted(name) + " as " + view); err != nil {
			return fmt.Errorf("%q: %s; if the file is damaged, run the sweep again: it writes the file from the ledger",
				fileOf(name), plain(err.Error()))
		}
		if name == "table" {
			if table, err = columnNames(db, name); err != nil {
				return err
			}
		}
	}
	_, err = db.Exec("create view " + Alias + ` as from "table"`)
	return err
}

// keyed returns the SQL of a view that adds the key columns of the table, whose columns are given,
// to a file that identifies cells only by their ids. In task online the table has several rows per
// cell.
func keyed(file string, table []string) string {
	var keys []string
	for _, c := range table {
		if c != "cell" && c != trial.FolderColumn && trial.IdentifiesCell(c) {
			keys = append(keys, quoted(c))
		}
	}
	if len(keys) == 0 {
		return file
	}
	list := strings.Join(keys, ", ")
	return fmt.Sprintf(`select file.*, %s from (%s) file `+
		`left join (select distinct on (cell) cell, %s from "table") keys using (cell)`, list, file, list)
}

func columnNames(db *sql.DB, view string) ([]string, error) {
	rows, err := db.Query("from " + quoted(view) + " limit 0")
	if err != nil {
		return nil, err
	}
	columns, err := rows.Columns()
	return columns, errors.Join(err, rows.Err(), rows.Close())
}

// describe sets the views.
func (d *DB) describe() error {
	for _, name := range names {
		schema, _, err := d.Shape(context.Background(), "from "+quoted(name))
		if err != nil {
			return err
		}
		v := View{Name: name}
		for _, f := range schema.Fields() {
			v.Columns = append(v.Columns,
				schemas.Column{Name: f.Name, Type: sheet.ColumnType(f.Type), Doc: meaning(name, f.Name)})
		}
		d.views = append(d.views, v)
	}
	d.views = withMetrics(d.views, d.options.Metrics)
	return nil
}

// lock opens the database of the views read-only, limits it to the files of the result, and locks its
// configuration.
func (d *DB) lock() error {
	settings := url.Values{
		"access_mode":                  {"read_only"},
		"memory_limit":                 {fmt.Sprintf("%dB", d.options.Memory)},
		"temp_directory":               {""}, // no temporary files
		"autoinstall_known_extensions": {"false"},
		"autoload_known_extensions":    {"false"},
		"allow_community_extensions":   {"false"},
		"allow_persistent_secrets":     {"false"},
	}
	if d.options.Threads > 0 {
		settings.Set("threads", fmt.Sprint(d.options.Threads))
	}
	connector, err := duckdb.NewConnector(d.path("views.db")+"?"+settings.Encode(), nil)
	if err != nil {
		return err
	}
	d.db = sql.OpenDB(connector)
	d.db.SetMaxIdleConns(0) // temporary objects must not outlive their query
	var allowed []string
	for _, name := range names {
		allowed = append(allowed, text(d.path("result", fileOf(name))))
	}
	_, err = d.db.Exec("set allowed_paths = [" + strings.Join(allowed, ", ") + "]; " +
		"set enable_external_access = false; set lock_configuration = true")
	return err
}

// text returns s as a string literal of SQL.
func text(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// quoted returns a name as a quoted identifier of SQL.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
