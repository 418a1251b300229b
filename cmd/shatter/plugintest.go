package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/pluginfile"
	"github.com/shatterlab/shatter/pipeline/problem/noise"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/plugintest"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// pluginTest holds the flags of plugin test.
type pluginTest struct {
	format   string
	only     string
	settings []string
	expect   []string
	limit    time.Duration
}

func pluginTestCommand() *cobra.Command {
	var p pluginTest
	c := &cobra.Command{
		Use: "test [FILE]", Short: "Run the acceptance suite on a plugin",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return p.run(c, args) },
	}
	flags := c.Flags()
	addOutput(c, &p.format, listFormats, "")
	flags.StringVar(&p.only, "run", "", "regular `expression` for ALGORITHM/CHECK of the checks to run (default all)")
	flags.StringArrayVar(&p.settings, "setting", nil,
		"`setting` of the tests, such as class=thresholds,domain=64,n=100; "+
			"other keys are parameters (repeatable; default the suite's settings)")
	flags.StringArrayVar(&p.expect, "expect-fail", nil,
		"`CHECK=REASON` of a check that must fail (repeatable)")
	flags.DurationVar(&p.limit, "limit", plugintest.TrialLimit, "time `limit` of a trial")
	return c
}

func (p *pluginTest) run(c *cobra.Command, args []string) error {
	out := c.OutOrStdout()
	options, err := p.options()
	if err != nil {
		return usageError{err}
	}
	if a := attachmentOf(c.Context()); a.socket != "" && len(args) == 0 {
		args = []string{cmp.Or(a.plugin, a.socket)}
	}
	all, paths, err := catalogOf(c.Context(), args)
	if err != nil {
		return err
	}
	defer all.Close()
	path := append(paths, "")[0]
	cmd, err := all.Command(path)
	if err != nil {
		return err
	}
	cmd.Trial = p.limit
	failures := map[string]string{}
	slow := &waiting{out: c.ErrOrStderr(), timers: map[string]*time.Timer{}}
	options.Begin, options.Report = slow.begin, slow.end
	if p.format == "table" {
		if err := showSandbox(c, cmd); err != nil {
			return err
		}
		options.Report = func(r plugintest.Result) {
			slow.end(r)
			writeResult(forPeople(out), r, failures)
		}
	}
	began := time.Now()
	results := options.Test(c.Context(), cmd)
	if p.format == "table" {
		writeTestSummary(out, results, time.Since(began))
	}
	if p.format == "json" {
		says := new(pluginv1.DescribeResponse)
		if results[0].Check != "start" {
			if says, err = all.Describe(c.Context(), path); err != nil {
				return err
			}
		}
		if err := writeResults(out, path, says, results); err != nil {
			return err
		}
	}
	writeWarnings(c.ErrOrStderr(), results)
	failed := 0
	for _, r := range results {
		if r.Failed() {
			failed++
		}
	}
	if failed > 0 {
		fmt.Fprintf(c.ErrOrStderr(), "shatter: %s failed\n", wording.Count(failed, "check"))
		return statusError(exitUnfinished)
	}
	if path == "" {
		return nil
	}
	described, err := all.Describe(c.Context(), path)
	if _, algorithms := auditable(described.GetAlgorithms()); err == nil && algorithms != nil {
		fmt.Fprintf(c.ErrOrStderr(), "next: shatter audit %s tests its privacy by trials\n", wording.ShellWord(args[0]))
	}
	return nil
}

// options returns the options that the flags set.
func (p *pluginTest) options() (o plugintest.Options, err error) {
	if p.limit <= 0 {
		return o, fmt.Errorf("--limit %v: a time above 0 is needed, such as 10s", p.limit)
	}
	if p.only != "" {
		if o.Only, err = regexp.Compile(p.only); err != nil {
			return o, fmt.Errorf("--run %q: %w", p.only, err)
		}
	}
	known := plugintest.Checks()
	o.Expect = map[string]string{}
	for _, text := range p.expect {
		name, reason, _ := strings.Cut(text, "=")
		switch {
		case !slices.Contains(known, name):
			return o, fmt.Errorf("--expect-fail %q: the checks are %s%s", text, wording.And(known),
				wording.DidYouMean(name, known))
		case reason == "":
			return o, fmt.Errorf("--expect-fail %q: give the reason, as in %s=REASON", text, name)
		}
		o.Expect[name] = reason
	}
	for _, text := range p.settings {
		s, err := parseTestSetting(text)
		if err != nil {
			return o, fmt.Errorf("--setting %q: %w", text, err)
		}
		o.Settings = append(o.Settings, s)
	}
	return o, nil
}

