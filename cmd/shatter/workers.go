package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/wording"
)

func workersCommand() *cobra.Command {
	c := asking(&cobra.Command{
		Use: "workers", Short: "List the workers of a server, what they do, and what they cannot do",
		Long: `List the workers that answer on a server: their slots and how many of them work, for which sweeps, where
they run, and what they could not do lately by their own fault. A worker that does not answer within
a second and a half is not listed, and one that is silent for ten seconds has lost its jobs to others.

A worker lists its plugins when somebody calls, and else every ten seconds. Submitters of a secure cluster may
not call: in what they get with -o json, listed has a digest in place of the plugins of those that have not
just listed them. With --plugins, the command waits until each has, for some twelve seconds at most.`,
		Args: cobra.NoArgs,
	}, (*remote).workers, writeWorkers)
	c.Flags().Bool(pluginsFlag, false, "wait until each worker has listed its plugins, which -o json shows")
	return c
}

// pluginsFlag is the name of a flag.
const pluginsFlag = "plugins"

// workers returns what the workers that answer say of themselves, in the order of their names.
func (r *remote) workers(c *cobra.Command, _ []string) (list []*fleet.Worker, err error) {
	roll, wrong := map[string]*fleet.Worker{}, map[string]bool{}
	hear := func(said bus.Announcement) {
		w, err := fleet.Decode(said.Worker, said.Data)
		if err != nil {
			if !wrong[said.Worker] {
				fmt.Fprintf(c.ErrOrStderr(), "shatter: worker %s left out: %s; is it of another version of shatter (%s here)?\n",
					printable(said.Worker), printable(err.Error()), version())
			}
			wrong[said.Worker] = true
			return
		}
		w.Complete(roll[w.Name])
		roll[w.Name] = w
	}
	err = r.within(c.Context(), func(ctx context.Context) error {
		wait, err := c.Flags().GetBool(pluginsFlag)
		for began := time.Now(); err == nil; {
			err = r.conn.Roll(ctx, fleet.Interval+fleet.Interval/2, hear)
			if !wait || !lacks(roll) || time.Since(began) > fleet.Whole+2*fleet.Interval {
				break
			}
		}
		return err
	})
	list = []*fleet.Worker{}
	for _, name := range slices.Sorted(maps.Keys(roll)) {
		list = append(list, roll[name])
	}
	return list, err
}

// lacks reports whether the plugins of some worker are not known. It says them by itself now and then:
// not everybody may call.
func lacks(roll map[string]*fleet.Worker) bool {
	for _, w := range roll {
		if w.Listed != "" {
			return true
		}
	}
	return false
}

// writeWorkers prints a line for each worker, and how many there are.
func writeWorkers(list []*fleet.Worker, c *cobra.Command) error {
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSLOTS\tBUSY\tWAITING\tSWEEPS\tCPU TIME\tSINCE\tPLATFORM\tPROFILE\tREMARKS")
	slots, busy := 0, 0
	for _, x := range list {
		running, sweeps := 0, map[string]bool{}
		for _, h := range x.Held {
			sweeps[h.Sweep] = true
			if h.Running > 0 {
				running++
			}
		}
		slots, busy = slots+x.Slots, busy+running
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", printable(x.Name), x.Slots, running, len(x.Held)-running,
			wording.OneLine(strings.Join(slices.Sorted(maps.Keys(sweeps)), " "), 260), // twenty sweeps
			time.Duration(x.Seconds*float64(time.Second)).Round(time.Second), x.Began.Local().Format(time.DateTime),
			wording.OneLine(x.Platform, 60), wording.OneLine(x.Profile, 60), wording.OneLine(remarks(x), 2000))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.ErrOrStderr(), "%d workers, %s slots, %s of them busy\n",
		len(list), wording.Thousands(float64(slots)), wording.Thousands(float64(busy)))
	return err
}

// remarks says what is special about a worker.
func remarks(x *fleet.Worker) string {
	var list []string
	if x.Leaving {
		list = append(list, "leaving")
	}
	if !x.Until.IsZero() {
		list = append(list, "until "+x.Until.Local().Format(time.DateTime))
	}
	if x.Sandbox != "" {
		list = append(list, "sandbox: "+x.Sandbox)
	}
	for _, r := range x.Refusals {
		list = append(list, fmt.Sprintf("could not run %s (%d times): %s", r.What, r.Faults, r.Reason))
	}
	return strings.Join(list, "; ")
}
