package main

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/result/report"
)

func reportCommand() *cobra.Command {
	var where whereFlag
	var out string
	c := &cobra.Command{
		Use: "report DIR", Short: "Write report.html of a sweep anew", Args: cobra.ExactArgs(1),
		Long: `Write DIR/report.html anew and print its path: one page with the table, its figures, what is not known
and how the result was made. It is one file that needs no network. shatter run writes it at its end. With --where
the page is about some rows alone, and --out says where it goes.`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(where.texts) > 0 && out == "" {
				return usageError{fmt.Errorf("--where %s: name the file of this page with --out FILE, so that "+
					"report.html goes on to show the whole result", where.texts[0])}
			}
			known, err := openResult(c, args[0])
			if err != nil {
				return err
			}
			defer known.close()
			sweep, err := where.load(known.Dir, args[0])
			if err != nil {
				return err
			}
			if known.temporary && folder.ResultStands(args[0]) { // the run has ended meanwhile
				if sweep, err = where.load(args[0], args[0]); err != nil {
					return err
				}
			}
			path := cmp.Or(out, filepath.Join(args[0], "report.html"))
			if err := disk.WriteFile(path, sweep.WriteHTML); err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), path)
			return err
		},
	}
	where.add(c)
	c.Flags().StringVar(&out, "out", "", "file of the page (default DIR/report.html)")
	return c
}

// writeReport writes the page at the end of a run.
func writeReport(dir string) error {
	sweep, err := report.Load(dir)
	if err == nil {
		_, err = sweep.WriteFile()
	}
	return err
}
