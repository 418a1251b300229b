package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/coordinator/lead"
)

func logsCommand() *cobra.Command {
	var server serverFlags
	var format string
	c := &cobra.Command{
		Use: "logs ID", Short: "Print what the leader of a submitted sweep has logged about it last",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkOutput(c.OutOrStdout(), format, listFormats); err != nil {
				return err
			}
			r, err := server.open(c)
			if err != nil {
				return err
			}
			defer r.close()
			record, err := r.find(c.Context(), args[0])
			if err != nil {
				return err
			}
			var log []string
			if record.End != nil {
				log = record.End.Log
			} else {
				a, err := lead.Ask(c.Context(), r.conn, record.ID, false)
				if err != nil {
					return err
				}
				if a == nil {
					return fmt.Errorf("nobody leads sweep %s, and the log went with its last leader; "+
						"shatter status %s says why", record.ID, record.ID)
				}
				log = a.Log
			}
			if format == "json" {
				return writeJSON(c.OutOrStdout(), log)
			}
			for _, line := range log {
				if _, err := fmt.Fprintln(c.OutOrStdout(), printable(line)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	server.register(c.Flags())
	addOutput(c, &format, listFormats, "")
	return c
}
