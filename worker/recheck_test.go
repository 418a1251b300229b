package worker

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/sandbox"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// rechecked returns the recheck of some of a job's trials.
func rechecked(j *trial.Job, recheck trial.Recheck, picked ...int64) *trial.Job {
	again := *j
	again.Recheck, again.Picked, again.First, again.Count = recheck, picked, picked[0], int64(len(picked))
	return &again
}

// differing counts the trials of a recheck whose outcome differs from the first run: another
// status, error, or metric of the worker, bit for bit. failed counts the trials that the recheck
// itself failed.
func differing(first, again *outcomes) (differ, failed int) {
	for i := range again.Status {
		rep := again.Repetition[i] - first.Repetition[0]
		same := again.Status[i] == first.Status[rep] && math.Float64bits(again.Error[i]) == math.Float64bits(first.Error[rep])
		for m, name := range again.Metrics {
			if name != "process" && name != "turn" && again.Values[m][i] != first.Values[m][rep] {
				same = false
			}
		}
		if !same {
			differ++
		}
		if kind := again.Kind[i]; kind == "recheck" || kind == string(schemas.CauseDeclared) {
			failed++
		}
	}
	return differ, failed
}

// picks lists the trials, of a job of 60, that a recheck runs again.
var picks = []int64{3, 7, 8, 20, 33, 41, 50, 59}

// An honest algorithm has the same outcomes in both rechecks, for every kind of evaluation.
func TestHonestRechecks(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	s := testSlot(t)
	for name, p := range problems(t) {
		if name == "drawn, one long" {
			continue
		}
		for _, algorithm := range []string{"test/honest", "test/fraction", "test/coin"} {
			j := jobOf(t, s, algorithm, p, 3, 60)
			first := runJob(t, s, j)
			if differ, _ := differing(first, runJob(t, s, rechecked(j, trial.RecheckShuffled, picks...))); differ > 0 {
				t.Errorf("%s, %s: %d trials differ in a shuffled recheck", algorithm, name, differ)
			}
			if algorithm != "test/coin" || name != "exact" && name != "data" {
				continue // a process per trial takes long
			}
			if differ, _ := differing(first, runJob(t, s, rechecked(j, trial.RecheckFresh, 59))); differ > 0 {
				t.Errorf("%s, %s: %d trials differ alone", algorithm, name, differ)
			}
		}
	}
}

// The shuffled recheck detects every kind of dependence. Alone, in the order and chunks of the
// first run, answers that depend on the other points of a call are the same, and random answers are
// not.
func TestDishonestRechecks(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	problems := problems(t)
	s := testSlot(t)
	for algorithm, expect := range map[string]struct{ fails, same bool }{ // results of a shuffled recheck, and alone
		"test/rank": {true, true}, "test/place": {true, true}, "test/mean": {true, true}, "test/first": {false, true},
		"test/memory": {false, false}, "test/counter": {true, false}, "test/clock": {false, false},
	} {
		for _, name := range []string{"exact", "drawn", "needle", "needle intervals", "data"} {
			j := jobOf(t, s, algorithm, problems[name], 3, 60)
			first := runJob(t, s, j)
			differ, failed := differing(first, runJob(t, s, rechecked(j, trial.RecheckShuffled, picks...)))
			least := len(picks) / 2
			if algorithm == "test/first" && name == "data" {
				least = len(picks) / 4 // few orders of the rows change the answers
			}
			if differ < least {
				t.Errorf("%s, %s: %d of %d trials differ", algorithm, name, differ, len(picks))
			}
			if expect.fails && failed < len(picks)/2 {
				t.Errorf("%s, %s: %d of %d trials failed", algorithm, name, failed, len(picks))
			}
			if name != "needle" {
				continue // a process per trial takes long
			}
			differ, _ = differing(first, runJob(t, s, rechecked(j, trial.RecheckFresh, 59)))
			if expect.same != (differ == 0) {
				t.Errorf("%s, %s: %d of 1 trials differ alone", algorithm, name, differ)
			}
		}
	}
}

