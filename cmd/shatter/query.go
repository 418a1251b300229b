package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/shatterlab/shatter/pipeline/result/query"
	"github.com/shatterlab/shatter/pipeline/result/render"
)

// queryFlags are the limits of query and serve.
type queryFlags struct {
	memory  string
	timeout time.Duration
	threads int
}

func (f *queryFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.memory, "memory", "1GB", "memory for the engine: a number with KB, MB, GB, KiB, MiB or GiB")
	c.Flags().DurationVar(&f.timeout, "timeout", time.Minute, "time that a query may take; 0: any")
	c.Flags().IntVar(&f.threads, "threads", 0, "threads of the engine (default: one per core)")
}

// open opens the result in dir within the limits.
func (f *queryFlags) open(dir string) (*query.DB, error) {
	memory, err := bytesOf(f.memory)
	switch {
	case err != nil:
		return nil, usageError{fmt.Errorf("--memory %q: %w", f.memory, err)}
	case f.timeout < 0:
		return nil, usageError{fmt.Errorf("--timeout %v: a time is needed, or 0 for no limit", f.timeout)}
	case f.threads < 0:
		return nil, usageError{fmt.Errorf("--threads %d: a number from 1 on is needed", f.threads)}
	}
	db, err := query.Open(dir, query.Options{Memory: memory, Threads: f.threads, Timeout: f.timeout})
	switch {
	case errors.Is(err, query.ErrNoEngine):
		return nil, usageError{err}
	case err != nil:
		return nil, explainRead(dir, err)
	}
	return db, nil
}

var sizes = map[string]int64{"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40}

var sizeForm = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?([A-Z]+)$`)

// leastMemory is what a small query takes.
const leastMemory = 32e6

func bytesOf(text string) (int64, error) {
	m := sizeForm.FindStringSubmatch(strings.ToUpper(text))
	if m == nil || sizes[m[2]] == 0 {
		return 0, errors.New("a size like 500MB or 2GB is needed")
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if bytes := n * float64(sizes[m[2]]); err == nil && bytes >= leastMemory && bytes <= 1<<50 {
		return int64(bytes), nil
	}
	return 0, errors.New("a size from 32MB to 1024TiB is needed")
}

func queryCommand() *cobra.Command {
	var f queryFlags
	var format string
	var schema bool
	c := &cobra.Command{
		Use:   "query DIR [SQL]",
		Short: "Answer SQL over the result in DIR",
		Long: `Answer one SQL query (DuckDB's dialect) over the result in the folder DIR. Without SQL, or with -, it is read from stdin.

The files of the result are the views "table", curve, bounds, trials, timing and fits; cells is another name of "table", which is a
reserved word of SQL. Column cell joins them all; --schema lists columns and what they mean. Results are read-only: only select and
explain are answered, no file but those of the result can be read, and a query that takes more than --timeout or --memory ends.

  shatter query shatter-out/em "select epsilon, n_star, ratio from cells order by epsilon"
  shatter query shatter-out/em "select n, avg(error), stddev(error) from trials group by n order by n"
  shatter query shatter-out/em -o parquet "select * from trials join cells using (cell)" > all.parquet

table and md show at most 10,000 rows; json, csv, arrow (an IPC stream) and parquet stream any number.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			if !slices.Contains(query.Formats(), format) {
				return usageError{fmt.Errorf("-o %q: one of %s is needed", format, strings.Join(query.Formats(), ", "))}
			}
			if schema {
				return f.schema(c, args, format)
			}
			return f.run(c, args, format)
		},
	}
	f.add(c)
	c.Flags().StringVarP(&format, "output", "o", "table", "format: "+strings.Join(query.Formats(), ", "))
	c.Flags().BoolVar(&schema, "schema", false, "list views, columns, types and meanings instead")
	return c
}

func (f *queryFlags) schema(c *cobra.Command, args []string, format string) error {
	switch {
	case len(args) > 1:
		return usageError{errors.New("--schema takes no SQL")}
	case !slices.Contains(tableFormats, format):
		return usageError{fmt.Errorf("-o %q: --schema is written as one of %s", format, strings.Join(tableFormats, ", "))}
	}
	db, err := f.open(args[0])
	if err != nil {
		return err
	}
	defer db.Close()
	return render.Render(query.Describe(db.Views()), c.OutOrStdout(), format)
}

func (f *queryFlags) run(c *cobra.Command, args []string, format string) error {
	if (format == "arrow" || format == "parquet") && isTerminal(c.OutOrStdout()) {
		return usageError{fmt.Errorf("-o %s is no text for a terminal: send it to a file or a program", format)}
	}
	sql, err := statement(c, args[1:])
	if err != nil {
		return err
	}
	db, err := f.open(args[0])
	if err != nil {
		return err
	}
	defer db.Close()
	rows, err := db.Query(c.Context(), sql)
	if err != nil {
		return blamed(err)
	}
	defer rows.Close()
	return blamed(query.Write(c.OutOrStdout(), rows, format))
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// statement is the SQL of the command line, or of stdin.
func statement(c *cobra.Command, args []string) (string, error) {
	if len(args) > 0 && args[0] != "-" {
		return args[0], nil
	}
	if len(args) == 0 {
		if f, ok := c.InOrStdin().(*os.File); ok && term.IsTerminal(int(f.Fd())) {
			return "", usageError{errors.New(`no SQL: give it behind the folder, like "select * from cells", or on stdin`)}
		}
	}
	raw, err := io.ReadAll(io.LimitReader(c.InOrStdin(), 1<<20))
	if err != nil {
		return "", fmt.Errorf("read SQL from stdin: %w", err)
	}
	return string(raw), nil
}

// blamed finds who is to blame for an error of a query.
func blamed(err error) error {
	switch {
	case errors.Is(err, query.ErrSQL):
		return usageError{err}
	case errors.Is(err, context.Canceled):
		return statusError(exitInterrupted)
	case errors.Is(err, fs.ErrNotExist):
		return usageError{err}
	}
	return err
}
