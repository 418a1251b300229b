package host

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// answering answers queries by their sign, marks the query 0 as hard, and, asked for its final
// state, gives its number of queries in hundredths. What was revealed must be what is asked.
type answering struct {
	wrong    bool
	revealed []float64
	asked    int
}

type answeringParams struct {
	Wrong bool `doc:"answer the query 7 with 1/2"`
}

var queried = algo.Algorithm[answeringParams]{
	Name: "test/queried", Version: "1",
	Predict: func(_ context.Context, t *algo.Trial[answeringParams], sample *algo.Data) (algo.Answerer, error) {
		a := &answering{wrong: t.Params.Wrong}
		if t.Offline {
			a.revealed = slices.Clone(t.Revealed.Xs())
		}
		if sample.Len() != t.N || t.Queries == 0 || t.Offline != (len(a.revealed) == t.Queries) {
			return nil, algo.Invalid("%d queries, %d revealed, after %d examples",
				t.Queries, len(a.revealed), sample.Len())
		}
		return a, nil
	},
}

func (a *answering) Answer(_ context.Context, x []float64) (float64, bool, error) {
	if a.revealed != nil && a.revealed[a.asked] != x[0] {
		return 0, false, algo.Invalid("query %d is %v, revealed was %v", a.asked, x[0], a.revealed[a.asked])
	}
	a.asked++
	switch {
	case a.wrong && x[0] == 7:
		return 0.5, false, nil
	case x[0] < 0:
		return -1, false, nil
	}
	return 1, x[0] == 0, nil
}

func (a *answering) Predict(_ context.Context, _ *algo.Data, out []float64) error {
	for i := range out {
		out[i] = float64(a.asked) / 100
	}
	return nil
}

// withQueries asks for a session of trials with queries.
func withQueries(trials, queries int, offline, wrong bool) OpenRequest {
	r := request("test/queried", trials, 2, 1, nil)
	r.Setting.Task, r.Setting.Queries, r.Setting.Offline = pluginv1.Task_TASK_PREDICT, int64(queries), offline
	r.Setting.Parameters["wrong"] = &pluginv1.Value{Kind: &pluginv1.Value_Bool{Bool: wrong}}
	return r
}

// Queries go to each trial in order, in steps of any size; marks come back; probes change nothing;
// and an answer that is no label ends its trial alone.
func TestQueries(t *testing.T) {
	t.Parallel()
	p := start(t, self("plugin"))
	for _, offline := range []bool{false, true} {
		const trials, queries = 5, 12
		query := func(j, q int) float64 { return float64(q - 2*j) }
		r := withQueries(trials, queries, offline, true)
		if offline {
			r.Reveal = func(x []float64) {
				for i := range x {
					x[i] = query(i/queries, i%queries)
				}
			}
		}
		s, faults, err := p.Open(t.Context(), r, numbered(trials))
		if err != nil || len(faults) > 0 {
			t.Fatal(faults, err)
		}
		done, failed := make([]int, trials), make([]bool, trials)
		for step := 1; done[trials-1] < queries; step++ {
			counts := make([]uint32, trials)
			var asked []float64
			for j := range counts {
				if !failed[j] {
					counts[j] = uint32(min(step, queries-done[j]))
				}
				for q := range int(counts[j]) {
					asked = append(asked, query(j, done[j]+q))
				}
			}
			next := asked
			labels, marks, faults, err := s.Play(t.Context(), counts, func(x []float64) { next = next[copy(x, next):] })
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range faults {
				if f.Kind != Answer || !strings.Contains(f.Message, "is 0.5, neither -1 nor +1") {
					t.Fatal(f)
				}
				failed[f.Trial] = true
			}
			i := 0
			for j, c := range counts {
				for range c {
					if want := labelOf(asked[i]); !failed[j] && (labels[i] != want || (marks[i] != 0) != (asked[i] == 0)) {
						t.Fatalf("trial %d, query %v: label %v, mark %v", j, asked[i], labels[i], marks[i])
					}
					i++
				}
				done[j] += int(c)
			}
		}
		if want := []bool{true, true, true, false, false}; !slices.Equal(failed, want) {
			t.Fatalf("failed %v, want %v", failed, want)
		}
		counts := []uint32{0, 0, 0, 2, 1}
		for range 2 {
			answers, _, err := s.Step(t.Context(), counts, func(x []float64) { clear(x) })
			if err != nil || !slices.Equal(answers, []float64{0.12, 0.12, 0.12}) {
				t.Fatal(answers, err)
			}
		}
		steps := s.messages/2 - 3 // less open and two probes
		if _, _, err := s.Close(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if steps != 5 { // 1 + 2 + 3 + 4 and the last 2 queries of each trial
			t.Errorf("%d round trips", steps)
		}
	}
}

func labelOf(x float64) float64 {
	if x < 0 {
		return -1
	}
	return 1
}

// The error of a process with too little memory contains the size that suffices for sample and queries together.
func TestQueriesNeedMemory(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	c := self("plugin")
	for _, n := range []int64{2, 100_000} { // the queries do not fit, or not even the sample
		c.SessionMemory = 1 << 20
		r := withQueries(1, 200_000, true, false)
		r.Setting.N, r.Reveal = n, func(x []float64) { clear(x) }
		_, _, err := start(t, c).Open(t.Context(), r, numbered(1))
		var small *SizeError
		if !errors.As(err, &small) {
			t.Fatal(err)
		}
		c.SessionMemory = small.Need
		s, faults, err := start(t, c).Open(t.Context(), r, numbered(1))
		if err != nil || len(faults) > 0 {
			t.Fatalf("n %d, %d bytes: %v, %v", n, small.Need, faults, err)
		}
		if _, _, err := s.Close(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
}

// A learner is asked no queries, and a player is not asked to learn.
func TestQueriesOfAnotherTask(t *testing.T) {
	t.Parallel()
	p := start(t, self("plugin"))
	s, _, err := p.Open(t.Context(), request("test/behaving", 1, 2, 1, nil), numbered(1))
	if err != nil {
		t.Fatal(err)
	}
	_, _, faults, err := s.Play(t.Context(), []uint32{1}, func(x []float64) { clear(x) })
	if err != nil || len(faults) != 1 || !strings.Contains(faults[0].Message, "the task learn has no queries") {
		t.Error(faults, err)
	}
	if _, _, err := s.Close(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	r, err := p.Check(t.Context(), request("test/queried", 1, 2, 1, nil).Setting)
	if err != nil || !strings.Contains(r.GetRefusal().GetMessage(), `does not do the task "learn"`) {
		t.Error(r, err)
	}
	bad := withQueries(1, 3, true, false)
	if _, _, err := p.Open(t.Context(), bad, numbered(1)); err == nil ||
		!strings.Contains(err.Error(), "queries to reveal") {
		t.Error(err)
	}
}
