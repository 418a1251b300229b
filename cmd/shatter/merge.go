package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/wording"
)

func mergeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "merge DIR FROM...", Short: "Add the trials of other folders of the same sweep",
		Args: cobra.MinimumNArgs(2),
		Long: `Add to the folder DIR the trials that the folders FROM hold of the same sweep: the same sweep file,
seed and data. Running the sweep again with --out DIR then runs only what is still missing, and
writes the result, which is that of one run. A trial with two different outcomes is an integrity
alarm: exit code 3.`,
		RunE: func(c *cobra.Command, args []string) error { return merge(c, args[0], args[1:]) },
	}
}

func merge(c *cobra.Command, dir string, from []string) (failed error) {
	into, err := openKnown(c.Context(), dir)
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, into.close()) }()
	f, err := folder.Claim(dir, into.Plan, folder.Mode{})
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, f.Close()) }()
	for _, name := range from {
		if err := mergeFrom(c, f, name); err != nil {
			return err
		}
	}
	conflicts, clashes := result.Alarms(f.Plan.Cells, f.Ledger)
	for _, alarm := range slices.Concat(conflicts, clashes) {
		fmt.Fprintf(c.ErrOrStderr(), "shatter: integrity alarm: %s\n", printable(alarm))
	}
	if len(conflicts)+len(clashes) > 0 {
		return statusError(exitIntegrity)
	}
	fmt.Fprintf(c.ErrOrStderr(), "run the sweep again with --out %s, which writes the result\n", wording.ShellWord(dir))
	return nil
}

// mergeFrom adds the trials of the folder called name to f.
func mergeFrom(c *cobra.Command, f *folder.Folder, name string) (failed error) {
	other, err := openKnown(c.Context(), name)
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, other.close()) }()
	if err := f.CheckMerge(other.folder); err != nil {
		return usageError{err}
	}
	added, err := f.Merge(other.folder)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.ErrOrStderr(), "%s trials added from %s\n", wording.Thousands(float64(added)), name)
	return nil
}
