package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/coordinator/lead"
)

func pauseCommand() *cobra.Command {
	return wishCommand("pause", "Pause a submitted sweep: nothing more of it is handed out until it is resumed",
		func(x *lead.Record, w *lead.Wish) error {
			if w.Do == lead.Cancel {
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
	var budget budgetFlag
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
				w.Budget = budget.Budget
			case x.Wish.Do == lead.Pause && x.Wish.Why != "":
				return usageError{fmt.Errorf("%s: give more with --budget", x.Wish.Why)}
			}
			w.Do = lead.Run
			if x.End != nil && x.End.Failure != "" {
				return checkWeight(wish.Weight)
			}
			return errors.Join(notEnded(x), checkWeight(wish.Weight))
		})
	addWish(c, &wish.Priority, &wish.Weight, &budget)
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
	err = r.within(ctx, func(ctx context.Context) error {
		return lead.ChangeWish(ctx, r.registry, record.ID, func(w *lead.Wish) error {
			w.By, w.At, w.Why = personName(), time.Now().UTC(), ""
			if record.End != nil {
				w.After = record.End.Epoch
			}
			return change(record, w)
		})
	})
	if err != nil {
		return nil, err
	}
	return r.find(ctx, record.ID)
}
