package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/result/query"
	"github.com/shatterlab/shatter/pipeline/result/render"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

func schemaCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "schema [sweep|result]",
		Short: "Print the JSON Schema of sweep files, or the columns of result files",
		Long: `Print the JSON Schema of sweep files, with which an editor completes and checks them:

  shatter schema > sweep.schema.json

and, as the first line of a sweep file in the same folder,

  # yaml-language-server: $schema=sweep.schema.json

schema result prints the columns of the result files; shatter query DIR --schema those of one result.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			out := c.OutOrStdout()
			what := "sweep"
			if len(args) > 0 {
				what = args[0]
			}
			switch what {
			case "sweep":
				if c.Flags().Changed("output") {
					return usageError{fmt.Errorf("-o does not apply to the schema of sweep files, which is JSON; leave it out")}
				}
				_, err := out.Write(schemas.SweepSchema)
				return err
			case "result":
				if err := checkOutput(out, format, query.Formats()); err != nil {
					return err
				}
				return render.Render(query.Describe(resultViews()), out, format)
			}
			return usageError{fmt.Errorf("schema of %q%s", what, wording.DidYouMean(what, []string{"sweep", "result"}))}
		},
	}
	addOutput(c, &format, query.Formats(), ", for schema result")
	return c
}

// resultViews returns the files of a result with all columns that they may have.
func resultViews() (views []query.View) {
	for _, file := range result.Files() {
		views = append(views, query.View{Name: file, Columns: result.Columns(file)})
	}
	return views
}
