package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/result/render"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/schemas"
)

// resultTables lists the tables of a result.
var resultTables = []string{"table", "curve", "bounds", "fits", "timing", "failures"}

// writeTable writes one of a result's tables for people.
func writeTable(w io.Writer, dir, name string) error {
	s, err := readSheet(dir, name)
	if err != nil {
		return err
	}
	return renderSheet(w, s, "table", 0)
}

// readSheet reads one of a result's tables.
func readSheet(dir, name string) (*sheet.Sheet, error) {
	s, err := sheet.ReadTable(dir, name)
	if err != nil {
		return nil, err
	}
	if name == "table" {
		failures, err := result.ReadFailures(dir)
		if err != nil {
			return nil, err
		}
		result.AddFailures(s, failures)
	}
	s.Title = title(dir)
	m := folder.ReadManifest(dir)
	if m.Partial != "" {
		s.Notes = []string{"partial: " + m.Partial}
	}
	if looks := m.Looks; looks != nil && (name == "table" || name == "curve") {
		s.Notes = append(s.Notes, looks.Footer()...)
	}
	return s, nil
}

// renderSheet writes a sheet. The format table fits lines to width characters. A width of 0 is that
// of the terminal; elsewhere lines are as long as they are.
func renderSheet(w io.Writer, s *sheet.Sheet, format string, width int) error {
	if format == "table" {
		return render.Table(s, w, cmp.Or(width, terminalWidth(w)))
	}
	return render.Render(s, w, format)
}

// terminalWidth returns the characters of a line, and 0 where w is no terminal.
func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// title says of which result a table is, as far as the folder's manifest can be read, which is no
// part of the result.
func title(dir string) string {
	var m struct{ Name, Digest, Partial string }
	raw, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	switch {
	case err != nil || json.Unmarshal(raw, &m) != nil || m.Name == "":
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
		return usageError{fmt.Errorf("%w; name the output folder of a sweep, like shatter-out/NAME", found)}
	case !info.IsDir():
		return usageError{fmt.Errorf("%q is not a folder; name the output folder of a sweep, like shatter-out/NAME", dir)}
	case errors.As(err, &version):
		return usageError{fmt.Errorf("%w; use the release that made it, or run the sweep again with --fresh", err)}
	case ended == nil && errors.Is(err, fs.ErrNotExist):
		return usageError{fmt.Errorf("%w; an earlier version of shatter did not write it, or it was taken away: "+
			"running the sweep again writes it anew", err)}
	case !errors.Is(err, fs.ErrNotExist):
		return usageError{fmt.Errorf("%w; running the sweep again writes it anew from the ledger", err)}
	case begun != nil:
		return usageError{fmt.Errorf("%q is not the output folder of a sweep: it holds neither results nor a ledger", dir)}
	}
	return usageError{fmt.Errorf("%q has no results yet: its sweep has not ended; run it again to go on", dir)}
}

func tableCommand() *cobra.Command {
	var format, what string
	var width int
	var where whereFlag
	c := &cobra.Command{
		Use: "table DIR", Short: "Print the table of a finished sweep", Args: cobra.ExactArgs(1),
		Long: `Print a table of a finished sweep. For people: table (fitted to the width of a terminal), md, and tex, a
tabular that needs no more than booktabs. For programs: json, csv, arrow (IPC file) and parquet have
every column and every digit.`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkOutput(c.OutOrStdout(), format, render.Names()); err != nil {
				return err
			}
			switch {
			case !slices.Contains(resultTables, what):
				return usageError{fmt.Errorf("--what %q: one of %s is needed", what, strings.Join(resultTables, ", "))}
			case width < 0 || width > 0 && format != "table":
				return usageError{fmt.Errorf("--width %d: a number of characters, for -o table only", width)}
			}
			known, err := openResult(c, args[0])
			if err != nil {
				return err
			}
			defer known.close()
			s, err := readSheet(known.Dir, what)
			if err != nil {
				return explainRead(args[0], err)
			}
			if s, err = where.filter(s); err != nil {
				return err
			}
			return renderSheet(c.OutOrStdout(), s, format, width)
		},
	}
	addOutput(c, &format, render.Names(), "")
	where.add(c)
	c.Flags().StringVar(&what, "what", "table", "which: "+strings.Join(resultTables, ", "))
	c.Flags().IntVar(&width, "width", 0,
		"leave out columns until lines have at most so many characters (default: what the terminal has)")
	return c
}
