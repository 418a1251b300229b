package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/coordinator"
	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/coordinator/forecast"

	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/plugins/host"

	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/sweep"
)

// sweep is a sweep file that was understood, with the plugins that it uses. Close it.
type understoodSweep struct {
	*plan.Plan
	catalog *host.Catalog
}

func (s *understoodSweep) close() { s.catalog.Close() }

// builtin is how this binary serves its own algorithms: it starts itself under go-plugin, like any other plugin file.
func builtin() (host.Command, error) {
	self, err := os.Executable()
	if err != nil {
		return host.Command{}, fmt.Errorf("find this binary: %w", err)
	}
	return host.Command{Path: self, Args: []string{"plugin", "serve"}}, nil
}

func catalog(files ...string) (*host.Catalog, error) {
	self, err := builtin()
	if err != nil {
		return nil, err
	}
	return host.NewCatalog(self, files...), nil
}

// catalogOf is the catalog with plugin files as they were named on the command line, and their absolute paths.
func catalogOf(files []string) (*host.Catalog, []string, error) {
	paths := make([]string, len(files))
	for i, f := range files {
		var err error
		if paths[i], err = filepath.Abs(f); err != nil {
			return nil, nil, err
		}
	}
	c, err := catalog(paths...)
	return c, paths, err
}

// load reads, checks and resolves a sweep file.
func load(ctx context.Context, path string) (*understoodSweep, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, usageError{fmt.Errorf("read sweep file: %w", err)}
	}
	s, err := understand(ctx, path, src, filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	if s.File, err = filepath.Abs(path); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// understand checks and resolves the text of a sweep file, whose relative paths start at dir.
func understand(ctx context.Context, path string, src []byte, dir string) (*understoodSweep, error) {
	file, err := sweep.Parse(path, src)
	if err != nil {
		return nil, invalid(err)
	}
	plugins, err := file.PluginPaths(dir)
	if err != nil {
		return nil, invalid(err)
	}
	c, err := catalog(plugins...)
	if err != nil {
		return nil, err
	}
	plan, err := plan.Resolve(ctx, file, c, plan.Options{Dir: dir})
	if err != nil {
		c.Close()
		return nil, invalid(err)
	}
	return &understoodSweep{Plan: plan, catalog: c}, nil
}

// invalid makes what is wrong with a sweep file, or with a plugin that it names, the user's to mend.
func invalid(err error) error {
	var start *host.StartError
	if errors.As(err, &start) {
		return usageError{err}
	}
	return err
}

func checkCommand() *cobra.Command {
	return &cobra.Command{
		Use: "check FILE", Short: "Check a sweep file whole and say in words what was understood", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := load(c.Context(), args[0])
			if err != nil {
				return err
			}
			defer s.close()
			warn(c, s.Plan)
			return s.Explain(c.OutOrStdout())
		},
	}
}

type planFlags struct {
	workers  int
	yes, dry bool
	progress progressMode
}

