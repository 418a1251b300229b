package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/ledger"
)

var (
	tableFormats = []string{"table", "json", "csv", "md"}
	tableFrames  = []string{"table", "curve", "bounds", "timing"}
)

// render writes one of a result's files for people.
func render(w io.Writer, dir, name, format string) error {
	frame, err := ledger.ReadTable(dir, name)
	if err != nil {
		return err
	}
	return frame.Render(w, format)
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
				return usageError{err}
			}
			return nil
		},
	}
	c.Flags().StringVarP(&format, "output", "o", "table", "format: "+strings.Join(tableFormats, ", "))
	c.Flags().StringVar(&what, "what", "table", "which: "+strings.Join(tableFrames, ", "))
	return c
}
