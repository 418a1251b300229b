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
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

func trialCommand() *cobra.Command {
	var o trialOptions
	c := &cobra.Command{
		Use: "trial DIR ID", Short: "Run one trial again and compare it with its record",
		Long: `Run one trial of the sweep in DIR again, alone, in a plugin process of its own, and print its
outcome next to the recorded one. ID is cell/n/repetition, as in messages and the columns of
trials.parquet; the trial need not have a record. Nothing in DIR changes, so a run may use it at the
same time. Exit codes: 0 equal to the last bit, or nothing is recorded; 3 different; 1 lost on this
machine.

To debug the plugin, start it in a debugger with SHATTER_ATTACH=1, and give the socket that it
prints to --attach.`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
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
	defer func() { _ = s.close() }()
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

// writeTrial writes a trial's outcome next to the recorded one.
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
	if t.Warnings > 0 {
		fmt.Fprintf(&b, "warned %s: %s\n", wording.Count(int(t.Warnings), "time"), t.Warning)
	}
	b.WriteString(verdict(t) + "\n")
	_, err := io.WriteString(forPeople(w), b.String())
	return err
}

// outcomeLines returns the table of an outcome and the recorded one, which may be nil, without the
// values that neither has.
func outcomeLines(now, recorded *audit.Outcome) (lines [][]string) {
	here, there := outcomeTexts(now), map[string]string{"status": "nothing"}
	if recorded != nil {
		there = outcomeTexts(recorded)
	}
	all := maps.Clone(here)
	maps.Copy(all, there)
	names := slices.Sorted(maps.Keys(all))
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, schemas.MetricPrefix) })
	names = slices.Concat([]string{"status", "kind", "error", "success"}, names, []string{"seconds", "plugin", "profile"})
	for _, name := range names {
		if here[name] != "" || there[name] != "" {
			lines = append(lines, []string{name, here[name], there[name]})
		}
	}
	return lines
}

// outcomeTexts returns the values of an outcome by name, numbers with all their digits.
func outcomeTexts(o *audit.Outcome) map[string]string {
	exact := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	texts := map[string]string{
		"status": o.Status, "kind": o.Kind, "plugin": "sha256 " + o.Digest[:min(12, len(o.Digest))], "profile": o.Profile,
	}
	if o.Error != nil {
		texts["error"] = exact(*o.Error)
	}
	if o.Success != nil {
		texts["success"] = strconv.FormatBool(*o.Success)
	}
	if o.Seconds != nil {
		texts["seconds"] = strconv.FormatFloat(*o.Seconds, 'g', 3, 64)
	}
	for name, v := range o.Metrics {
		texts[schemas.MetricPrefix+name] = exact(v)
	}
	return texts
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
