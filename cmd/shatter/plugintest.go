package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/plugins/plugintest"
)

func pluginTestCommand() *cobra.Command {
	return &cobra.Command{
		Use: "test [FILE]", Short: "Run the acceptance suite on a plugin file, or on the built-in algorithms",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			all, paths, err := catalogOf(args)
			if err != nil {
				return err
			}
			defer all.Close()
			cmd, err := all.Command(append(paths, "")[0])
			if err != nil {
				return blamePlugin(err)
			}
			failed := 0
			for _, r := range plugintest.Test(c.Context(), cmd) {
				verdict := "ok  "
				if r.Err != nil {
					verdict, failed = "FAIL", failed+1
				}
				fmt.Fprintf(c.OutOrStdout(), "%s  %s  %s  %s\n", verdict, r.Algorithm, r.Setting, r.Check)
				if r.Err != nil {
					fmt.Fprintf(c.OutOrStdout(), "      %v\n", r.Err)
				}
			}
			if failed > 0 {
				fmt.Fprintf(c.ErrOrStderr(), "shatter: %d checks failed\n", failed)
				return statusError(exitUnfinished)
			}
			return nil
		},
	}
}
