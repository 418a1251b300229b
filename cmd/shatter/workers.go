package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/wording"
)

func workersCommand() *cobra.Command {
	return asking(&cobra.Command{
		Use: "workers", Short: "List the workers of a server and their refusals",
		Long: `List the workers of a server by their last heartbeats: their slots and how many of them work, for
which sweeps, where they run, and why they lease no jobs of a sweep, if so. A worker without a
heartbeat for ten seconds is not listed, and its leases have ended: its jobs are delivered to
others.`,
		Args: cobra.NoArgs,
	}, (*remote).workers, writeWorkers)
}

// workers returns the heartbeats of the workers, in the order of their names.
func (r *remote) workers(c *cobra.Command, _ []string) (list []*fleet.Worker, err error) {
	return r.heartbeats(c.Context(), c.ErrOrStderr())
}

// heartbeats returns the heartbeats of the workers, and describes those that it cannot read on stderr.
func (r *remote) heartbeats(ctx context.Context, stderr io.Writer) (list []*fleet.Worker, err error) {
	all := map[string]*fleet.Worker{}
	err = r.within(ctx, func(ctx context.Context) error {
		return r.conn.Workers(ctx, func(said queue.Heartbeat) {
			w, err := fleet.Decode(said.Worker, said.Data)
			if err != nil {
				fmt.Fprintf(stderr, "shatter: worker %s left out: %s; is it of another version of shatter (%s here)?\n",
					printable(said.Worker), printable(err.Error()), version())
				return
			}
			w.Seen = said.At
			all[w.Name] = w
		})
	})
	list = []*fleet.Worker{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[name])
	}
	return list, err
}

// writeWorkers prints a line for each worker, and how many there are.
func writeWorkers(list []*fleet.Worker, c *cobra.Command) error {
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSLOTS\tBUSY\tWAITING\tSWEEPS\tCPU TIME\tSINCE\tPLATFORM\tPROFILE\tREMARKS")
	slots, busy := 0, 0
	for _, x := range list {
		running, sweeps := x.Busy(), map[string]bool{}
		for _, h := range x.Held {
			sweeps[h.Sweep] = true
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

// remarks lists facts about a worker that most workers do not share.
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
	for _, digest := range slices.Sorted(maps.Keys(x.Environments)) {
		list = append(list, fmt.Sprintf("plugin %.8s with %s", digest, x.Environments[digest]))
	}
	for _, r := range x.Refusals {
		text := fmt.Sprintf("could not run %s for %s: %s", r.What, r.Sweep, r.Reason)
		if !r.Never {
			text += fmt.Sprintf(" (%d times)", r.Faults)
		}
		list = append(list, text)
	}
	return strings.Join(list, "; ")
}
