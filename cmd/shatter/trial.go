package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/coordinator/audit"
	"github.com/shatterlab/shatter/coordinator/pool"
)

func trialCommand() *cobra.Command {
	var o trialOptions
	c := &cobra.Command{
		Use: "trial DIR ID", Short: "Run one trial of a sweep again, alone, and compare it with its record",
		Long: `Run one trial of the sweep in DIR again, alone, in a plugin process of its own, and print its outcome
beside the recorded one. ID is cell/n/repetition, as messages and the columns of trials.parquet have it;
a trial that was never run will do. Nothing in DIR changes, and a run may be at work there. Exit codes:
0 equal to the last bit, or nothing is recorded; 3 different; 1 lost here.

To debug the plugin, start it in a debugger with SHATTER_ATTACH=1, and give the socket that it prints to --attach.`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkOutput(c.OutOrStdout(), o.format, listFormats); err != nil {
				return err
			}
			return runTrial(c, args[0], args[1], o)
		},
	}
	addOutput(c, &o.format, listFormats, "")
	addBase(c, &o.base)
	return c
}

// trialOptions are the flags of the command trial.
type trialOptions struct {
	base, format string
}

// runTrial runs one trial again and prints what came of it.
func runTrial(c *cobra.Command, dir, id string, o trialOptions) error {
	s, err := openFinished(c.Context(), dir, o.base)
	if err != nil {
		return err
	}
	defer s.close()
	t, err := audit.FindTrial(s.Plan, id)
	if err != nil {
		return usageError{err}
	}
	var got *audit.Comparison
	err = s.workAlone(c.Context(), 1, func(cfg pool.Config) (err error) {
		got, err = audit.RunTrial(c.Context(), s.folder, cfg, t)
		return err
	})
	if err != nil {
		return err
	}
	if err := writeTrial(c.OutOrStdout(), got, o.format); err != nil {
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

// writeTrial writes a trial's outcome beside the recorded one.
func writeTrial(w io.Writer, t *audit.Comparison, format string) error {
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
		o    *audit.Outcome
	}{{"reason now", t.Outcome}, {"recorded reason", t.Recorded}} {
		if reason.o != nil && reason.o.Reason != "" {
			fmt.Fprintf(&b, "%s: %s\n", reason.when, reason.o.Reason)
		}
	}
	b.WriteString(verdict(t) + "\n")
	_, err := io.WriteString(forPeople(w), b.String())
	return err
}

// outcomeFields lists what writeTrial shows of every outcome, before and after its metrics.
var outcomeFields = [2][]outcomeField{{
	{"status", func(o *audit.Outcome) string { return o.Status }},
	{"kind", func(o *audit.Outcome) string { return o.Kind }},
	{"error", func(o *audit.Outcome) string { return optional(o.Error, exact) }},
	{"success", func(o *audit.Outcome) string { return optional(o.Success, strconv.FormatBool) }},
}, {
	{"seconds", func(o *audit.Outcome) string {
		return optional(o.Seconds, func(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) })
	}},
	{"plugin", func(o *audit.Outcome) string { return "sha256 " + o.Digest[:min(12, len(o.Digest))] }},
	{"profile", func(o *audit.Outcome) string { return o.Profile }},
}}

type outcomeField struct {
	name string
	text func(*audit.Outcome) string // empty: the outcome has no such value
}

// optional returns the text of a value, and no text for nil.
func optional[T any](v *T, text func(T) string) string {
	if v == nil {
		return ""
	}
	return text(*v)
}

// exact returns a number with all its digits.
func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// outcomeLines returns the table of an outcome and the recorded one, which may be nil, without the
// values that neither has.
func outcomeLines(now, recorded *audit.Outcome) (lines [][]string) {
	fields := slices.Clone(outcomeFields[0])
	names := slices.Collect(maps.Keys(now.Metrics))
	if recorded != nil {
		names = slices.AppendSeq(names, maps.Keys(recorded.Metrics))
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		fields = append(fields, outcomeField{"m_" + name, func(o *audit.Outcome) string {
			if v, ok := o.Metrics[name]; ok {
				return exact(v)
			}
			return ""
		}})
	}
	for _, f := range append(fields, outcomeFields[1]...) {
		line := []string{f.name, f.text(now), ""}
		switch {
		case recorded != nil:
			line[2] = f.text(recorded)
		case f.name == "status":
			line[2] = "nothing"
		}
		if line[1] != "" || line[2] != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// verdict returns the last line: whether the two outcomes are equal.
func verdict(t *audit.Comparison) string {
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
		text += "; the code is another one"
	}
	return text
}