// parseTestSetting reads a setting for tests, such as class=halfspace,dim=5,margin=0.1. Keys that are not
// those of a setting are parameters.
func parseTestSetting(text string) (plugintest.Setting, error) {
	s := plugintest.Setting{Parameters: map[string]any{}}
	s.Problem = algo.Problem{Dim: 1, Noise: "none", Realizable: true, Target: "random"}
	numbers := map[string]*float64{
		"margin": &s.Problem.Margin, "alpha": &s.Alpha, "beta": &s.Beta, "epsilon": &s.Epsilon, "delta": &s.Delta,
		"noise_rate": &s.Problem.NoiseRate,
	}
	counts := map[string]*int{"dim": &s.Problem.Dim, "n": &s.N, "queries": &s.Queries, "rounds": &s.Rounds}
	for part := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok {
			return s, fmt.Errorf("%q is not of the form key=value", part)
		}
		var err error
		switch {
		case numbers[key] != nil:
			*numbers[key], err = strconv.ParseFloat(value, 64)
		case counts[key] != nil:
			*counts[key], err = strconv.Atoi(value)
		case key == "domain":
			s.Problem.Domain, err = strconv.ParseUint(value, 10, 64)
		case key == "offline":
			s.Offline, err = strconv.ParseBool(value)
		case key == "class":
			s.Problem.Class = value
		case key == "noise":
			if s.Problem.Noise = value; noise.Lookup(value) == nil {
				err = fmt.Errorf("one of %s is needed", wording.Or(noise.Names()))
			}
		case key == "task":
			if s.Task = algo.Task(value); !slices.Contains(pluginTasks, value) {
				err = fmt.Errorf("one of %s is needed", wording.Or(pluginTasks))
			}
		default:
			s.Parameters[key] = parameterValue(value)
		}
		if err != nil {
			return s, fmt.Errorf("%s: %w", part, err)
		}
	}
	if s.Problem.Class == "" {
		return s, fmt.Errorf("class is missing")
	}
	return s, nil
}

// parameterValue reads the value of a parameter, as YAML would.
func parameterValue(text string) any {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	if x, err := strconv.ParseFloat(text, 64); err == nil {
		return x
	}
	if b, err := strconv.ParseBool(text); err == nil {
		return b
	}
	return text
}

// checkVerdict returns the word for how a check ended.
func checkVerdict(r plugintest.Result) string {
	switch {
	case r.Skipped != "":
		return "skipped"
	case r.Expected != "":
		return "expected"
	case r.Err != nil:
		return "FAIL"
	}
	return "ok"
}

// checkName returns the algorithm, setting and name of a check.
func checkName(r plugintest.Result) string {
	words := []string{r.Algorithm, r.Setting, r.Check}
	return strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "" }), "  ")
}

// writeResult writes the result of a check for people. failures holds the failures so far, each with the
// check that first had it: an equal one is not told again.
func writeResult(w io.Writer, r plugintest.Result, failures map[string]string) {
	name := checkName(r)
	line := fmt.Sprintf("%-8s  %5.1fs  %s", checkVerdict(r), r.Took.Seconds(), name)
	if note := cmp.Or(r.Skipped, r.Expected, r.Found); note != "" {
		line += ": " + note
	}
	fmt.Fprintln(w, line)
	if !r.Failed() {
		return
	}
	text := remedied(r.Err)
	if first, told := failures[text]; told {
		text = "the same as in " + first
	} else {
		failures[text] = name
	}
	fmt.Fprintf(w, "          %s\n", strings.ReplaceAll(text, "\n", "\n          "))
}

// waitEvery is the time after which a running check is reported, again and again.
const waitEvery = 10 * time.Second

// A waiting reports checks that run for long. Concurrent use is safe.
type waiting struct {
	out    io.Writer
	mu     sync.Mutex
	timers map[string]*time.Timer // name of the algorithm to timer
}

// begin expects the result of a check.
func (x *waiting) begin(r plugintest.Result) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var timer *time.Timer
	began := time.Now()
	timer = time.AfterFunc(waitEvery, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.timers[r.Algorithm] == timer {
			fmt.Fprintf(x.out, "shatter: running for %.0f s: %s\n", time.Since(began).Seconds(), checkName(r))
			timer.Reset(waitEvery)
		}
	})
	x.timers[r.Algorithm] = timer
}

