package worker

import (
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/task"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas"
)

func testJob(count int64) *trial.Job {
	return &trial.Job{
		Sweep: "s", ID: "i", N: 5, First: 100, Count: count, Plugin: "d",
		Cell: &trial.Cell{
			Key: trial.Key{1}, Task: task.Default, Problem: &schemas.Problem{}, Metrics: []string{"a", "b"},
		},
	}
}

// A job's messages contain each of its rows once, in order, and fit the queue, even if all trials
// failed.
func TestMessages(t *testing.T) {
	const trials = trial.SessionTrials
	o := newOutcomes(testJob(trials))
	for j := range trials {
		if j%2 == 0 {
			o.setFault(j, ledger.Failed, "crash", strings.Repeat("\xff", 10<<10))
		}
	}
	s := &slot{}
	for range 1000 {
		s.addNote(&host.ExitError{
			Cause: host.Exit, State: strings.Repeat("é", 4000), Stderr: strings.Repeat("line\n", 1000),
		})
	}
	o.Notes = s.notes
	next, seconds := int64(100), 0.0
	for i, b := range o.batches(&worker{Config: Config{Name: "w"}, profile: "p"}, 3) {
		msg, err := b.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if len(msg) > queue.MaxResult {
			t.Errorf("message %d has %d bytes", i, len(msg))
		}
		decoded, err := ledger.Decode(msg)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 && (len(decoded.Notes) == 0 || len(decoded.Notes) > 20) {
			t.Errorf("%d notes", len(decoded.Notes))
		}
		for _, rep := range decoded.Repetition {
			if rep != next {
				t.Fatalf("repetition %d, want %d", rep, next)
			}
			next++
		}
		seconds += decoded.Seconds
	}
	if next != 100+trials || math.Abs(seconds-3) > 1e-9 {
		t.Errorf("rows up to %d, %v seconds", next, seconds)
	}
}

// An infinite metric fails its trial, an unreported one is NaN, and the first fault of a trial
// counts.
func TestRecord(t *testing.T) {
	o := newOutcomes(testJob(4))
	s := newScores(3)
	s.error = []float64{0.25, 0.5, 0.75}
	s.addFaults([]host.Fault{
		{Trial: 2, Kind: host.Panic, Message: "first"}, {Trial: 2, Kind: host.Error, Message: "second"},
	})
	o.record(1, s, map[string][]float64{"b": {1, math.Inf(1), 2}})
	b := o.batches(&worker{}, 1)[0]
	if want := []uint8{ledger.OK, ledger.OK, ledger.Failed, ledger.Failed}; !slices.Equal(b.Status, want) {
		t.Errorf("status %v, want %v", b.Status, want)
	}
	if got, want := fmt.Sprint(b.Error, b.Values), "[0 0.25 NaN NaN] [[0 NaN NaN NaN] [0 1 NaN NaN]]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if !slices.Equal(b.Kind, []string{"", "", "metric", "panic"}) || b.Reason[3] != "first" {
		t.Errorf("kinds %q, reasons %q", b.Kind, b.Reason)
	}
}

// A worker that can never run a sweep leases none of its jobs, and publishes the reason.
func TestPermanentRefusal(t *testing.T) {
	w := &worker{
		plugins: newPlugins(t.Context(), Config{Plugins: map[string]host.Command{"d": {}}}), profile: "here",
		jobs: newJobQueue(t.Context(), 1), Config: Config{Log: slog.New(slog.DiscardHandler)},
	}
	for name, test := range map[string]struct {
		offer fleet.Offer
		want  string
	}{
		"it can":          {fleet.Offer{Needs: []fleet.Need{{Plugin: "d"}}}, ""},
		"its own profile": {fleet.Offer{Profile: "here"}, ""},
		"another profile": {fleet.Offer{Profile: "there"}, "there"},
		"other plugin":    {fleet.Offer{Needs: []fleet.Need{{Plugin: "e", Name: "plugin /x"}}}, "/x"},
		"other built-in": {
			fleet.Offer{Needs: []fleet.Need{{Plugin: "d"}, {Plugin: "e", Name: "the built-in x", Own: true}}}, "built-in",
		},
	} {
		test.offer.Weight = 1
		data, err := test.offer.Encode()
		if err != nil {
			t.Fatal(err)
		}
		w.handleOffer(queue.Offer{Sweep: name, Data: data})
		said := &fleet.Worker{}
		w.jobs.fillHeartbeat(said, time.Now())
		sweeps, _ := w.jobs.demand(time.Now())
		r := said.Refuses(name, time.Now())
		if (r == nil) != (test.want == "") || slices.Contains(sweeps, name) != (r == nil) {
			t.Errorf("%s: %+v, jobs of %v are leased", name, r, sweeps)
		} else if r != nil && !strings.Contains(r.Reason, test.want) {
			t.Errorf("%s: %q, want %q", name, r.Reason, test.want)
		}
	}
}
