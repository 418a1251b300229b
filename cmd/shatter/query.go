package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/result/query"
	"github.com/shatterlab/shatter/pipeline/result/render"
	"github.com/shatterlab/shatter/schemas"
)

// queryFlags holds the limits of query and serve.
type queryFlags struct {
	memory  string
	timeout time.Duration
	threads int
	queries int // at the same time; not a flag of query
}

func (f *queryFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.memory, "memory", "1GB",
		"memory `limit` of DuckDB, including answers, with unit KB, MB, GB, KiB, MiB or GiB")
	c.Flags().DurationVar(&f.timeout, "timeout", time.Minute, "time `limit` of a query; 0 for none")
	c.Flags().IntVar(&f.threads, "threads", 0, "`number` of DuckDB's threads (default one per core)")
}

// openDB is a result that is open for queries.
type openDB struct {
	*query.DB
	known *knownResult
}

// Close closes the database, and then the files that it read.
func (d *openDB) Close() {
	_ = d.DB.Close() // at most a temporary folder remains
	d.known.close()
}

// open opens the results of the folders, finished or partial, within the limits.
func (f *queryFlags) open(c *cobra.Command, dirs ...string) (*openDB, error) {
	memory, err := parseMemory(f.memory)
	switch {
	case err != nil:
		return nil, wrong("--memory %q: %w", f.memory, err)
	case f.timeout < 0:
		return nil, wrong("--timeout %v: a time is needed, or 0 for no limit", f.timeout)
	case f.threads < 0:
		return nil, wrong("--threads %d: a number from 1 on is needed, or 0 for one per core", f.threads)
	}
	known, err := openResults(c, dirs)
	if err != nil {
		return nil, err
	}
	db, err := query.Open(known.Dir, query.Options{
		Memory: memory, Threads: f.threads, Timeout: f.timeout, Queries: f.queries,
		Metrics: folder.ReadManifest(known.Dir).Metrics,
	})
	if err != nil {
		known.close()
	}
	switch {
	case errors.Is(err, query.ErrNoEngine), errors.Is(err, query.ErrLimit):
		return nil, err
	case err != nil:
		return nil, explainRead(dirs[0], err)
	}
	return &openDB{db, known}, nil
}

// A small query takes minMemory bytes; maxMemory is beyond any machine.
const (
	minMemory = 32e6
	maxMemory = 1 << 50
)

// parseMemory reads the value of --memory in bytes. Its units may be written in small letters.
func parseMemory(text string) (int64, error) {
	var b schemas.Bytes
	text = strings.ReplaceAll(strings.ToUpper(text), "IB", "iB")
	if err := b.UnmarshalText([]byte(text)); err != nil || b < minMemory || b > maxMemory {
		return 0, errors.New("a size like 500MB or 2GB is needed, from 32MB to 1024TiB")
	}
	return int64(b), nil
}

func queryCommand() *cobra.Command {
	var f queryFlags
	var format string
	var schema bool
	var width int
	c := &cobra.Command{
		Use:   "query DIR... [SQL]",
		Short: "Answer an SQL query over a result",
		Long: `Answer one SQL query (DuckDB's dialect) over the result in the folder DIR. Without SQL, or with -,
it is read from stdin. Of several folders, the views have all rows, with the column folder.

The files of the result are the views "table", curve, bounds, trials, timing, fits and failures;
cells is another name of "table", which is a reserved word of SQL. Column cell joins them all;
trials and failures also have the key columns of their cells. --schema lists all columns with their
meanings. Results are read-only: only select and explain are answered, no other file can be read,
and a query that needs more than --timeout or --memory fails.

table, md and tex show at most 10,000 rows, tex with four digits; json, csv, arrow (an IPC stream)
and parquet stream any number.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			width = cmp.Or(width, terminalWidth(c.OutOrStdout()))
			if schema {
				return f.schema(c, args, format, width)
			}
			return f.run(c, args, format, width)
		},
	}
	f.add(c)
	addOutput(c, &format, query.Formats(), "")
	addWidth(c, &width, &format)
	c.Flags().BoolVar(&schema, "schema", false, "list of views, columns, types and meanings instead of an answer")
	return c
}

// schema lists the views with their columns.
func (f *queryFlags) schema(c *cobra.Command, args []string, format string, width int) error {
	dirs, rest := splitFolders(args)
	if len(rest) > 0 {
		return wrong("--schema takes no SQL")
	}
	db, err := f.open(c, dirs...)
	if err != nil {
		return err
	}
	defer db.Close()
	return render.View{Width: width}.Render(query.Describe(db.Views()), c.OutOrStdout(), format)
}

// run answers one statement.
func (f *queryFlags) run(c *cobra.Command, args []string, format string, width int) error {
	dirs, rest := splitFolders(args)
	if len(rest) > 1 {
		return wrong("%q is not a folder: name the folders, and then one query", rest[0])
	}
	sql, err := statement(c, rest)
	if err != nil {
		return err
	}
	if err := query.CheckSyntax(sql); err != nil { // opening a partial result may take long
		return err
	}
	db, err := f.open(c, dirs...)
	if err != nil {
		return err
	}
	defer db.Close()
	rows, err := db.Query(c.Context(), sql)
	if err != nil {
		return explainQuery(err)
	}
	err = query.Write(sanitized(c.OutOrStdout()), rows, format, width)
	return explainQuery(errors.Join(err, rows.Close()))
}

// splitFolders separates the folders at the beginning of the arguments, at least one, from the rest.
func splitFolders(args []string) (dirs, rest []string) {
	count := 1
	for count < len(args) && isFolder(args[count]) {
		count++
	}
	return args[:count], args[count:]
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// statement returns the SQL of the command line, or of stdin.
func statement(c *cobra.Command, args []string) (string, error) {
	if len(args) > 0 && args[0] != "-" {
		return args[0], nil
	}
	if len(args) == 0 {
		if f, ok := c.InOrStdin().(*os.File); ok && term.IsTerminal(int(f.Fd())) {
			return "", wrong("no SQL: give it behind the folder, " +
				`like "select * from cells", or on stdin`)
		}
	}
	raw, err := io.ReadAll(io.LimitReader(c.InOrStdin(), 1<<20))
	if err != nil {
		return "", fmt.Errorf("read SQL from stdin: %w", err)
	}
	return string(raw), nil
}

// explainQuery finds out who is to blame for an error of a query.
func explainQuery(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return statusError(exitInterrupted)
	case errors.Is(err, fs.ErrNotExist):
		return usageError{err}
	}
	return err
}
