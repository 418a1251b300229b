package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/coordinator"
	"github.com/shatterlab/shatter/coordinator/lead"
	"github.com/shatterlab/shatter/schemas"
)

type submitFlags struct {
	serverFlags
	wait     bool
	progress progressMode
	priority int
	weight   float64
	budget   coordinator.Budget
	format   string
}

func submitCommand() *cobra.Command {
	var f submitFlags
	c := &cobra.Command{
		Use:   "submit FILE",
		Short: "Submit a sweep to a cluster",
		Long: `Check the sweep in FILE, upload all its files to the NATS server, and leave: a coordinator of that
server runs it on the server's workers. The sweep's id is printed on stdout. It identifies the
content of file, data and plugins: submitting the same content again changes nothing, and prints a
note.

shatter status, watch, logs, pause, resume, cancel and results take the id, or enough of its
beginning. With --wait, submit stays and shows the progress until the sweep has ended, and its exit
code is that of shatter run. Leaving it with Ctrl-C does not stop the sweep.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return f.submit(c, args[0]) },
	}
	flags := c.Flags()
	f.register(flags)
	f.progress.register(flags)
	flags.BoolVar(&f.wait, "wait", false, "progress until the sweep has ended")
	addDesiredState(c, &f.priority, &f.weight, &f.budget)
	addOutput(c, &f.format, listFormats, "")
	return c
}

// addDesiredState adds the flags for the priority, weight and budget of a sweep.
func addDesiredState(c *cobra.Command, priority *int, weight *float64, budget *coordinator.Budget) {
	flags := c.Flags()
	flags.IntVar(priority, "priority", 0, "`priority` of the sweep; sweeps with a greater one go first")
	flags.Float64Var(weight, "weight", 1,
		"`share` of the workers' time, relative to other sweeps of the same priority")
	addBudget(flags, budget,
		"limit after which the sweep is paused: trials (50000) or worker time (2h) (default none)")
}

// checkWeight refuses a weight that is no share.
func checkWeight(weight float64) error {
	if err := lead.CheckWeight(weight); err != nil {
		return wrong("--%w", err)
	}
	return nil
}

// submitted is the JSON form of a submission.
type submitted struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	New  bool   `json:"new"`  // false: the same content was submitted before
	Kept bool   `json:"kept"` // it was to be deleted, and now is not

	was *sweepStatus // its status if it was submitted before
}

func (f *submitFlags) submit(c *cobra.Command, path string) error {
	if err := checkWeight(f.weight); err != nil {
		return err
	}
	s, err := load(c.Context(), c.InOrStdin(), []string{path})
	if err != nil {
		return err
	}
	defer func() { _ = s.close() }()
	if err := s.kept.Close(); err != nil { // no worker is here
		return err
	}
	s.warn(c)
	server, err := f.open(c)
	if err != nil {
		return err
	}
	defer server.close()
	submission, err := server.put(c.Context(), s)
	if err != nil {
		return err
	}
	desired := lead.DesiredState{
		Do: lead.Run, Priority: f.priority, Weight: f.weight, Budget: f.budget, By: personName(),
		At: time.Now().UTC(),
	}
	out := submitted{ID: submission.ID(), Name: submission.Name}
	err = server.within(c.Context(), func(ctx context.Context) (err error) {
		out.New, out.Kept, err = lead.Submit(ctx, server.registry, submission, desired)
		return err
	})
	if err != nil {
		return err
	}
	if !out.New && !out.Kept {
		record, err := server.find(c.Context(), out.ID)
		if err == nil {
			out.was, err = server.status(c.Context(), record)
		}
		if err != nil {
			return err
		}
	}
	if err := f.print(c, out); err != nil || !f.wait {
		return err
	}
	return (&watcher{c, server, newDisplay(c.ErrOrStderr(), f.progress)}).watch(out.ID)
}

func (f *submitFlags) print(c *cobra.Command, out submitted) error {
	if f.format == "json" {
		return writeJSON(c.OutOrStdout(), out)
	}
	switch {
	case out.New:
		fmt.Fprintf(c.ErrOrStderr(), "submitted %q; shatter watch %s shows how it goes\n", out.Name, out.ID)
	case out.Kept:
		fmt.Fprintf(c.ErrOrStderr(), "%q was to be deleted, and is kept with what it has found; "+
			"shatter status %s says how it stands\n", out.Name, out.ID)
	default:
		fmt.Fprintf(c.ErrOrStderr(), "%q was submitted before with the same content, and nothing was changed: it %s%s; %s\n",
			out.Name, stands(out.was.State), because(out.was.Reason), out.was.next())
	}
	_, err := fmt.Fprintln(c.OutOrStdout(), out.ID)
	return err
}

// put stores on the server all that a sweep needs, and returns the submission that names it.
func (r *remote) put(ctx context.Context, s *session) (*lead.Submission, error) {
	s.forgetEnvironments()
	out := &lead.Submission{
		Name: s.Name, Resolved: s.Digest(), Plugins: s.digests, Data: map[string]string{}, File: s.File,
		Seed: s.Seed.Seed, Cells: len(s.Cells), By: personName(), At: time.Now().UTC(),
	}
	for _, c := range s.Cells {
		if file, digest := c.Problem.File(); digest != "" {
			out.Data[file] = digest
		}
	}
	if !out.Seed.Drawn() {
		seed, err := schemas.DrawSeed()
		if err != nil {
			return nil, err
		}
		out.Seed = seed
	}
	content, err := s.publish(ctx, r.conn)
	if err != nil {
		return nil, err
	}
	saved, err := s.Encode(s.digests)
	if err != nil {
		return nil, err
	}
	out.Plan, err = r.conn.Files.PutBytes(ctx, saved)
	out.Content = append(content, out.Plan)
	return out, err
}
