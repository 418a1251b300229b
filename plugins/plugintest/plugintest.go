// Package plugintest is the acceptance test of algorithms. An author of a Go algorithm writes one
// test that calls [Run]:
//
//	func TestBooster(t *testing.T) { plugintest.Run(t, booster) }
//
// An author in another language runs "shatter plugin test FILE", which calls [Test].
//
// An algorithm that passes works in Shatter as its author intended. The same seed gives the same
// answers, with any other trials and in any process. Every answer is in [-1, +1]. A model returns
// the same answers in repeated calls, and for points in several calls. Predict can be called
// between the queries of a predictor, and returns the answers that they then get. Small and large
// inputs work; wrong parameters are rejected. The guarantee of a private algorithm satisfies every
// budget that it accepts, and the algorithm neither fails nor warns on some samples only. Bounds
// state their premises. Borrowed memory is neither retained nor written to. No goroutine outlives a
// session. If the plugin was built with -race, it has no reported data race.
//
// The tests use a real process that is started and supervised as in a sweep: Run starts the test
// binary again as the plugin. They need problems that the algorithm accepts. Without settings the
// suite tries problems of its own; if the algorithm accepts none of them, name a [Setting] that it
// does accept.
package plugintest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Setting is one setting to test an algorithm in. The zero value of a field selects a default.
type Setting struct {
	Problem algo.Problem
	Task    algo.Task // default: the first task of the algorithm

	// Parameters holds values of type int, float64, bool or string by name. Omitted parameters have
	// the algorithm's defaults.
	Parameters map[string]any

	N           int     // default: the smallest of 50, 1000 and 20000 that it accepts; online: none
	Alpha, Beta float64 // default: 0.1

	// Epsilon and Delta are the budget of an algorithm that states a guarantee, by default 1 and
	// 1e-6.
	Epsilon, Delta float64

	Queries int  // predict: default 30
	Offline bool // predict: whether the queries are revealed beforehand
	Rounds  int  // online: default 30

	examples *examples // examples of Problem, if a plugin poses it
}

// Result is the result of one check in one setting.
type Result struct {
	Algorithm string
	Setting   string        // short description; "": the check is about the algorithm itself
	Check     string        // the name of the check, or "start" or "setting" if none could be run
	Err       error         // nil if the algorithm passed or the check was skipped
	Skipped   string        // reason why the check was skipped; "": it was not
	Expected  string        // reason for an expected failure that occurred; "": none
	Found     string        // measured values, as text
	Warnings  int64         // number of warnings that the plugin gave since the previous result
	Warning   string        // text of the first of them
	Took      time.Duration // duration of the check
	Repeated  int           // number of trials that were repeated and compared
}

// Failed reports whether the algorithm failed the check, and was not expected to.
func (r Result) Failed() bool { return r.Err != nil && r.Expected == "" }

// Options configures the suite. The zero value is equivalent to Test without settings.
type Options struct {
	Settings []Setting // as for Test

	// Only selects the checks whose name "family/name/check" it matches; nil selects all.
	Only *regexp.Regexp
	// Expect maps names of checks to the reason why each algorithm is expected to fail them. An
	// algorithm that fails an expected check in no setting is reported as a failure.
	Expect map[string]string
	// Begin, if not nil, is called with the names of each check before it runs, and Report with each
	// result as soon as it is available. One of these calls is made at a time.
	Begin, Report func(Result)
}

// Version is the version of the suite. It increases when a check is added or becomes stricter.
const Version = 6

// TrialLimit is the time limit of a trial if the command has none.
const TrialLimit = time.Minute

// Checks lists the names of the checks. They do not change between versions.
func Checks() []string {
	names := []string{"start", "description", "setting"}
	for _, c := range allChecks {
		names = append(names, c.name)
	}
	for _, c := range generatorChecks {
		names = append(names, c.name)
	}
	return names
}

