package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/ledger"
)

var (
	tableFormats = []string{"table", "json", "csv", "md"}
	tableFrames  = []string{"table", "curve", "bounds", "fits", "timing"}
)

// render writes one of a result's files for people.
func render(w io.Writer, dir, name, format string) error {
	frame, err := ledger.ReadTable(dir, name)
	if err != nil {
		return err
	}
	return frame.Render(w, format)
}

// explainRead says why a folder has no result to show. An error of stdout stays what it is.
func explainRead(dir string, err error) error {
	info, found := os.Stat(dir)
	_, ledger := os.Stat(filepath.Join(dir, "ledger"))
	var write *fs.PathError
	switch {
	case errors.As(err, &write) && write.Op == "write":
		return err
	case found != nil:
		return usageError{fmt.Errorf("%w; name the output folder of a sweep, like shatter-out/NAME", found)}
	case !info.IsDir():
		return usageError{fmt.Errorf("%q is not a folder; name the output folder of a sweep, like shatter-out/NAME", dir)}
	case !errors.Is(err, fs.ErrNotExist):
		return usageError{fmt.Errorf("%w; if the file is damaged, running the sweep again writes it anew from the ledger", err)}
	case ledger != nil:
		return usageError{fmt.Errorf("%q is not the output folder of a sweep: it holds neither results nor a ledger", dir)}
	}
	return usageError{fmt.Errorf("%q has no results yet: its sweep has not ended; run it again to go on", dir)}
}

func tableCommand() *cobra.Command {
	var format, what string
	c := &cobra.Command{
		Use: "table DIR", Short: "Print the table of a finished sweep", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if !slices.Contains(tableFormats, format) {
				return usageError{fmt.Errorf("-o %q: one of %s is needed", format, strings.Join(tableFormats, ", "))}
			}
			if !slices.Contains(tableFrames, what) {
				return usageError{fmt.Errorf("--what %q: one of %s is needed", what, strings.Join(tableFrames, ", "))}
			}
			if err := render(c.OutOrStdout(), args[0], what, format); err != nil {
				return explainRead(args[0], err)
			}
			return nil
		},
	}
	c.Flags().StringVarP(&format, "output", "o", "table", "format: "+strings.Join(tableFormats, ", "))
	c.Flags().StringVar(&what, "what", "table", "which: "+strings.Join(tableFrames, ", "))
	return c
}
