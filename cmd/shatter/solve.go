package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/result/render"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// solveFlags holds the flags of solve.
type solveFlags struct {
	format   string
	where    whereFlag
	question result.Question
	width    int
}

func solveCommand() *cobra.Command {
	var f solveFlags
	c := &cobra.Command{
		Use: "solve DIR", Short: "Say which n, epsilon, noise rate, ... suffices, as far as a result certifies it",
		Args: cobra.ExactArgs(1),
		Long: `Answer from the certified brackets of a result. With --n: which value of the one number that is left open is
sufficient with that many examples, and which is not. Without: which n. All answers hold together with
the confidence of the table, if success never falls as n grows and goes one way with the number. What no
bracket certifies is said, and not guessed: values between those that were measured have no answer. Of
games, task online, it answers what their searches (find: rounds) have found, and takes no --n.

  shatter solve shatter-out/em --n 2000 --alpha 0.1
  shatter solve shatter-out/em --alpha 0.1 --epsilon 0.5`,
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args[0]) },
	}
	addOutput(c, &f.format, render.Names(), "")
	c.Flags().Int64Var(&f.question.N, "n", 0, "the sample size (default: it is what is asked for)")
	c.Flags().StringVar(&f.question.For, "for", "", "the column that is asked for, where rows differ in several numbers")
	for _, k := range trial.KeyColumns() {
		if k.Has(trial.Quantity) {
			c.Flags().Float64(flagOf(k.Name), 0, "its value: "+k.Doc)
		}
	}
	f.where.add(c)
	addWidth(c, &f.width)
	return c
}

// flagOf returns the flag of a column.
func flagOf(column string) string { return strings.ReplaceAll(column, "_", "-") }

// run answers the question of the flags.
func (f *solveFlags) run(c *cobra.Command, dir string) error {
	if err := checkOutput(c.OutOrStdout(), f.format, render.Names()); err != nil {
		return err
	}
	if c.Flags().Changed("n") && f.question.N < 1 {
		return usageError{fmt.Errorf("--n %d: a sample size is at least 1", f.question.N)}
	}
	if err := checkWidth(f.width, f.format); err != nil {
		return err
	}
	for _, k := range trial.KeyColumns() {
		if name := flagOf(k.Name); k.Has(trial.Quantity) && c.Flags().Changed(name) {
			value, err := c.Flags().GetFloat64(name)
			if err != nil {
				return err
			}
			f.question.Given = append(f.question.Given, result.Value{Column: k.Name, Value: value})
		}
	}
	known, err := openResult(c, dir)
	if err != nil {
		return err
	}
	defer known.close()
	table, err := sheet.ReadTable(known.Dir, "table")
	if err != nil {
		return explainRead(dir, err)
	}
	if table, err = f.where.filter(table); err != nil {
		return err
	}
	answer, err := result.Solve(table, f.question, plan.Rises)
	if err != nil {
		return usageError{fmt.Errorf("solve %s: %w", dir, err)}
	}
	return renderSheet(c.OutOrStdout(), answer, f.format, render.View{Width: f.width})
}