// Run tests an algorithm in the given settings or, if there are none, in the settings of the
// suite's own problems that it accepts. Each check is a subtest. Run starts the test binary again
// as the plugin, so the test function runs twice up to its call of Run and should do little before
// it.
func Run(t *testing.T, plugin algo.Plugin, settings ...Setting) {
	t.Helper()
	if os.Getenv(pluginv1.CookieKey) == pluginv1.CookieValue {
		algo.Serve(plugin)
		t.SkipNow() // this process was the plugin, and its host has finished
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := host.Command{Path: path, Args: []string{"-test.run", exactly(t.Name())}}
	for _, r := range Test(t.Context(), c, settings...) {
		t.Run(strings.Trim(r.Setting+"/"+r.Check, "/"), func(t *testing.T) {
			switch {
			case r.Skipped != "":
				t.Skip(r.Skipped)
			case r.Failed():
				t.Error(r.Err)
			}
		})
	}
}

// exactly returns the pattern of test names that matches only this one.
func exactly(name string) string {
	return "^" + strings.ReplaceAll(name, "/", "$/^") + "$"
}

// Test tests all algorithms of a plugin file: each in the given settings whose parameters it has
// or, if none are given, in the settings of the suite's own problems that it accepts. It tests
// several algorithms at the same time, each in separate processes. A trial may take a minute if the
// command sets no limit. There is at least one result.
func Test(ctx context.Context, c host.Command, settings ...Setting) []Result {
	return Options{Settings: settings}.Test(ctx, c)
}

// wants reports whether the options select a check of an algorithm.
func (o Options) wants(algorithm, check string) bool {
	return o.Only == nil || o.Only.MatchString(algorithm+"/"+check)
}

// Test is like the function Test, with options.
func (o Options) Test(ctx context.Context, c host.Command) []Result {
	if c.Trial == 0 {
		c.Trial = TrialLimit
	}
	var reports sync.Mutex
	locked := func(call func(Result)) func(Result) {
		return func(r Result) {
			reports.Lock()
			defer reports.Unlock()
			if call != nil {
				call(r)
			}
		}
	}
	report := locked(o.Report)
	o.Begin = locked(o.Begin)
	p, err := host.Start(ctx, c)
	if err != nil {
		failed := Result{Check: "start", Err: err}
		report(failed)
		return []Result{failed}
	}
	description := p.Describe()
	p.Stop()
	posed := sync.OnceValue(func() []Setting { return posedSettings(ctx, c, description.Algorithms) })
	results := make([][]Result, len(description.Algorithms))
	var group sync.WaitGroup
	turns := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, a := range description.Algorithms {
		if !slices.ContainsFunc(Checks(), func(check string) bool { return o.wants(a.Name, check) }) {
			continue
		}
		group.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			s := &suite{ctx: ctx, command: c, algorithm: a, posed: posed, options: o, report: report}
			defer s.stop()
			results[i] = s.run()
		})
	}
	group.Wait()
	all := slices.Concat(results...)
	if len(all) == 0 {
		all = []Result{{Check: "start", Err: fmt.Errorf("no check matches %v", o.Only)}}
		report(all[0])
	}
	return all
}

// short describes a setting in a few words.
func (s Setting) short() string {
	words := []string{s.Problem.Class}
	if s.Problem.Class == "" {
		words[0] = "no class"
	}
	if s.Task == algo.Online {
		words[0] = "online " + words[0]
	}
	if s.Task == algo.Predict {
		words[0] = "predict " + words[0]
		if s.Offline {
			words[0] = "offline " + words[0]
		}
	}
	if s.Problem.Dim > 1 {
		words = append(words, fmt.Sprintf("d=%d", s.Problem.Dim))
	}
	if s.N > 0 {
		words = append(words, fmt.Sprintf("n=%d", s.N))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Parameters)) {
		words = append(words, fmt.Sprintf("%s=%v", name, s.Parameters[name]))
	}
	return strings.Join(words, ",")
}
