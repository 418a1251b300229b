// Package plugintest is the acceptance test of an algorithm, for its author:
//
//	func TestBooster(t *testing.T) { plugintest.Run(t, booster) }
//
// It promises that an algorithm which passes is treated by Shatter as its author meant it: the same seed gives the same answers, in any
// company and in any process; every point is answered within [-1, +1]; asking twice, or in pieces, gives the same; small
// and large inputs do no harm, wrong parameters are refused; borrowed memory is neither kept nor written; nothing is left running.
//
// Everything goes through a real process, started and supervised as in a sweep: in Run the test binary starts itself again. It needs
// problems that the algorithm accepts: its own are tried, or the author names settings. Test does the same for a file in any
// language.
package plugintest

import (
	"context"
	"fmt"
	"os"
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

// Setting is one setting to test an algorithm in. Zero values get defaults: Task the first that the algorithm has, N the smallest that it
// accepts of 50, 1000 and 20000, Alpha and Beta 0.1, Epsilon 1, Delta 1e-6, in the task predict 30 Queries and in the task online 30 Rounds, with
// no N.
type Setting struct {
	Task                        algo.Task
	Queries, Rounds             int
	Offline                     bool           // predict: the queries are revealed beforehand
	Parameters                  map[string]any // int, float64, bool or string, by name; the rest are the algorithm's defaults
	Problem                     algo.Problem
	N                           int
	Alpha, Beta, Epsilon, Delta float64
}

// Result is what came of one check.
type Result struct {
	Algorithm string
	Setting   string // in short
	Check     string
	Err       error // nil: passed
}

// Run tests an algorithm in the given settings, or else in those of the suite's own problems that it accepts. It starts the test binary again to
// be the plugin: what the test function does before Run is done there too.
func Run(t *testing.T, plugin algo.Plugin, settings ...Setting) {
	t.Helper()
	if os.Getenv(pluginv1.CookieKey) == pluginv1.CookieValue {
		algo.Serve(plugin, probe)
		t.SkipNow() // this was the plugin, and its host is done
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := host.Command{Path: path, Args: []string{"-test.run", exactly(t.Name())}}
	for _, r := range Test(t.Context(), c, settings...) {
		t.Run(strings.Trim(r.Setting+"/"+r.Check, "/"), func(t *testing.T) {
			if r.Err != nil {
				t.Error(r.Err)
			}
		})
	}
}

// exactly is the pattern of test names that matches this one only.
func exactly(name string) string {
	return "^" + strings.ReplaceAll(name, "/", "$/^") + "$"
}

// probe tells how many goroutines run in its process.
var probe = algo.Algorithm[struct{}]{
	Name: probeName, Version: "1", Metrics: map[string]string{"count": "goroutines of the process"},
	Learn: func(_ context.Context, t *algo.Trial[struct{}], _ *algo.Data) (algo.Model, error) {
		t.Report("count", float64(runtime.NumGoroutine()))
		return nothing{}, nil
	},
}

const probeName = "plugintest/goroutines"

type nothing struct{}

func (nothing) Predict(context.Context, *algo.Data, []float64) error { return nil }

// Test tests all algorithms of a plugin file, each in those of the settings whose parameters it has, or, where none are given, of the suite's own
// problems; several algorithms at the same time, each in processes of its own. There is at least one result. A trial may take a minute where the command sets no limit.
func Test(ctx context.Context, c host.Command, settings ...Setting) []Result {
	if c.Trial == 0 {
		c.Trial = time.Minute
	}
	p, err := host.Start(ctx, c)
	if err != nil {
		return []Result{{Check: "start", Err: err}}
	}
	description := p.Describe()
	p.Stop()
	probed := false
	for _, a := range description.Algorithms {
		probed = probed || a.Name == probeName
	}
	results := make([][]Result, len(description.Algorithms))
	var group sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, a := range description.Algorithms {
		if a.Name == probeName {
			continue
		}
		group.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			s := &suite{ctx: ctx, command: c, algorithm: a, probed: probed}
			defer s.stop()
			results[i] = s.run(settings)
		})
	}
	group.Wait()
	return slices.Concat(results...)
}

// short is a setting in a few words.
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
	for _, name := range sortedNames(s.Parameters) {
		words = append(words, fmt.Sprintf("%s=%v", name, s.Parameters[name]))
	}
	return strings.Join(words, ",")
}
