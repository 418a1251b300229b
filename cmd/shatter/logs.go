package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/coordinator/lead"
)

func logsCommand() *cobra.Command {
	return asking(&cobra.Command{
		Use: "logs ID", Short: "Print what the leader of a submitted sweep has logged about it last",
		Args: cobra.ExactArgs(1),
	}, func(r *remote, c *cobra.Command, args []string) ([]string, error) {
		record, err := r.find(c.Context(), args[0])
		if err != nil {
			return nil, err
		}
		if record.End != nil {
			return record.End.Log, nil
		}
		a, err := lead.Ask(c.Context(), r.conn, record.ID, false)
		if err != nil {
			return nil, err
		}
		if a == nil {
			return nil, fmt.Errorf("nobody leads sweep %s, and the log went with its last leader; "+
				"shatter status %s says why", record.ID, record.ID)
		}
		return a.Log, nil
	}, writeLog)
}

// writeLog prints the lines of a log.
func writeLog(log []string, c *cobra.Command) error {
	for _, line := range log {
		if _, err := fmt.Fprintln(c.OutOrStdout(), printable(line)); err != nil {
			return err
		}
	}
	return nil
}