// The reason contains the point and both answers.
func TestRecheckReason(t *testing.T) {
	t.Parallel()
	s := testSlot(t)
	j := jobOf(t, s, "test/counter", problems(t)["needle"], 3, 4)
	out := runJob(t, s, rechecked(j, trial.RecheckShuffled, 0, 2))
	for i, status := range out.Status {
		reason := out.Reason[i]
		if status != ledger.Failed || out.Kind[i] != "recheck" || !math.IsNaN(out.Error[i]) ||
			!strings.HasPrefix(reason, "answers depend on other points: point ") ||
			!strings.Contains(reason, " of 3 ") {
			t.Errorf("status %d, %s", status, reason)
		}
	}
}

// Games are replayed unchanged, and the final answers of predict are rechecked.
func TestRechecksAtGames(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	s := testSlot(t)
	p := schemas.Problem{Class: "thresholds", Distribution: "uniform", Domain: 1 << 10}
	predict := func(algorithm string) *trial.Job {
		return played(t, jobOf(t, s, algorithm, p, 3, 60), "predict", schemas.Adversary{Kind: "stochastic"})
	}
	online := played(t, jobOf(t, s, "test/honest", p, 20, 60), "online", schemas.Adversary{Kind: "random"})
	for name, c := range map[string]struct {
		job    *trial.Job
		honest bool
	}{
		"predict": {predict("test/honest"), true}, "online": {online, true},
		"predict by rank": {predict("test/rank"), false},
	} {
		first := runJob(t, s, c.job)
		if slices.Contains(first.Status, ledger.Failed) {
			t.Fatalf("%s: %v", name, first.Reason)
		}
		for _, recheck := range []trial.Recheck{trial.RecheckShuffled, trial.RecheckFresh} {
			differ, failed := differing(first, runJob(t, s, rechecked(c.job, recheck, 3, 7, 59)))
			if c.honest && differ > 0 || !c.honest && recheck == trial.RecheckShuffled && failed == 0 {
				t.Errorf("%s, recheck %q: %d trials differ, %d failed", name, recheck, differ, failed)
			}
		}
	}
}

// A recheck runs in a process that runs only rechecks, or only this one. Processes of first runs
// have ended by then, in all slots.
func TestRecheckProcesses(t *testing.T) {
	t.Parallel()
	s := testSlot(t)
	j := jobOf(t, s, "test/honest", problems(t)["needle"], 3, 10)
	processes := func(j *trial.Job) (numbers, turns []float64) {
		out := runJob(t, s, j)
		return out.Values[0], out.Values[1]
	}
	first, _ := processes(j)
	shuffled, turns := processes(rechecked(j, trial.RecheckShuffled, 2, 5))
	if shuffled[0] == first[0] || shuffled[1] != shuffled[0] || !slices.Equal(turns, []float64{1, 2}) {
		t.Errorf("a shuffled recheck in %v, turns %v, after %v", shuffled, turns, first[0])
	}
	known := []float64{first[0], shuffled[0]}
	for range 2 {
		fresh, turns := processes(rechecked(j, trial.RecheckFresh, 2, 5))
		if slices.Contains(known, fresh[0]) || fresh[1] != fresh[0] || !slices.Equal(turns, []float64{1, 2}) {
			t.Errorf("a fresh process %v, turns %v, after %v", fresh, turns, known)
		}
		known = append(known, fresh[0])
	}
	again, turns := processes(j)
	if again[0] == first[0] || turns[0] != 1 {
		t.Errorf("first runs went on in %v, turn %v, after %v", again[0], turns[0], first[0])
	}
	runJob(t, &slot{w: s.w}, rechecked(j, trial.RecheckFresh, 2))
	for _, p := range s.w.processes.idle {
		if p.key.recheck == "" {
			t.Error("a process of first runs was left")
		}
	}
	if next, turns := processes(rechecked(j, trial.RecheckShuffled, 2, 5)); next[0] != shuffled[0] || turns[0] != 3 {
		t.Errorf("rechecks went on in %v, turn %v, after %v", next[0], turns[0], shuffled[0])
	}
}

