package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/result/render"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

// writeTable writes one of a result's tables for people.
func writeTable(w io.Writer, dir, name string) error {
	s, m, err := readSheet(dir, name)
	if err != nil {
		return err
	}
	s.Notes = append(s.Notes, footer(m.Rechecks, s)...)
	findings := render.Findings(s)
	for i, line := range findings {
		findings[i] = strings.Join(wording.Wrap(line, 100, "  "), "\n")
	}
	switch {
	case name == "fits" && len(findings) > 0: // the sentences have its estimates
		_, err = fmt.Fprintf(w, "%s\nall numbers: shatter table %s --what fits\n", strings.Join(findings, "\n"),
			wording.ShellWord(dir))
		return err
	case len(findings) > 0:
		fmt.Fprintln(w, strings.Join(findings, "\n")+"\n")
	}
	return renderSheet(w, s, "table", render.View{Short: name == "table"})
}

// readSheet reads one of a result's tables, and the result's manifest.
func readSheet(dir, name string) (s *sheet.Sheet, m schemas.Manifest, err error) {
	if s, err = sheet.ReadTable(dir, name); err != nil {
		return nil, m, err
	}
	if name == "table" {
		failures, err := sheet.ReadTable(dir, "failures")
		if err != nil {
			return nil, m, err
		}
		s = result.AddFailures(s, failures)
	}
	m = folder.ReadManifest(dir)
	s.Title = title(m)
	if m.Partial != "" {
		s.Notes = []string{"partial: " + m.Partial}
	}
	return s, m, nil
}

// footer returns the lines below some rows of a result's table or curve about the
// rechecks of their trials.
func footer(rechecks *schemas.Rechecks, s *sheet.Sheet) []string {
	cell := schemas.IndexOf(s.Columns, "cell")
	if rechecks == nil || cell < 0 || s.Name != "table" && s.Name != "curve" {
		return nil
	}
	shown := map[string]bool{}
	for row := range s.Len() {
		id, _ := s.At(row, cell).(string)
		shown[id] = true
	}
	return rechecks.Footer(shown)
}

// shortWidth is the length of a line in a short table, in characters.
const shortWidth = 100

// renderSheet writes a sheet. A width of 0 is that of the terminal; elsewhere the length of lines is unlimited. Short
// tables have at most shortWidth.
func renderSheet(w io.Writer, s *sheet.Sheet, format string, v render.View) error {
	if terminal := terminalWidth(w); v.Width == 0 && v.Short {
		v.Width = min(shortWidth, cmp.Or(terminal, shortWidth))
	} else {
		v.Width = cmp.Or(v.Width, terminal)
	}
	return v.Render(s, sanitized(w), format)
}

// title names the result of a table, if the manifest, which is not part of the result, names it.
func title(m schemas.Manifest) string {
	switch {
	case m.Name == "":
		return ""
	case m.Digest == "" && m.Partial != "":
		return "sweep " + m.Name + ", partial: " + m.Partial
	case m.Digest == "":
		return "sweep " + m.Name
	}
	return "sweep " + m.Name + ", result digest " + m.Digest
}

// explainRead finds out why a folder has no result to show. An error of stdout stays what it is.
func explainRead(dir string, err error) error {
	info, found := os.Stat(dir)
	_, begun := os.Stat(filepath.Join(dir, "ledger"))
	_, ended := os.Stat(filepath.Join(dir, "table.parquet"))
	var write *fs.PathError
	var version *schemas.VersionError
	switch {
	case errors.As(err, &write) && write.Op == "write":
		return err
	case found != nil:
		return wrong("%w; name the output folder of a sweep, like shatter-out/NAME", found)
	case !info.IsDir():
		return wrong("%q is not a folder; name the output folder of a sweep, like shatter-out/NAME", dir)
	case errors.As(err, &version):
		return usageError{err}
	case ended == nil && errors.Is(err, fs.ErrNotExist):
		return wrong("%w; an earlier version of shatter did not write it, or it was taken away: "+
			"running the sweep again writes it", err)
	case !errors.Is(err, fs.ErrNotExist):
		return wrong("%w; running the sweep again writes it from the ledger", err)
	case begun != nil:
		return wrong("%q is not the output folder of a sweep: it holds neither results nor a ledger", dir)
	}
	return wrong("%q has no results yet: its sweep has not ended; run it again to go on", dir)
}

// tableFlags holds the flags of table.
type tableFlags struct {
	format, what string
	where        whereFlag
	sort         []string
	details      bool
	view         render.View
}