// end expects no result of an algorithm until begin is called.
func (x *waiting) end(r plugintest.Result) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if timer := x.timers[r.Algorithm]; timer != nil {
		timer.Stop()
		delete(x.timers, r.Algorithm)
	}
}

// writeTestSummary writes how many checks ended in which way, and how rare a dependence they find.
func writeTestSummary(w io.Writer, results []plugintest.Result, took time.Duration) {
	verdicts, repeated := map[string]int{}, map[string]int{}
	for _, r := range results {
		verdicts[checkVerdict(r)]++
		if r.Repeated > 0 {
			repeated[r.Algorithm] += r.Repeated
		}
	}
	var counts []string
	for _, verdict := range []string{"ok", "FAIL", "expected", "skipped"} {
		if n := verdicts[verdict]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, verdict))
		}
	}
	fmt.Fprintf(w, "%s in %.0f s: %s\n", wording.Count(len(results), "check"), took.Seconds(), strings.Join(counts, ", "))
	for _, name := range slices.Sorted(maps.Keys(repeated)) {
		found := min(99.9, 100*(1-math.Pow(0.95, float64(repeated[name]))))
		fmt.Fprintf(w, "%s: %s repeated: a dependence that shows in 5 %% of trials is found with a probability of at least "+
			"%.3g %%\n", name, wording.CountOf(repeated[name], "trial was", "trials were"), found)
	}
}

// writeWarnings writes how often each algorithm warned, with the text of its first warning.
func writeWarnings(w io.Writer, results []plugintest.Result) {
	for len(results) > 0 {
		name, first, count, checks := results[0].Algorithm, "", int64(0), 0
		for len(results) > 0 && results[0].Algorithm == name {
			if r := results[0]; r.Warnings > 0 {
				first, count, checks = cmp.Or(first, r.Warning), count+r.Warnings, checks+1
			}
			results = results[1:]
		}
		if count > 0 {
			fmt.Fprintf(w, "shatter: %s warned %s in %s: %s\n", name, wording.Count(int(count), "time"),
				wording.Count(checks, "check"), printable(first))
		}
	}
}

// A checkReport is the JSON form of a check.
type checkReport struct {
	Algorithm string  `json:"algorithm"`
	Setting   string  `json:"setting"` // "": the check is of the algorithm itself
	Check     string  `json:"check"`
	Result    string  `json:"result"`           // ok, failed, skipped, or expected: it failed as expected
	Reason    string  `json:"reason,omitempty"` // of a check that was skipped or expected to fail
	Error     string  `json:"error,omitempty"`
	Found     string  `json:"found,omitempty"`
	Warnings  int64   `json:"warnings,omitempty"` // number of warnings of the plugin
	Warning   string  `json:"warning,omitempty"`  // text of the first one
	Seconds   float64 `json:"seconds"`
}

// writeResults writes all results as JSON, with the description of the plugin, which is empty if it does not start.
func writeResults(w io.Writer, path string, says *pluginv1.DescribeResponse, results []plugintest.Result) error {
	report := struct {
		Plugin   string            `json:"plugin"` // its file; "": built in
		Digest   string            `json:"digest,omitempty"`
		Suite    int               `json:"suite"` // version of the checks; a new or stricter check raises it
		SDK      string            `json:"sdk,omitempty"`
		Protocol int               `json:"protocol,omitempty"` // the version that is spoken with it
		Versions map[string]string `json:"versions"`           // of its algorithms
		Results  []checkReport     `json:"results"`
	}{Plugin: path, Suite: plugintest.Version, SDK: says.GetSdk(), Protocol: spoken(says),
		Versions: map[string]string{}}
	for _, a := range says.GetAlgorithms() {
		report.Versions[a.GetName()] = a.GetVersion()
	}
	if file, err := pluginfile.Read(path); path != "" && err == nil {
		report.Digest = file.Digest
	}
	for _, r := range results {
		c := checkReport{
			Algorithm: r.Algorithm, Setting: r.Setting, Check: r.Check, Result: checkVerdict(r), Found: r.Found,
			Reason: cmp.Or(r.Skipped, r.Expected), Seconds: r.Took.Round(time.Microsecond).Seconds(),
			Warnings: r.Warnings, Warning: r.Warning,
		}
		if r.Err != nil {
			c.Error = remedied(r.Err)
		}
		if c.Result == "FAIL" {
			c.Result = "failed"
		}
		report.Results = append(report.Results, c)
	}
	return writeJSON(w, report)
}
