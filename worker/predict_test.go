package worker

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/problem/problemtest"
	"github.com/shatterlab/shatter/pipeline/task"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas"
)

// States are probed at the start, after 1, 2, 4, ... queries, and at random times.
func TestChoose(t *testing.T) {
	for _, length := range []int{1, 2, 31, 32, 33, 1000, 1 << 20} {
		for seed := range uint64(5) {
			times := make([]bool, length)
			chooseProbeTimes(times, false, rand.New(rand.NewPCG(seed, 1)))
			chosen := 0
			for _, now := range times {
				if now {
					chosen++
				}
			}
			if chosen < min(length, minCompared) || chosen > max(minCompared, 2+int(math.Log2(float64(length)))) {
				t.Errorf("%d queries: %d times", length, chosen)
			}
			for i := 1; i < length; i *= 2 {
				if !times[0] || !times[i] {
					t.Errorf("%d queries: not at 0 or %d", length, i)
				}
			}
		}
	}
	p := prober{times: []bool{true, true, false, false, true, false}}
	for _, c := range [][3]int{{0, 9, 1}, {1, 9, 3}, {1, 2, 2}, {1, 1, 1}, {2, 9, 2}, {4, 9, 2}, {5, 9, 1}} {
		if got := p.chunkSize(c[0], c[1]); got != c[2] {
			t.Errorf("after %d queries at most %d at once: %d, want %d", c[0], c[1], got, c[2])
		}
	}
}

// newTestProber returns the prober of some trials of a problem, with their adversaries.
func newTestProber(t *testing.T, p schemas.Problem, trials, from int) *prober {
	t.Helper()
	problemtest.Resolve(t, &p)
	opened, err := problem.Open(p, "")
	if err != nil {
		t.Fatal(err)
	}
	job := testJob(int64(trials))
	c := job.Cell
	c.Queries, c.Adversary, c.States, c.Alpha = 100, &schemas.Adversary{Kind: "boundary"}, schemas.StatesAll, 0.1
	e := opened.Evaluation(0, c.Alpha, opened.Test(0, c.Alpha), true)
	c.Evaluation = &e
	x := &session{slot: &slot{}, job: &jobRun{Job: job, pop: &population{Problem: opened}}, from: from, to: trials}
	x.job.drawer = opened.Drawer(opened.Test(0, 0))
	x.scores = newScores(x.trials())
	return x.newProber(x.adversaries())
}

// Every state of a trial is asked about the same points in every session, and then the adversary asks the query that
// the state was asked about.
func TestProbes(t *testing.T) {
	for _, c := range []struct {
		spec   schemas.Problem
		blocks []int
		full   int
	}{
		{
			schemas.Problem{Class: "thresholds", Distribution: "uniform", Domain: 1 << 20, Test: 5000},
			[]int{64, 256, 1024}, 5000,
		},
		{schemas.Problem{Class: "thresholds", Distribution: "uniform", Domain: 100}, []int{64}, 100},
		{schemas.Problem{Class: "thresholds", Distribution: "uniform", Domain: 2000}, []int{64, 256}, 2000},
		{schemas.Problem{Class: "halfspace", Distribution: "iso", Margin: 0.1, Dim: 3, Test: 500}, []int{64}, 500},
	} {
		spec := c.spec
		whole, part := newTestProber(t, spec, 4, 0), newTestProber(t, spec, 4, 2)
		dim := whole.job.pop.Dim()
		if !slices.Equal(whole.blocks, c.blocks) || whole.full.count != c.full {
			t.Errorf("%+v: blocks up to %v, then %d points", spec, whole.blocks, whole.full.count)
		}
		all, allY := whole.draw(3, 0, 1024)
		for range 2 {
			x, y := part.draw(1, 256, 1024)
			if !slices.Equal(x, all[256*dim:]) || !slices.Equal(y, allY[256:]) {
				t.Errorf("%s: another session or state is asked about other points", spec.Class)
			}
		}
		a, b := whole.full.newExam(3), part.full.newExam(1)
		whole.full.draw([]*exam{a}, c.full)
		part.full.draw([]*exam{b}, 50)
		part.full.draw([]*exam{b}, c.full)
		if !slices.Equal(a.x, b.x) || !slices.Equal(a.y, b.y) {
			t.Errorf("%s: another session measures on other points", spec.Class)
		}
		next := *whole.list[3].peek(dim)
		if x := whole.list[3].next(nil, 2, dim); !slices.Equal(x[:dim], next.x) || whole.list[3].truths[0] != next.truth {
			t.Errorf("%s: asks %v, the state was asked about %v", spec.Class, x, next.x)
		}
		if x := part.list[1].next(nil, 1, dim); !slices.Equal(x, next.x) {
			t.Errorf("%s: asks %v in another session", spec.Class, x)
		}
	}
}

