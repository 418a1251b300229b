package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/coordinator"
	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/coordinator/pool"
	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/wording"
)

type planFlags struct {
	workers  int
	dry      bool
	progress progressMode
}

func checkCommand() *cobra.Command {
	return &cobra.Command{
		Use: "check FILE [KEY=VALUE...]", Short: "Check a sweep file and describe its plan",
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := load(c.Context(), c.InOrStdin(), args)
			if err != nil {
				return err
			}
			defer func() { _ = s.close() }()
			s.warn(c)
			out := c.OutOrStdout()
			return s.Explain(out, cmp.Or(terminalWidth(out), textWidth))
		},
	}
}

func planCommand() *cobra.Command {
	var f planFlags
	c := &cobra.Command{
		Use:   "plan FILE [KEY=VALUE...]",
		Short: "Predict the trials and time of a sweep",
		Long: `Run a pilot for each algorithm and problem of the sweep in FILE (16 trials at two sample sizes) and
predict, within about a factor of three: trials, time on --workers workers like those of this
machine, and the most expensive cells. Seconds per trial are taken to be a line in n. The trials of
a search follow from its "within" and the number of cells.

The outcomes of the pilot are not kept. --dry runs nothing and only counts.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	flags := c.Flags()
	addWorkers(c, &f.workers, "`number` of plugin processes that will work in parallel, on all machines")
	flags.BoolVar(&f.dry, "dry", false, "counts of cells and trials only, without a pilot")
	f.progress.register(flags)
	return c
}

func (f *planFlags) run(c *cobra.Command, args []string) (failed error) {
	s, err := load(c.Context(), c.InOrStdin(), args)
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, s.close()) }()
	s.warn(c)
	if f.dry {
		return writeCounts(c.OutOrStdout(), s.Plan)
	}
	began := time.Now()
	p, err := f.predict(c, s)
	if err != nil {
		return err
	}
	if p.Interrupted {
		fmt.Fprintln(c.ErrOrStderr(), "shatter: interrupted; --dry only counts cells and trials, at once")
		return statusError(exitInterrupted)
	}
	return writePrediction(c.OutOrStdout(), p, f.workers, time.Since(began))
}

// predict runs the pilot in this process, in a folder that is removed.
func (f *planFlags) predict(c *cobra.Command, s *session) (p *coordinator.Prediction, err error) {
	ctx, log := c.Context(), slog.New(slog.DiscardHandler)
	dir, err := os.MkdirTemp("", "shatter-plan-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the pilot: %w", err)
	}
	s.onClose(func() error { return os.RemoveAll(dir) })
	if err := s.connect(ctx, "", queue.Options{Name: "shatter plan " + s.Name, Log: log}); err != nil {
		return nil, err
	}
	if err := s.claim(filepath.Join(dir, "out"), folder.Mode{}); err != nil {
		return nil, err
	}
	display := newDisplay(c.ErrOrStderr(), f.progress)
	display.label = "pilot"
	m := newRunMonitor(s.folder, display, log)
	cfg := m.config(s, 1) // each worker pays for the start of a process
	err = s.work(ctx, 1, cfg.Config, &m.workers, func(pool pool.Config) (err error) {
		cfg.Config = pool
		p, err = coordinator.Predict(ctx, cfg, f.workers)
		return err
	})
	display.end()
	if err == nil && f.progress != "none" {
		for _, x := range p.Failures {
			display.failure(x)
		}
	}
	return p, err
}

const maxExpensiveListed = 5

// writePrediction writes the predicted trials and time of a sweep.
func writePrediction(w io.Writer, p *coordinator.Prediction, workers int, took time.Duration) error {
	var b strings.Builder
	write := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "%-8s%s\n", label, fmt.Sprintf(format, args...))
	}
	write("cells", "%s", wording.Thousands(float64(len(p.Cells))))
	refused, trivial := cellsWithoutTrials(p.Cells)
	if trivial > 0 {
		write("", "%d of them are trivial: a learner without data succeeds often enough, and nothing is run", trivial)
	}
	if refused > 0 {
		write("", "%d of them cannot run a trial: the algorithm refuses their sample sizes, see `shatter run`", refused)
	}
	write("trials", "about %s, within a factor of three", roughCount(p.Trials))
	write("time", "about %s on %s like those of this machine, within a factor of three",
		roughSeconds(p.Time), wording.Count(workers, "worker"))
	if p.Seconds > 0 {
		b.WriteByte('\n')
		write("", "the most expensive cells, with their share of the time")
		for _, c := range mostExpensive(p.Cells) {
			write("", "%3.0f %%  %s  %s: %s trials, %s of worker time", 100*c.Seconds/p.Seconds,
				c.Cell, c.What, roughCount(c.Trials), roughSeconds(c.Seconds))
		}
	}
	b.WriteByte('\n')
	write("", "measured on %s trials in %s; none of them is kept",
		wording.Thousands(float64(p.Pilot)), wording.RoughDuration(took))
	_, err := io.WriteString(w, b.String())
	return err
}

// mostExpensive returns the cells that take the most time, in descending order.
func mostExpensive(cells []coordinator.CellPrediction) []coordinator.CellPrediction {
	cells = slices.Clone(cells)
	slices.SortStableFunc(cells, func(a, b coordinator.CellPrediction) int { return cmp.Compare(b.Seconds, a.Seconds) })
	return cells[:min(len(cells), maxExpensiveListed)]
}

// cellsWithoutTrials counts the cells of which nothing can be run, and those of which nothing need
// be run.
func cellsWithoutTrials(cells []coordinator.CellPrediction) (refused, trivial int) {
	for _, c := range cells {
		switch {
		case c.Trivial:
			trivial++
		case c.Trials == 0:
			refused++
		}
	}
	return refused, trivial
}

// writeCounts writes how many cells and trials a sweep has.
func writeCounts(w io.Writer, p *plan.Plan) error {
	n := p.Counts()
	text := fmt.Sprintf("%d cells, %d trials\n", n.Cells, n.Trials)
	if !n.Exact {
		text = fmt.Sprintf("%d cells, %d to %d trials (a search stops where its cell is decided)\n",
			n.Cells, n.Trials, n.TrialsMax)
	}
	_, err := io.WriteString(w, text)
	return err
}
