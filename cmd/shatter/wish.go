package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/coordinator/lead"
	"github.com/shatterlab/shatter/pipeline/queue"
)

func pauseCommand() *cobra.Command {
	return wishCommand("pause", "Pause a submitted sweep: nothing more of it is handed out until it is resumed",
		func(x *lead.Record, w *lead.Wish) error {
			if w.Do == lead.Cancel || w.Do == lead.Forget {
				return usageError{fmt.Errorf("sweep %s was cancelled; shatter resume %s goes on with it", x.ID, x.ID)}
			}
			w.Do = lead.Pause
			return notEnded(x)
		})
}

func cancelCommand() *cobra.Command {
	return wishCommand("cancel", "Cancel a submitted sweep; what it has found is kept",
		func(x *lead.Record, w *lead.Wish) error {
			w.Do = lead.Cancel
			return notEnded(x)
		})
}

func resumeCommand() *cobra.Command {
	var wish lead.Wish
	var c *cobra.Command
	c = wishCommand("resume", "Go on with a sweep that is paused, was cancelled or has failed",
		func(x *lead.Record, w *lead.Wish) error {
			flags := c.Flags()
			if flags.Changed("priority") {
				w.Priority = wish.Priority
			}
			if flags.Changed("weight") {
				w.Weight = wish.Weight
			}
			switch {
			case flags.Changed("budget"):
				w.Budget = wish.Budget
			case x.Wish.Do == lead.Pause && x.Wish.Spent:
				return usageError{fmt.Errorf("%s: give more with --budget", x.Wish.Why)}
			}
			w.Do = lead.Run
			if x.End != nil && x.End.Failure != "" {
				return checkWeight(wish.Weight)
			}
			return errors.Join(notEnded(x), checkWeight(wish.Weight))
		})
	c.Long = c.Short + `.
With --priority, --weight or --budget, change what it may take, also of one that runs; what is not given
stays as it was wished.`
	addWish(c, &wish.Priority, &wish.Weight, &wish.Budget)
	return c
}

func forgetCommand() *cobra.Command {
	c := wishCommand("forget", "Forget a submitted sweep that is done, was cancelled or has failed",
		func(x *lead.Record, w *lead.Wish) error {
			if x.End == nil && w.Do != lead.Cancel && w.Do != lead.Forget {
				return usageError{fmt.Errorf("sweep %s has not ended; shatter cancel %s ends it", x.ID, x.ID)}
			}
			w.Do = lead.Forget
			return nil
		})
	c.Long = c.Short + `: a coordinator takes it out of the
list at once, and a day later removes from the server what no other sweep names, its results among it. Fetch
them before with shatter results. Output folders, those of coordinators too, stay as they are. Until it has
vanished, submitting the same content again keeps it; afterwards that begins a new sweep, which goes on from
what the folders of coordinators have.

` + statesHelp
	return c
}

// notEnded refuses a wish for a sweep that has ended.
func notEnded(x *lead.Record) error {
	if x.End == nil {
		return nil
	}
	return usageError{fmt.Errorf("sweep %s has ended; shatter results %s --out DIR fetches what it has found", x.ID, x.ID)}
}

// wishCommand returns a command that changes what is wished of a sweep.
func wishCommand(verb, short string, change func(*lead.Record, *lead.Wish) error) *cobra.Command {
	return asking(&cobra.Command{
		Use: verb + " ID", Short: short, Args: cobra.ExactArgs(1),
	}, func(r *remote, c *cobra.Command, args []string) (*sweepStatus, error) {
		record, err := r.wish(c.Context(), args[0], change)
		if err != nil {
			return nil, err
		}
		return r.status(c.Context(), record)
	}, (*sweepStatus).write)
}

// wish changes what is wished of a sweep, and returns its record afterwards.
func (r *remote) wish(
	ctx context.Context, id string, change func(*lead.Record, *lead.Wish) error,
) (*lead.Record, error) {
	record, err := r.find(ctx, id)
	if err != nil {
		return nil, err
	}
	var wished lead.Wish
	err = r.within(ctx, func(ctx context.Context) error {
		return lead.ChangeWish(ctx, r.registry, record.ID, func(w *lead.Wish) error {
			w.By, w.At, w.Why, w.Spent = personName(), time.Now().UTC(), "", false
			if record.End != nil {
				w.After = record.End.Epoch
			}
			err := change(record, w)
			wished = *w
			return err
		})
	})
	if refused, ok := errors.AsType[usageError](err); ok {
		return nil, refused
	}
	if err != nil {
		return nil, err
	}
	after, err := r.find(ctx, record.ID)
	if unknown := (*queue.IDError)(nil); errors.As(err, &unknown) { // it is forgotten already
		after, err = record, nil
		after.Wish = wished
	}
	return after, err
}
