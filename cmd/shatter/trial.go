package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/coordinator"
	"github.com/shatterlab/shatter/coordinator/folder"

	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/sweep"
)

// reading is a sweep's output folder that is read and not changed, with the sweep that it holds. Close it.
type reading struct {
	*understoodSweep
	folder   *folder.Folder
	commands map[string]host.Command
	config   coordinator.Config
}

func (r *reading) close() {
	_ = r.folder.Close() // it was only read
	r.understoodSweep.close()
}

// openReading opens an output folder. Relative paths of its sweep file start at base; empty: where the sweep file was.
func openReading(ctx context.Context, dir, base string) (*reading, error) {
	record, err := folder.ReadRecord(dir)
	if err != nil {
		return nil, outdated(err, nil)
	}
	from := base
	if from == "" {
		from = filepath.Dir(record.File)
	}
	s, err := understand(ctx, record.File, record.Source, from)
	var problems sweep.Mistakes
	switch {
	case errors.As(err, &problems):
		return nil, usageError{fmt.Errorf("%w\nthis is the sweep file as it was run; its relative paths start at %q: if its files have moved, name their folder with --base", err, from)}
	case err != nil:
		return nil, err
	}
	r := &reading{understoodSweep: s}
	if r.folder, err = record.Open(s.Plan); err != nil {
		s.close()
		return nil, outdated(err, record)
	}
	digests, commands, err := plugins(s)
	if err != nil {
		r.close()
		return nil, err
	}
	r.commands = commands
	r.config = coordinator.Config{Folder: r.folder, Algorithms: s.catalog, Digests: digests}
	return r, nil
}

// outdated blames a folder that cannot be read, and says what to do with one of another version.
func outdated(err error, record *folder.Record) error {
	var version *schemas.VersionError
	if !errors.As(err, &version) {
		return usageError{err}
	}
	release := "the release"
	if record != nil && record.Release() != "" {
		release = fmt.Sprintf("the release (%s)", record.Release())
	}
	return usageError{fmt.Errorf("%w; use %s that made it, or run the sweep again with --fresh", version, release)}
}

