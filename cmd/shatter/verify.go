package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/coordinator/audit"
	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/coordinator/pool"
)

type verifyFlags struct {
	sample, base string
	workers      int
	quiet        bool
}

func verifyCommand() *cobra.Command {
	var f verifyFlags
	c := &cobra.Command{
		Use:   "verify DIR",
		Short: "Recompute a result and re-run a sample of its trials",
		Long: `Check the result in DIR: the ledger's checksums; that the ledger has each trial that the tables
count; that the ledger gives the same files again, byte for byte; and that a sample of the recorded
trials, drawn under the sweep's seed, has the same outcomes when it is run again, in a different
order and with other trials. Nothing in DIR changes.
Exit codes: 0 all equal; 3 something differs; 2 DIR holds no result, or one of another version; 1
not all could be checked, or there is nothing to check.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args[0]) },
	}
	c.Flags().StringVar(&f.sample, "sample", "1%",
		"recorded `trials` to run again: a share of each algorithm's trials (at least 20), a total number, or all")
	addWorkers(c, &f.workers, "`number` of plugin processes that work in parallel")
	addBase(c, &f.base)
	c.Flags().BoolVar(&f.quiet, "quiet", false, "no progress")
	return c
}

// parseSample reads the value of --sample: 1%, a number or all.
func parseSample(s string) (audit.Sample, error) {
	share, percent := strings.CutSuffix(s, "%")
	if percent {
		if v, err := strconv.ParseFloat(strings.TrimSpace(share), 64); err == nil && v > 0 && v <= 100 {
			return audit.Sample{Share: v / 100}, nil
		}
	} else if s == "all" {
		return audit.Sample{Share: 1}, nil
	} else if n, err := strconv.ParseInt(s, 10, 64); err == nil && n >= 0 {
		return audit.Sample{Count: n}, nil
	}
	return audit.Sample{}, usageError{
		fmt.Errorf("--sample %q: a share like 1%%, a number like 500, or all is needed", s),
	}
}

func (f *verifyFlags) run(c *cobra.Command, dir string) error {
	sample, err := parseSample(f.sample)
	if err != nil {
		return err
	}
	s, err := f.open(c.Context(), dir, sample)
	if err != nil {
		return err
	}
	defer func() { _ = s.close() }()
	tables, err := s.folder.CheckTables(s.digests)
	if err != nil {
		return err
	}
	report := &verifyReport{w: c.OutOrStdout()}
	report.tables(tables)
	again, err := f.rerun(c, s, sample)
	if err != nil {
		return errors.Join(err, report.err)
	}
	report.again(dir, again)
	if report.err != nil {
		return report.err
	}
	switch {
	case !tables.Equal() || again.Different > 0:
		return statusError(exitIntegrity)
	case again.Lost > 0, tables.Consumed == 0:
		return statusError(exitUnfinished)
	}
	return nil
}

// open opens the folder. Plugins and data files are needed only to run trials again.
func (f *verifyFlags) open(ctx context.Context, dir string, sample audit.Sample) (*session, error) {
	if sample == (audit.Sample{}) && f.base == "" {
		return openKnown(ctx, dir)
	}
	return openFinished(ctx, dir, f.base)
}

// rerun runs the sample again, with progress.
func (f *verifyFlags) rerun(c *cobra.Command, s *session, sample audit.Sample) (found *audit.Result, err error) {
	if sample == (audit.Sample{}) {
		return audit.Verify(c.Context(), s.folder, pool.Config{}, sample, nil)
	}
	mode := progressMode("auto")
	if f.quiet {
		mode = "none"
	}
	display, shown := newDisplay(c.ErrOrStderr(), mode), time.Now()
	defer display.end()
	err = s.workAlone(c.Context(), f.workers, func(cfg pool.Config) (err error) {
		found, err = audit.Verify(c.Context(), s.folder, cfg, sample, func(done, of int64) {
			if now := time.Now(); now.Sub(shown) > 200*time.Millisecond {
				shown = now
				display.rewrite(func() line {
					return line{{fmt.Sprintf("%d of %d trials run again", done, of), ""}}
				})
			}
		})
		return err
	})
	return found, err
}

// A verifyReport writes what verify found, a line for each thing.
type verifyReport struct {
	w   io.Writer
	err error // the first of w
}

func (l *verifyReport) line(format string, args ...any) {
	if l.err == nil {
		_, l.err = fmt.Fprintf(l.w, format+"\n", args...)
	}
}

// tables writes what was found in the folder.
func (l *verifyReport) tables(t *folder.Tables) {
	health := "no damage"
	if len(t.Damaged)+len(t.Repaired) > 0 {
		health = fmt.Sprintf("%d damaged parts", len(t.Damaged)+len(t.Repaired))
	}
	l.line("ledger: %d frames with %d outcomes, %s, %d conflicts", t.Frames, t.Outcomes, health,
		len(t.Conflicts)+len(t.Clashes))
	for _, d := range t.Damaged {
		l.line("  DAMAGED: %s", d)
	}
	for _, d := range t.Repaired {
		l.line("  damaged, and its trials were run again: %s", d)
	}
	for _, x := range t.Conflicts {
		l.line("  CONFLICT: %s", x)
	}
	for _, x := range t.Clashes {
		l.line("  CONFLICT: %s", x)
	}
	for _, x := range t.Contradictions {
		l.line("  WITHHELD: %s", x)
	}
	for _, line := range t.Others {
		l.line("plugins: %s", line)
	}
	if t.Open > 0 {
		l.line("files: not compared, because the ledger leaves %d cells UNDECIDED, the first is %s; "+
			"run the sweep again to make the missing ones again", t.Open, t.FirstOpen)
		return
	}
	if t.Partial != "" {
		l.line("partial: %s", t.Partial)
	}
	if t.Consumed == 0 {
		l.line("trials: the result counts NONE, so there is nothing to verify; run the sweep on")
	} else {
		l.line("trials: all %d that the result counts are in the ledger", t.Consumed)
	}
	different := t.Different()
	l.line("files: %d of %d are equal to those made again, byte for byte", len(t.Files)-len(different), len(t.Files))
	for _, f := range different {
		l.line("  DIFFERENT: %s: %s", f.Name, f.Difference)
	}
	l.line("not compared: report.html, timing.parquet, manifest.json without its digest")
	switch t.Manifest {
	case t.Digest:
		l.line("digest of the files made again: %s, as the manifest says", t.Digest)
	case "":
		l.line("digest of the files made again: %s; the manifest gives NONE", t.Digest)
	default:
		l.line("digest of the files made again: %s; the manifest says DIFFERENTLY %s", t.Digest, t.Manifest)
	}
}

// again writes how the trials came out that were run again.
func (l *verifyReport) again(dir string, x *audit.Result) {
	if x.Again == 0 {
		l.line("again: no trial was run again")
		return
	}
	if x.Different+x.Lost == 0 {
		l.line("again: %d of %d recorded trials were run again: all are equal to the last bit", x.Again, x.Recorded)
		return
	}
	l.line("again: %d of %d recorded trials were run again: %d equal, %d different, %d lost",
		x.Again, x.Recorded, x.Again-x.Different-x.Lost, x.Different, x.Lost)
	if x.Different > 0 {
		l.line("  DIFFERENT: trial %s: %s: %s; see shatter trial %s %s", x.First, x.What, x.Cause, dir, x.First)
	}
	if x.Lost > 0 {
		l.line("  lost: trial %s", x.FirstLost)
	}
}
