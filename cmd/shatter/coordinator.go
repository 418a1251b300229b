package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/coordinator"
	"github.com/shatterlab/shatter/coordinator/lead"
	"github.com/shatterlab/shatter/coordinator/pool"
	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// coordinatorFlags holds the flags of coordinator.
type coordinatorFlags struct {
	processFlags
	lead.Config
}

func coordinatorCommand() *cobra.Command {
	var f coordinatorFlags
	c := &cobra.Command{
		Use:   "coordinator --server URL --dir DIR",
		Short: "Lead the sweeps that are submitted to a server",
		Long: `Lead all sweeps that were submitted to a NATS server, until interrupted. Trials and plugins run on
the workers of the server, not in the coordinator. Each sweep has its output folder under --dir.

Several coordinators may serve on several machines: one of them leads each sweep. Results stay on
the server until their sweep has ended. If its leader does not renew its lease for --lease, another
one reads all results and continues, in a folder of its own. No disk is shared, and nothing has to
be moved.

Data, plugins and results that no sweep on the server names any more are removed from it after a
day. Sweeps stay until shatter delete removes them, or for --keep after they have ended. The folders
under --dir are never removed.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	flags := c.Flags()
	f.register(flags)
	f.http.registerControl(flags)
	flags.StringVar(&f.Dir, "dir", "", "`folder` for the sweeps' output folders (required)")
	addAge(flags, &f.Keep, "keep", "`age` at which ended sweeps are deleted, like 30d or 12h (default never)")
	flags.DurationVar(&f.Lease, "lease", 10*time.Second,
		"`time` without a renewal after which another coordinator takes over")
	return c
}

func (f *coordinatorFlags) run(c *cobra.Command) error {
	if f.Dir == "" {
		return wrong("--dir is needed: the folder where this coordinator keeps its sweeps")
	}
	if f.Lease < time.Second {
		return wrong("--lease %v: at least 1s is needed", f.Lease)
	}
	if err := os.MkdirAll(f.Dir, 0o755); err != nil {
		return wrong("no folder can be at %q (%w); choose another with --dir", f.Dir, err)
	}
	p, err := f.serve(c, queue.Coordinator)
	if err != nil {
		return err
	}
	defer p.close()
	f.Conn, f.Log, f.Name, f.Monitor = p.conn, p.log, workerName(), &lead.Monitor{}
	f.Load = loader{p.conn, make(chan struct{}, runtime.NumCPU())}.load
	watchCoordinator(p.http, p.conn, f.Monitor, f.Dir)
	if p.http != nil {
		f.Page = p.http.URL
	}
	p.log.Info("serving", "server", queue.Redact(f.server.url), "dir", f.Dir, "name", f.Name)
	return lead.Serve(c.Context(), f.Config)
}

// loader makes sweeps of what was submitted.
type loader struct {
	conn     *queue.Conn
	decoding chan struct{} // holds as many sweeps as are decoded at a time: each takes a core, and memory
}

func (l loader) load(ctx context.Context, s *lead.Submission) (*lead.Sweep, error) {
	saved, err := l.conn.Files.FetchBytes(ctx, s.Plan)
	if err != nil {
		return nil, fmt.Errorf("fetch the plan: %w", err)
	}
	select {
	case l.decoding <- struct{}{}:
		defer func() { <-l.decoding }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	p, err := decode(s, saved)
	if err != nil {
		return nil, err
	}
	return &lead.Sweep{
		Plan: p, Saved: saved,
		Config: coordinator.Config{
			Config: pool.Config{Digests: s.Plugins}, Recheck: defaultRecheck,
			Facts: map[string]string{
				"command": "coordinator", "file": s.File, "queue": "external", "submitted": cmp.Or(s.By, "unknown"),
				"version": version(), "host": workerName(), "cores": fmt.Sprint(runtime.NumCPU()),
			},
		},
	}, nil
}

// decode returns the plan of a submission.
func decode(s *lead.Submission, saved []byte) (*plan.Plan, error) {
	p, _, err := plan.Decode(saved)
	if err != nil {
		return nil, fmt.Errorf("the plan as %s submitted it: %w", s.By, err)
	}
	p.File = s.File
	if p.Digest() != s.Resolved {
		return nil, fmt.Errorf("this release understands the sweep file otherwise than the one that submitted it: "+
			"start a coordinator of that release, or submit the sweep again with this one (%s)", version())
	}
	if p.Seed.Secret() {
		err = p.SetSeed(trial.SweepSeed{Seed: s.Seed})
	}
	return p, err
}