// work gives do a connection and workers of this process.
func (r *reading) work(ctx context.Context, slots int, do func(coordinator.Config) error) error {
	conn, closeBus, err := connect(ctx, "", bus.Options{Name: "shatter " + r.Name, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer closeBus()
	if err := publishFiles(ctx, conn, r.understoodSweep); err != nil {
		return err
	}
	cfg := r.config
	cfg.Conn, cfg.Slots = conn, slots
	stop, err := startWorkers(ctx, &cfg, r.commands, slots)
	if err != nil {
		return err
	}
	return errors.Join(do(cfg), stop())
}

func trialCommand() *cobra.Command {
	var format, base string
	c := &cobra.Command{
		Use: "trial DIR ID", Short: "Run one trial of a sweep again, alone, and compare it with its record",
		Long: `Run one trial of the sweep in DIR again, alone, in a plugin process of its own, and print its outcome beside the recorded one. ID is
cell/n/repetition, as messages and the columns of trials.parquet have it; a trial that was never run will do. Nothing in DIR
changes, and a run may be at work there. Exit codes: 0 equal to the last bit, or nothing is recorded; 3 different; 1 lost here.`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			if format != "table" && format != "json" {
				return usageError{fmt.Errorf("-o %q: one of table, json is needed", format)}
			}
			return runTrial(c, args[0], args[1], base, format)
		},
	}
	c.Flags().StringVarP(&format, "output", "o", "table", "format: table, json")
	c.Flags().StringVar(&base, "base", "", "folder where relative paths of the sweep file start (default: where it was run)")
	return c
}

func runTrial(c *cobra.Command, dir, id, base, format string) error {
	r, err := openReading(c.Context(), dir, base)
	if err != nil {
		return err
	}
	defer r.close()
	t, err := coordinator.FindTrial(r.Plan, id)
	if err != nil {
		return usageError{err}
	}
	var got *coordinator.Comparison
	err = r.work(c.Context(), 1, func(cfg coordinator.Config) (err error) {
		got, err = coordinator.RunTrial(c.Context(), cfg, t)
		return err
	})
	var refused *coordinator.RefusedError
	switch {
	case errors.As(err, &refused):
		return usageError{err}
	case err != nil:
		return err
	}
	if err := showTrial(c.OutOrStdout(), got, format); err != nil {
		return err
	}
	switch {
	case got.Equal != nil && !*got.Equal:
		return statusError(exitIntegrity)
	case got.Outcome.Status == "lost":
		return statusError(exitUnfinished)
	}
	return nil
}

func showTrial(w io.Writer, t *coordinator.Comparison, format string) error {
	if format == "json" {
		return writeJSON(w, t)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "trial %s: %s\n\n", t.Trial, t.What)
	tab := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "\tnow\trecorded")
	for _, line := range outcomeLines(t.Outcome, t.Recorded) {
		fmt.Fprintln(tab, strings.Join(line, "\t"))
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	b.WriteByte('\n')
	for _, reason := range []struct {
		when string
		o    *coordinator.Outcome
	}{{"reason now", t.Outcome}, {"recorded reason", t.Recorded}} {
		if reason.o != nil && reason.o.Reason != "" {
			fmt.Fprintf(&b, "%s: %s\n", reason.when, reason.o.Reason)
		}
	}
	b.WriteString(verdict(t) + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// outcomeLines is the table of an outcome and the recorded one, without what neither has.
func outcomeLines(now, recorded *coordinator.Outcome) (lines [][]string) {
	names := map[string]bool{}
	for _, o := range []*coordinator.Outcome{now, recorded} {
		if o != nil {
			for name := range o.Metrics {
				names[name] = true
			}
		}
	}
	add := func(what string, value func(*coordinator.Outcome) string) {
		line := []string{what, value(now), "nothing"}
		if recorded != nil {
			line[2] = value(recorded)
		} else if what != "status" {
			line[2] = ""
		}
		if line[1] != "" || line[2] != "" {
			lines = append(lines, line)
		}
	}
	number := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', -1, 64)
	}
	add("status", func(o *coordinator.Outcome) string { return o.Status })
	add("kind", func(o *coordinator.Outcome) string { return o.Kind })
	add("error", func(o *coordinator.Outcome) string { return number(o.Error) })
	add("success", func(o *coordinator.Outcome) string {
		if o.Success == nil {
			return ""
		}
		return strconv.FormatBool(*o.Success)
	})
	for _, name := range slices.Sorted(maps.Keys(names)) {
		add("m_"+name, func(o *coordinator.Outcome) string {
			if v, ok := o.Metrics[name]; ok {
				return number(&v)
			}
			return ""
		})
	}
	add("seconds", func(o *coordinator.Outcome) string {
		if o.Seconds == nil {
			return ""
		}
		return strconv.FormatFloat(*o.Seconds, 'g', 3, 64)
	})
	add("plugin", func(o *coordinator.Outcome) string { return "sha256 " + o.Digest[:min(12, len(o.Digest))] })
	add("profile", func(o *coordinator.Outcome) string { return o.Profile })
	return lines
}

// verdict is the last line.
func verdict(t *coordinator.Comparison) string {
	switch {
	case t.Outcome.Status == "lost":
		return "lost: a limit of this machine ended it, which says nothing about the trial"
	case t.Equal == nil:
		return "nothing is recorded to compare it with"
	case *t.Equal:
		return "equal to the last bit"
	}
	text := "different: " + t.Difference
	if t.Outcome.Profile != t.Recorded.Profile {
		text += "; the float profiles differ, and so may last bits"
	} else if t.Outcome.Digest != t.Recorded.Digest {
		text += "; the plugin file is another one"
	}
	return text
}
