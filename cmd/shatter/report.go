package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/result/report"
)

func reportCommand() *cobra.Command {
	return &cobra.Command{
		Use: "report DIR", Short: "Write report.html of a finished sweep anew", Args: cobra.ExactArgs(1),
		Long: `Write DIR/report.html anew and print its path: one page with the table, its figures, what is not known
and how the result was made. It is one file that needs no network. shatter run writes it at its end.`,
		RunE: func(c *cobra.Command, args []string) error {
			known, err := openResult(c, args[0])
			if err != nil {
				return err
			}
			defer known.close()
			sweep, err := report.Load(known.Dir)
			if err != nil {
				return explainRead(args[0], err)
			}
			if known.temporary && folder.ResultStands(args[0]) { // the run has ended meanwhile, and has written its report
				if sweep, err = report.Load(args[0]); err != nil {
					return explainRead(args[0], err)
				}
			}
			path := filepath.Join(args[0], "report.html")
			if err := disk.WriteFile(path, sweep.WriteHTML); err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), path)
			return err
		},
	}
}

// writeReport writes the page at the end of a run. The result stands without it, so that an error
// is only printed.
func writeReport(stderr io.Writer, dir string) {
	sweep, err := report.Load(dir)
	if err == nil {
		_, err = sweep.WriteFile()
	}
	if err != nil {
		fmt.Fprintf(stderr, "shatter: no report.html: %v%s; `shatter report %s` tries again\n", err, remedy(err), dir)
	}
}
