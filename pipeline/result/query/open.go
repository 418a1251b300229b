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
	"strings"
	"sync/atomic"

	duck "github.com/duckdb/duckdb-go-bindings"

	"github.com/shatterlab/shatter/schemas"
)

// DB holds the files of one result, open for questions. It is safe for concurrent use: each
// question has a connection of its own.
type DB struct {
	dir     string
	options Options
	db      duck.Database
	views   []View
	missing []string     // optional files that are not there
	trials  string       // SQL of trials without the key columns
	link    string       // a folder to remove at the end
	stuck   atomic.Int64 // questions that have not let go of their connections
}

// Open makes the files of the result in the folder dir views of an empty database in memory, and
// locks the database's configuration. Where files are missing, the error has fs.ErrNotExist in its
// chain.
func Open(dir string, o Options) (*DB, error) {
	d := &DB{dir: dir, options: o}
	files, err := d.find()
	if err != nil {
		d.Close()
		return nil, fmt.Errorf("open result: %w", err)
	}
	if err := d.start(); err != nil {
		d.Close()
		return nil, fmt.Errorf("open result %q: %w", dir, err)
	}
	if err := d.fill(files); err != nil {
		d.Close()
		return nil, fmt.Errorf("open result %q: %w", dir, err)
	}
	return d, nil
}

// find returns the path of each view's file.
func (d *DB) find() (map[string]string, error) {
	dir, err := filepath.Abs(d.dir)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	if dir, err = d.plainly(dir); err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, name := range names {
		path := filepath.Join(dir, name+".parquet")
		switch info, err := os.Stat(path); {
		case errors.Is(err, fs.ErrNotExist) && slices.Contains(optional, name):
			d.missing = append(d.missing, name)
			continue
		case err != nil:
			return nil, err
		case !info.Mode().IsRegular():
			return nil, fmt.Errorf("%q is not a file", path)
		}
		files[name] = path
	}
	return files, nil
}

// start opens the empty database.
func (d *DB) start() error {
	var config duck.Config
	if duck.CreateConfig(&config) == duck.StateError {
		return errors.New("make the configuration of DuckDB")
	}
	defer duck.DestroyConfig(&config)
	settings := [][2]string{
		{"memory_limit", fmt.Sprintf("%dB", d.options.memory())},
		{"temp_directory", ""}, // nothing is spilled to the disk
		{"autoinstall_known_extensions", "false"},
		{"autoload_known_extensions", "false"},
		{"allow_community_extensions", "false"},
		{"allow_persistent_secrets", "false"},
	}
	if d.options.Threads > 0 {
		settings = append(settings, [2]string{"threads", fmt.Sprint(d.options.Threads)})
	}
	for _, s := range settings {
		if duck.SetConfig(config, s[0], s[1]) == duck.StateError {
			return fmt.Errorf("set %s of DuckDB to %q", s[0], s[1])
		}
	}
	var message string
	if duck.OpenExt("", &d.db, config, &message) == duck.StateError {
		return errors.New("start DuckDB: " + plain(message))
	}
	return nil
}

// fill makes the views and then locks the configuration.
func (d *DB) fill(files map[string]string) error {
	c, err := d.connect()
	if err != nil {
		return err
	}
	defer c.close()
	var allowed []string
	for _, name := range names {
		path, ok := files[name]
		if !ok {
			continue
		}
		allowed = append(allowed, text(path))
		sql := "from read_parquet(" + text(path) + ")"
		if name == "trials" {
			d.trials = sql
		}
		if slices.Contains(withKeys, name) {
			sql = keyed(sql, d.views[0].Columns)
		}
		if err := c.exec(fmt.Sprintf(`create view "%s" as %s`, name, sql)); err != nil {
			return fmt.Errorf("%q: %w; if the file is damaged, running the sweep again writes it anew from the ledger",
				path, err)
		}
		if err := d.look(c, name); err != nil {
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
func (d *DB) look(c *conn, name string) error {
	s, err := c.statement(context.Background(), `from "`+name+`"`)
	if err != nil {
		return err
	}
	defer s.close()
	v := View{Name: name}
	for _, col := range s.columns {
		v.Columns = append(v.Columns, schemas.Column{Name: col.name, Type: col.typ, Doc: meaning(name, col.name)})
	}
	d.views = append(d.views, v)
	return nil
}

// Views returns the views with their columns, without Alias.
func (d *DB) Views() []View { return d.views }

// Close ends the database. Answers must be closed before. Where a question is still running, the
// process keeps its memory.
func (d *DB) Close() {
	if d.stuck.Load() == 0 {
		duck.Close(&d.db)
	}
	if d.link != "" {
		_ = os.RemoveAll(d.link) // a link, and its folder in the temporary one
	}
}

// text returns s as a string literal of SQL.
func text(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// plainly returns a path of dir that DuckDB does not read as a pattern: dir itself, or a link to
// it.
func (d *DB) plainly(dir string) (string, error) {
	const pattern = "*?["
	if !strings.ContainsAny(dir, pattern) {
		return dir, nil
	}
	link, err := os.MkdirTemp("", "shatter-query-")
	if err != nil {
		return "", err
	}
	d.link = link
	path := filepath.Join(link, "result")
	if strings.ContainsAny(path, pattern) {
		return "", fmt.Errorf("%q has characters of a pattern (%s): rename it", dir, pattern)
	}
	return path, os.Symlink(dir, path)
}
