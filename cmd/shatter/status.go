package main

import (
	"cmp"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/wording"
)

func statusCommand() *cobra.Command {
	return asking(&cobra.Command{
		Use: "status ID", Short: "Say how a submitted sweep stands, and why nothing moves",
		Long: "Say how a submitted sweep stands. " + statesHelp, Args: cobra.ExactArgs(1),
	}, func(r *remote, c *cobra.Command, args []string) (*sweepStatus, error) {
		record, err := r.find(c.Context(), args[0])
		if err != nil {
			return nil, err
		}
		return r.status(c.Context(), record)
	}, (*sweepStatus).write)
}

// mostShown is the number of letters of a line about a sweep, in which others have written names and reasons.
const mostShown = 1000

// write prints the status, a line for each thing.
func (s *sweepStatus) write(c *cobra.Command) error {
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	say := func(what, text string) {
		if text != "" {
			fmt.Fprintf(w, "%s\t%s\n", what, wording.OneLine(text, mostShown))
		}
	}
	say("sweep", s.ID+" "+s.Name)
	say("state", s.State)
	say("why", s.Reason)
	if s.Decided != nil {
		say("cells", s.cells()+" done"+s.unfinished())
	}
	if s.Trials != nil {
		say("trials", s.trials()+s.counted())
	}
	if s.Reason == "" && s.answer != nil && s.answer.Progress != nil {
		say("now", (&display{}).line(*s.answer.Progress).String())
	}
	if s.answer != nil && s.answer.Progress != nil && s.answer.Progress.Refused > 0 {
		say("dropped", fmt.Sprintf("%d results of workers that were unfit", s.answer.Progress.Refused))
	}
	say("digest", s.Digest)
	if s.Leader != "" {
		say("leader", fmt.Sprintf("%s, epoch %d", s.Leader, s.Epoch))
	}
	say("share", fmt.Sprintf("priority %d, weight %v", s.Priority, cmp.Or(s.Weight, 1)))
	say("budget", s.Budget)
	say("submitted", fmt.Sprintf("%s by %s from %s", s.At.Local().Format(time.DateTime), s.By, s.File))
	if !s.Shipped.IsZero() {
		say("shipped", s.Shipped.Local().Format(time.DateTime))
	}
	return w.Flush()
}
