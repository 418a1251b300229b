package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/result/compare"
	"github.com/shatterlab/shatter/pipeline/result/render"
)

var compareFormats = []string{"table", "json", "csv", "md"}

func compareCommand() *cobra.Command {
	var format string
	var columns []string
	c := &cobra.Command{
		Use: "compare A [B]", Short: "Find cells whose brackets differ between two results",
		Args: cobra.RangeArgs(1, 2),
		Long: `Compare the results in two folders, cell by cell, or cells of one result with each other.

Cells are the same if their keys are: seed, n and trials may differ. With --by COLUMN, as often as
needed, cells are compared that agree in all columns but these (parameters go with the algorithm);
--by COLUMN=X,Y has X on the side of A and Y on that of B.

Two cells differ if their brackets have no n in common (in task online: if the intervals of their
regret have no value in common). They are "equal" if their rows have the same values in every
column, "not told apart" if their brackets overlap, which does not prove that n* is equal, and
"unknown" if one of them is not decided. ratio_low and ratio_high bound n* of A divided by n* of B.

All verdicts hold together with the stated confidence. For smaller differences, let both sweeps
search with a smaller "within".

Exit codes: 0 nothing differs; 1 something does; 2 no cell in common, or no results.`,
		RunE: func(c *cobra.Command, args []string) error {
			by, err := parseBy(columns)
			if err != nil {
				return err
			}
			opened, err := openEach(c, args)
			defer opened.close()
			if err != nil {
				return err
			}
			for i, known := range opened {
				args[i] = known.Dir
			}
			found, err := compareFolders(args, by)
			if err != nil {
				return explainComparison(err)
			}
			return writeComparison(c.OutOrStdout(), c.ErrOrStderr(), found, format)
		},
	}
	addOutput(c, &format, compareFormats, "")
	c.Flags().StringArrayVar(&columns, "by", nil,
		"`COLUMN` in which the cells of a pair may differ, or COLUMN=X,Y (repeatable)")
	return c
}

// parseBy reads the values of --by: COLUMN or COLUMN=X,Y.
func parseBy(flags []string) ([]compare.By, error) {
	var all []compare.By
	for _, flag := range flags {
		column, values, given := strings.Cut(flag, "=")
		by := compare.By{Column: column}
		if given {
			var two bool
			if by.A, by.B, two = strings.Cut(values, ","); !two || by.A == "" || by.B == "" {
				return nil, wrong("--by %s: COLUMN or COLUMN=X,Y is needed, "+
					"where X is the value on the one side and Y that on the other", flag)
			}
		}
		all = append(all, by)
	}
	return all, nil
}

// compareFolders compares the results in one or two folders.
func compareFolders(dirs []string, by []compare.By) (*compare.Comparison, error) {
	if len(dirs) == 1 && len(by) == 0 {
		return nil, wrong("one folder: name a second one, " +
			"or with --by COLUMN in what the cells to compare differ, like --by replica")
	}
	a, err := compare.Read(dirs[0])
	if err != nil {
		return nil, err
	}
	b := a
	if len(dirs) == 2 {
		if b, err = compare.Read(dirs[1]); err != nil {
			return nil, err
		}
	}
	return compare.Compare(a, b, by)
}

// explainComparison finds out who is to blame for an error of a comparison.
func explainComparison(err error) error {
	if unread, ok := errors.AsType[*compare.ReadError](err); ok {
		return explainRead(unread.Dir, unread.Err)
	}
	return err
}

// writeComparison writes the pairs of cells, and the summary after them or, if the pairs are for a program, to stderr.
// It returns a status error if any cells differ.
func writeComparison(stdout, stderr io.Writer, found *compare.Comparison, format string) error {
	pairs, err := found.Sheet()
	if err != nil {
		return err
	}
	summary := stdout
	if format == "json" || format == "csv" {
		summary = stderr
		err = render.Render(pairs, sanitized(stdout), format)
	} else {
		err = renderSheet(stdout, pairs, format, render.View{})
	}
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(summary, found.Summary()); err != nil {
		return err
	}
	if found.Differ() {
		return statusError(exitUnfinished)
	}
	return nil
}