// The worst of many states near the goal has no larger error than each of them: here every state
// after the first two queries is the same threshold of error 1/16. A domain of 4,000 points is
// measured whole, and a larger one on as many points as a final model, at whose standard error a
// goal is 3.5 standard errors away.
func TestStatesNearGoal(t *testing.T) {
	testkit.Serial(t)
	s := testSlot(t)
	for _, c := range []struct {
		domain uint64
		alpha  float64
		fails  bool
		within float64 // maximum difference between measured errors
	}{
		{4000, 0.0626, false, 1e-9}, {4000, 0.0624, true, 1e-9},
		{1 << 20, 0.075, false, 0.015}, {1 << 20, 0.05, true, 0.015},
	} {
		p := schemas.Problem{Class: "thresholds", Distribution: "uniform", Domain: c.domain, Target: "middle"}
		j := played(t, jobOf(t, s, "test/receding", p, 4, 40), "predict", schemas.Adversary{Kind: "boundary"})
		opened, err := problem.Open(*j.Cell.Problem, "")
		if err != nil {
			t.Fatal(err)
		}
		j.Cell.Problem.Test = opened.Test(0, c.alpha)
		e := opened.Evaluation(0, c.alpha, j.Cell.Problem.Test, true)
		j.Cell.States, j.Cell.Alpha, j.Cell.Queries, j.Cell.Evaluation = schemas.StatesEvery, c.alpha, 3, &e
		for trial, got := range runJob(t, s, j).Error {
			if got > c.alpha != c.fails || math.Abs(got-1.0/16) > c.within {
				t.Errorf("domain %d, alpha %v, trial %d: error %v", c.domain, c.alpha, trial, got)
			}
		}
	}
}

// Means count by their expected disagreement, and the error of a trial whose answers differ from
// its states is above the goal.
func TestDisagreement(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, mean := range []float64{-1, -0.5, 0, 0.25, 1} {
		q := &queryGame{}
		for range 20000 {
			label := -1.0
			if 2*r.Float64()-1 < mean {
				label = 1
			}
			q.predicted, q.prediction = true, mean
			q.compare(label)
		}
		if d := q.disagreement(); d > 0.01 {
			t.Errorf("labels of mean %v disagree with it in %v", mean, d)
		}
	}
	q := &queryGame{probes: stateProbes{worstError: 0.04}}
	if q.compare(1); !math.IsNaN(q.disagreement()) || q.trialError(0.03, 0.2) != 0.04 ||
		q.trialError(0.05, 0.2) != 0.05 {
		t.Error("without comparisons the worst state counts")
	}
	for i := range 10 {
		q.predicted, q.prediction = true, 1
		q.compare(float64(2*min(i, 1) - 1)) // one differs
	}
	if q.disagreement() != 0.1 || q.trialError(0.03, 0) != 0.1 || math.Abs(q.trialError(0.03, 0.2)-0.3) > 1e-15 {
		t.Errorf("one of 10 differs: %v, %v", q.disagreement(), q.trialError(0.03, 0))
	}
}

// With goal.states hard, the error after c hard queries is the error of the state after the c-th:
// here c/16 of the distribution, exact if the support is small.
func TestErrorAfterHard(t *testing.T) {
	s := testSlot(t)
	for _, c := range []struct {
		domain uint64
		test   int
		within float64
	}{{16, 0, 0}, {1 << 20, 5000, 0.03}} {
		for _, offline := range []bool{false, true} {
			p := schemas.Problem{Class: "thresholds", Distribution: "uniform", Domain: c.domain, Target: "middle",
				Test: c.test}
			j := played(t, jobOf(t, s, "test/receding", p, 4, 3), "predict",
				schemas.Adversary{Kind: "boundary", Offline: offline})
			j.Cell.States, j.Cell.Metrics = schemas.StatesHard, nil
			j.Cell.Evaluation = &problem.Evaluation{States: c.test}
			for _, count := range task.HardCounts {
				j.Cell.Metrics = append(j.Cell.Metrics, task.ErrorAfterHard(count))
			}
			out := runJob(t, s, j)
			for i, count := range task.HardCounts {
				for trial, got := range out.Values[i] {
					want := float64(count) / 16
					if count > 10 { // 10 of 20 queries are hard
						want = math.NaN()
					}
					if math.IsNaN(got) != math.IsNaN(want) || math.Abs(got-want) > c.within {
						t.Errorf("domain %d, offline %v, trial %d: error %v after %d hard queries, want %v",
							c.domain, offline, trial, got, count, want)
					}
				}
			}
		}
	}
}