func tableCommand() *cobra.Command {
	var f tableFlags
	c := &cobra.Command{
		Use: "table DIR...", Short: "Print a table of a result", Args: cobra.MinimumNArgs(1),
		Long: `Print a table of a sweep, partial if the sweep has not ended. For people: table (at most 100
characters wide; --details shows more), md, and tex, a tabular of the same columns that needs
booktabs (--siunitx: numbers for that package; --notes: notes below the table, by threeparttable).
They omit rarely used columns, and print values that all rows share only once. For programs: json,
csv, arrow (IPC file) and parquet have every column and every digit.

--columns takes any column in any format, --where and --sort too; the prefix p_ of a parameter or m_
of a metric may be left out. A metric of a cell is its mean at n_star, or, where there is none, at
the largest n measured; the files of the result do not have it.`,
		RunE: func(c *cobra.Command, args []string) error { return f.show(c, args) },
	}
	addOutput(c, &f.format, render.Names(), "")
	c.Flags().StringSliceVar(&f.view.Columns, "columns", nil,
		"`columns` to show, in this order (default those that vary)")
	f.where.add(c)
	c.Flags().StringSliceVar(&f.sort, "sort", nil,
		"`columns` by which rows are sorted; -COLUMN sorts from large to small")
	c.Flags().StringVar(&f.what, "what", "table", "`name` of the table: "+strings.Join(result.Sheets(), ", "))
	c.Flags().BoolVar(&f.details, "details", false, "all columns, with parameters of algorithms, sources and reasons")
	c.Flags().BoolVar(&f.view.SIUnitx, "siunitx", false, "numbers as arguments of \\num, for -o tex")
	c.Flags().BoolVar(&f.view.Notes, "notes", false, "notes below the table instead of comments, for -o tex")
	addWidth(c, &f.view.Width, &f.format)
	return c
}

// show prints the table that the flags ask for.
func (f *tableFlags) show(c *cobra.Command, dirs []string) error {
	if !slices.Contains(result.Sheets(), f.what) {
		return wrong("--what %q: one of %s is needed", f.what, strings.Join(result.Sheets(), ", "))
	}
	known, err := openResults(c, dirs)
	if err != nil {
		return err
	}
	defer known.close()
	s, m, err := readSheet(known.Dir, f.what)
	if err != nil {
		return explainRead(dirs[0], err)
	}
	if s, err = f.rows(known.Dir, s); err != nil {
		return err
	}
	s.Notes = slices.Concat(s.Notes, f.aboutMetrics(s, m.Metrics), footer(m.Rechecks, s))
	if (f.view.SIUnitx || f.view.Notes) && f.format != "tex" {
		return wrong("--siunitx and --notes: only for -o tex")
	}
	f.view.Short = !f.details && f.what == "table" && len(f.view.Columns) == 0
	return renderSheet(c.OutOrStdout(), s, f.format, f.view)
}

// rows returns the sheet with the rows that the flags keep, in their order. The rows of bounds and
// timing, which tell their cells by ids alone, may be told by what the cells are: people see it, and
// programs where they ask for it.
func (f *tableFlags) rows(dir string, s *sheet.Sheet) (*sheet.Sheet, error) {
	if format, _ := render.Find(f.format); !format.ForPeople() && len(f.view.Columns) == 0 {
		for _, c := range s.Columns {
			f.view.Columns = append(f.view.Columns, c.Name)
		}
	}
	if f.what == "bounds" || f.what == "timing" {
		if cells, err := sheet.ReadTable(dir, "table"); err == nil {
			s = s.WithColumns(cells, trial.IdentifiesCell)
		}
	}
	if f.what == "table" && f.asksMore(s) {
		curve, err := sheet.ReadTable(dir, "curve")
		if err != nil {
			return nil, explainRead(dir, err)
		}
		s = result.WithMetrics(s, curve)
	}
	s, err := f.where.filter(s)
	if err != nil {
		return nil, err
	}
	if s, err = s.Sort(f.sort...); err != nil {
		return nil, wrong("--sort %w", err)
	}
	if _, err = s.FindAll(f.view.Columns); err != nil {
		return nil, wrong("--columns %w", err)
	}
	return s, nil
}

// asksMore reports whether a flag names a column that the sheet has not.
func (f *tableFlags) asksMore(s *sheet.Sheet) bool {
	names := slices.Clone(f.view.Columns)
	for _, name := range f.sort {
		names = append(names, strings.TrimPrefix(name, "-"))
	}
	for _, condition := range f.where.texts {
		name, _, _ := strings.Cut(condition, "=")
		names = append(names, name)
	}
	_, err := s.FindAll(names)
	return err != nil
}

// aboutMetrics describes the metrics that --columns names.
func (f *tableFlags) aboutMetrics(s *sheet.Sheet, known []schemas.Metric) (notes []string) {
	columns, err := s.FindAll(f.view.Columns)
	if err != nil {
		return nil
	}
	for _, i := range columns {
		name, ok := strings.CutPrefix(s.Columns[i].Name, schemas.MetricPrefix)
		if !ok {
			continue
		}
		m := schemas.Metric{Name: name}
		if j := slices.IndexFunc(known, func(m schemas.Metric) bool { return m.Name == name }); j >= 0 {
			m = known[j]
		}
		where := ""
		switch {
		case f.what != "table":
		case schemas.IndexOf(s.Columns, "rounds") >= 0:
			where = "; its mean over sequences of these rounds"
		default:
			where = "; its mean at n_star or, where there is none, at the largest n measured"
		}
		notes = append(notes, s.Columns[i].Name+": "+m.Meaning()+where)
	}
	return notes
}
