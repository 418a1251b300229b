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

func coordinatorCommand() *cobra.Command {
	var (
		server      serverFlags
		dir         string
		keep, lease time.Duration
		http        httpFlags
		logs        logFlags
	)
	c := &cobra.Command{
		Use:   "coordinator --server URL --dir DIR",
		Short: "Run the sweeps that are submitted to a server",
		Long: `Lead the sweeps that shatter submit leaves on a NATS server, as many as there are, until interrupted. The
trials run on the workers of the server; none run here, and no plugin of others does. Each sweep has its
output folder under --dir.

Several coordinators may serve, here and elsewhere: each sweep is led by one of them. Results stay on the
server until their sweep has ended. When its leader is not heard of for --lease, another one reads them all
and goes on, in a folder of its own. No disk is shared, and nothing has to be moved.

Data, plugins and results that no sweep on the server names any more are removed from it after a day. Sweeps
stay until somebody forgets them with shatter forget, or for --keep after they have ended. The folders under
--dir are never removed.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if dir == "" {
				return wrong("--dir is needed: the folder where this coordinator keeps its sweeps")
			}
			if lease < time.Second {
				return wrong("--lease %v: at least 1s is needed", lease)
			}
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return wrong("no folder can be at %q (%w); choose another with --dir", dir, err)
			}
			log, err := logs.logger(c.ErrOrStderr())
			if err != nil {
				return err
			}
			conn, told, stop, err := http.serve(c.Context(), &server, queue.Coordinator, log)
			if err != nil {
				return err
			}
			defer stop()
			monitor := &lead.Monitor{}
			watchCoordinator(told, conn, monitor)
			log.Info("serving", "server", queue.Redact(server.url), "dir", dir, "name", workerName())
			loader := loader{conn, make(chan struct{}, runtime.NumCPU())}
			return lead.Serve(c.Context(), lead.Config{
				Conn: conn, Dir: dir, Name: workerName(), Load: loader.load, Lease: lease, Log: log,
				Keep: keep, Monitor: monitor,
			})
		},
	}
	flags := c.Flags()
	server.register(flags)
	http.register(flags)
	logs.register(flags)
	flags.StringVar(&dir, "dir", "", "folder for the sweeps' output folders")
	addAge(flags, &keep, "keep", "forget sweeps so long after they have ended, like 30d or 12h (default: never)")
	flags.DurationVar(&lease, "lease", 10*time.Second, "time after which others take over from a silent coordinator")
	return c
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
	resolved, err := p.Digest()
	if err != nil {
		return nil, err
	}
	if resolved != s.Resolved {
		return nil, fmt.Errorf("this release understands the sweep file otherwise than the one that submitted it: "+
			"start a coordinator of that release, or submit the sweep again with this one (%s)", version())
	}
	if p.Seed.Secret() {
		err = p.SetSeed(trial.SweepSeed{Seed: s.Seed})
	}
	return p, err
}