func planCommand() *cobra.Command {
	var f planFlags
	c := &cobra.Command{
		Use:   "plan FILE",
		Short: "Say what a sweep will take: trials, time, bytes, and where they go",
		Long: `Run a few trials of each cell of the sweep in FILE (one at the least sample size, where that is cheap some hundreds, and the same at a few
sizes more) and say what the whole sweep will take: cells, trials, time on --workers workers like those of this machine, bytes, and the dearest
cells. Beside each expectation stand two limits: four times in five the truth lies between them, if success grows about as it mostly does.

What is run for this is not kept: the outcomes are in a temporary folder that is removed. --dry runs nothing and only counts.
On a terminal plan asks before it takes more than ten minutes itself, unless --yes.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args[0]) },
	}
	fs := c.Flags()
	fs.IntVar(&f.workers, "workers", runtime.NumCPU(), "plugin processes that will work at the same time, anywhere")
	fs.BoolVar(&f.dry, "dry", false, "only count cells and trials, at once")
	fs.BoolVar(&f.yes, "yes", false, "do not ask before more than ten minutes")
	f.progress.register(fs)
	return c
}

func (f *planFlags) run(c *cobra.Command, path string) error {
	if f.workers < 1 {
		return usageError{fmt.Errorf("--workers %d: a number from 1 on is needed", f.workers)}
	}
	s, err := load(c.Context(), path)
	if err != nil {
		return err
	}
	defer s.close()
	warn(c, s.Plan)
	if f.dry {
		return writeCounts(c.OutOrStdout(), s.Plan)
	}
	began := time.Now()
	p, err := f.calibrate(c, s)
	if err != nil {
		return err
	}
	if p.Interrupted {
		fmt.Fprintln(c.ErrOrStderr(), "shatter: interrupted; --dry only counts cells and trials, at once")
		return statusError(exitInterrupted)
	}
	return writePrediction(c.OutOrStdout(), p, f.workers, time.Since(began))
}

// calibrate runs a few trials of each cell here, in a folder that is removed.
func (f *planFlags) calibrate(c *cobra.Command, s *understoodSweep) (p *coordinator.Prediction, failed error) {
	dir, err := os.MkdirTemp("", "shatter-plan-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for calibration: %w", err)
	}
	defer func() { failed = errors.Join(failed, os.RemoveAll(dir)) }()
	conn, closeBus, err := connect(c.Context(), "", bus.Options{Name: "shatter plan " + s.Name, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	defer closeBus()
	folder, err := folder.Claim(filepath.Join(dir, "out"), s.Plan, folder.Mode{})
	if err != nil {
		return nil, err
	}
	defer func() { failed = errors.Join(failed, folder.Close()) }()
	ctx, stop := context.WithCancel(c.Context())
	defer stop()
	display := newDisplay(c.ErrOrStderr(), f.progress)
	display.label = "calibrating"
	if !f.yes {
		display.question = newQuestion(c, stop, "calibration alone", "`shatter plan --dry` only counts")
	}
	here := &runFlags{workers: min(f.workers, runtime.NumCPU())}
	err = here.serve(ctx, s, conn, folder, display, func(ctx context.Context, cfg coordinator.Config) (err error) {
		p, err = coordinator.Calibrate(ctx, cfg, f.workers)
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

const dearest = 5 // cells that a plan lists

// writePrediction is what a person wants to know of a sweep beforehand.
func writePrediction(w io.Writer, p *coordinator.Prediction, workers int, took time.Duration) error {
	var b strings.Builder
	say := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "%-8s%s\n", label, fmt.Sprintf(format, args...))
	}
	between := func(r forecast.Range, show func(float64) string) string {
		if show(r.Low) == show(r.High) {
			return show(r.Likely)
		}
		return fmt.Sprintf("%s (%s to %s)", show(r.Likely), show(r.Low), show(r.High))
	}
	say("", "expected, with limits that hold four times in five")
	say("cells", "%s", count(float64(len(p.Cells))))
	if none := withoutTrials(p.Cells); none > 0 {
		say("", "%d of them cannot run a trial: the algorithm refuses their sample sizes, see `shatter run`", none)
	}
	say("trials", "%s", between(p.Trials, digits))
	say("time", "%s on %s like those of this machine", between(p.Time, inWords), plural(workers, "worker", "workers"))
	say("bytes", "%s of ledger, %s of results", between(p.Ledger, inBytes), between(p.Result, inBytes))
	if p.Seconds.Likely > 0 {
		cells := slices.Clone(p.Cells)
		slices.SortStableFunc(cells, func(a, b coordinator.CellPrediction) int { return cmp.Compare(b.Seconds.Likely, a.Seconds.Likely) })
		say("", "")
		say("dearest", "cells, with their share of the time")
		for _, c := range cells[:min(len(cells), dearest)] {
			say("", "%3.0f %%  %s  %s: %s trials, %s of CPU time", 100*c.Seconds.Likely/p.Seconds.Likely, c.Cell, c.What,
				between(c.Trials, digits), between(c.Seconds, inWords))
		}
	}
	say("", "")
	say("", "measured on %s trials in %s; nothing of them is kept", count(float64(p.Calibration)), coordinator.InWords(took))
	text := strings.ReplaceAll(b.String(), "        \n", "\n")
	_, err := io.WriteString(w, text)
	return err
}

// withoutTrials counts the cells of which nothing can be run.
func withoutTrials(cells []coordinator.CellPrediction) (n int) {
	for _, c := range cells {
		if c.Trials.High == 0 {
			n++
		}
	}
	return n
}

// digits is a predicted number to two of them.
func digits(x float64) string { return count(float64(estimate.Roughly(x))) }

func inBytes(x float64) string {
	for _, unit := range []struct {
		name string
		size float64
	}{{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if x >= unit.size {
			return fmt.Sprintf("%s %s", strconv.FormatFloat(math.Round(x/unit.size*10)/10, 'f', -1, 64), unit.name)
		}
	}
	return fmt.Sprintf("%.0f bytes", x)
}

func writeCounts(w io.Writer, p *plan.Plan) error {
	n := p.Counts()
	text := fmt.Sprintf("%d cells, %d trials, at least %d jobs\n", n.Cells, n.Trials, n.Jobs)
	if !n.Exact {
		text = fmt.Sprintf("%d cells, %d to %d trials (a search stops where its cell is decided)\n", n.Cells, n.Trials, n.TrialsMax)
	}
	_, err := io.WriteString(w, text)
	return err
}

func warn(c *cobra.Command, p *plan.Plan) {
	for _, w := range p.Warnings {
		fmt.Fprintf(c.ErrOrStderr(), "shatter: warning: %s\n", w)
	}
}