// With many kinds of processes, processes of rechecks are stopped first, and the most recently used
// process stays.
func TestProcessesMakeRoom(t *testing.T) {
	t.Parallel()
	s := testSlot(t)
	j := jobOf(t, s, "test/honest", problems(t)["needle"], 3, 2)
	kind := func(memory int64) *trial.Job {
		other := *j
		cell := *j.Cell
		cell.Limits.Memory = 1<<30 + memory
		other.Cell = &cell
		return &other
	}
	runJob(t, s, rechecked(kind(1), trial.RecheckShuffled, 1))
	var first []float64 // values by kind
	for i := range int64(idlePerSlot + 1) {
		first = append(first, runJob(t, s, kind(i+1)).Values[0][0]) // the last one stops the process of the recheck
	}
	for i, want := range first {
		if got := runJob(t, s, kind(int64(i)+1)).Values[0][0]; got != want {
			t.Errorf("kind %d runs in a new process", i+1)
		}
	}
	runJob(t, s, kind(idlePerSlot+2)) // the process of the first kind is stopped
	last := runJob(t, s, kind(idlePerSlot+1)).Values[0][0]
	if last != first[idlePerSlot] || len(s.w.processes.idle) != idlePerSlot+1 {
		t.Errorf("%d processes", len(s.w.processes.idle))
	}
}

// A trial that ends the process ends only its own outcome, in a recheck too, also among picked repetitions.
func TestCrashInRecheck(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	s := testSlot(t)
	p := problems(t)["exact"]
	j := jobOf(t, s, "test/crash", p, 3, 8)
	j.Cell.DataKey = trial.Key{2} // some of these samples, and not all, make it crash
	first := runJob(t, s, j)
	crashed := 0
	for rep, status := range first.Status {
		if status == ledger.OK {
			continue
		}
		if crashed++; first.Kind[rep] != "crash" || status != ledger.Failed {
			t.Errorf("trial %d: status %d, %s", rep, status, first.Reason[rep])
		}
	}
	if crashed < 2 || crashed > 4 {
		t.Fatalf("%d trials crashed", crashed)
	}
	var reps []int64
	for rep := int64(1); rep < 8; rep += 2 {
		reps = append(reps, rep)
	}
	for _, recheck := range []trial.Recheck{trial.RecheckShuffled, trial.RecheckFresh} {
		if recheck == trial.RecheckFresh {
			reps = reps[:2]
		}
		if differ, _ := differing(first, runJob(t, s, rechecked(j, recheck, reps...))); differ > 0 {
			t.Errorf("recheck %q: %d trials differ", recheck, differ)
		}
	}
}

// A game whose process ended is played again, and scored only if it is played as before.
func TestGameBegunAgain(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	for name, failed := range map[string]bool{"test/honest": false, "test/leaver-false": false, "test/leaver-true": true} {
		s := testSlot(t)
		c := s.w.Plugins["d"]
		c.Env = append(c.Env, diaryVariable+"="+filepath.Join(t.TempDir(), "diary"))
		c.Sandbox.Mode = sandbox.Off // which refuses the file
		s.w.Plugins["d"] = c
		p := schemas.Problem{Class: "thresholds", Distribution: "uniform", Domain: 1 << 10}
		out := runJob(t, s, played(t, jobOf(t, s, name, p, 20, 1), "online", schemas.Adversary{Kind: "random"}))
		if ended := len(out.Notes) > 0; ended != (name != "test/honest") {
			t.Errorf("%s: processes that ended: %q", name, out.Notes)
		}
		if got := out.Status[0] == ledger.Failed && out.Kind[0] == "replay"; got != failed {
			t.Errorf("%s: error %v, status %d, %s", name, out.Error[0], out.Status[0], out.Reason[0])
		}
		s.w.begunGames.Range(func(id, _ any) bool {
			t.Errorf("%s: trial %v is remembered", name, id)
			return false
		})
	}
}
