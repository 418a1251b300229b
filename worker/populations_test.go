package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/problem/problemtest"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// dataProblem returns a resolved problem over a CSV file with the given number of rows, which it
// registers with ps.
func dataProblem(t *testing.T, ps *populations, rows int) (trial.Key, schemas.Problem) {
	t.Helper()
	path := testkit.WriteFile(t, fmt.Sprintf("data%d.csv", rows), testkit.CSV(rows))
	p := schemas.Problem{Class: "halfspace", Data: &schemas.Data{
		File: path, Label: "y", Positive: "p", Scale: schemas.Scale{Norm: 1},
	}}
	problemtest.Resolve(t, &p)
	ps.Files[p.Data.Digest] = path
	return trial.Key{byte(rows)}, p
}

// tables returns the number of problems whose shared table is open.
func tables(all []*population) (count int) {
	for _, pop := range all {
		if pop.Table() != nil {
			count++
		}
	}
	return count
}

// Of six data sets that were opened one after the other, the ones in use stay open, and the most
// recently used others as far as the memory permits.
func TestSixDataSets(t *testing.T) {
	ps := newPopulations(t.Context(), Config{Files: map[string]string{}}, &processes{})
	defer ps.close()
	var users []*population
	for i := range 6 {
		key, p := dataProblem(t, ps, 100+i)
		pop, err := ps.get(t.Context(), key, p)
		if err != nil {
			t.Fatal(err)
		}
		ps.maxBytes = 3*pop.bytes() + 100
		if i > 0 {
			ps.release(pop)
		}
		users = append(users, pop)
	}
	if n := tables(users); n != 3 || len(ps.open) != 3 {
		t.Errorf("%d tables and %d problems are open, want 3", n, len(ps.open))
	}
	if ps.open[trial.Key{100}] != users[0] || ps.open[trial.Key{104}] == nil || ps.open[trial.Key{105}] == nil {
		t.Errorf("others than the one in use and the last two are open")
	}
	key, p := dataProblem(t, ps, 101) // it was closed
	again, err := ps.get(t.Context(), key, p)
	if err != nil || again == users[1] || again.Row(0) == nil {
		t.Fatalf("the second one again: %v", err)
	}
	users = append(users, again)
	for _, pop := range ps.open {
		pop.lastUsed = time.Now().Add(-2 * maxIdle)
	}
	ps.closeUnused()
	if n := tables(users); n != 2 {
		t.Errorf("%d tables are open some time later, want the 2 in use", n)
	}
	ps.release(users[0])
	ps.release(again)
	ps.close()
	if n := tables(users); n != 0 {
		t.Errorf("%d tables are open at the end", n)
	}
}

// If the opening of a problem makes no progress, only jobs that need the problem wait, and a fault of its file counts
// as a fault of this worker.
func TestSlowFileBlocksNoOther(t *testing.T) {
	ps := newPopulations(t.Context(), Config{Files: map[string]string{}}, &processes{})
	defer ps.close()
	key, slow := dataProblem(t, ps, 7)
	other, p := dataProblem(t, ps, 8)
	begun, goOn := make(chan struct{}), make(chan struct{})
	ps.SharedProblem = func(p schemas.Problem) *problem.Problem {
		if p.Data.Digest == slow.Data.Digest {
			close(begun)
			<-goOn
		}
		return nil
	}
	came := make(chan error)
	go func() {
		pop, err := ps.get(t.Context(), key, slow)
		if err == nil {
			ps.release(pop)
		}
		came <- err
	}()
	<-begun
	pop, err := ps.get(t.Context(), other, p)
	if err != nil {
		t.Fatal(err)
	}
	ps.release(pop)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ps.get(ctx, key, slow); !errors.Is(err, context.Canceled) {
		t.Errorf("a job that is cancelled while it waits: %v", err)
	}
	close(goOn)
	if err := <-came; err != nil {
		t.Errorf("once the file can be opened: %v", err)
	}
	key, absent := dataProblem(t, ps, 9)
	ps.Files[absent.Data.Digest] = filepath.Join(t.TempDir(), "absent")
	_, err = ps.get(t.Context(), key, absent)
	if err == nil || !strings.Contains(err.Error(), "open data "+absent.Data.Digest[:12]) {
		t.Errorf("error %v, want a fault that names the data", err)
	}
}

// Idle processes end with the problem whose data they share.
func TestIdleProcessesStop(t *testing.T) {
	s := testSlot(t)
	ps := s.w.populations
	j := jobOf(t, s, "test/honest", problems(t)["data"], 3, 1)
	runJob(t, s, j)
	idle := func() int {
		for _, pop := range ps.open {
			pop.lastUsed = time.Now().Add(-2 * maxIdle)
		}
		ps.closeUnused()
		return len(s.w.processes.idle)
	}
	pop, err := ps.get(t.Context(), j.Cell.DataKey, *j.Cell.Problem)
	if err != nil {
		t.Fatal(err)
	}
	if n := idle(); n != 1 {
		t.Errorf("%d processes while the data is in use, want 1", n)
	}
	ps.release(pop)
	if n := idle(); n != 0 || len(ps.open) != 0 {
		t.Errorf("%d idle processes and %d open problems, want 0", n, len(ps.open))
	}
	runJob(t, s, j)
}

// A data file that a plan of this process has read is not read again for the first problem over it;
// another problem reads the file.
func TestRowsOfThePlan(t *testing.T) {
	kept := &plan.ProblemCache{}
	defer kept.Close()
	ps := newPopulations(t.Context(), Config{Files: map[string]string{}, SharedProblem: kept.Take}, &processes{})
	defer ps.close()
	var keys [2]trial.Key
	var problems [2]schemas.Problem
	var want [2][]float64 // first row of each
	for i := range keys {
		keys[i], problems[i] = dataProblem(t, ps, 100+i)
		file := problems[i].Data.File
		opened, err := problem.Open(problems[i], file)
		if err != nil {
			t.Fatal(err)
		}
		want[i] = slices.Clone(opened.Row(0))
		if err := opened.Close(); err != nil {
			t.Fatal(err)
		}
		planned, err := kept.Open(problems[i], file)
		if err != nil || planned.Resolved().Data.Digest != problems[i].Data.Digest {
			t.Fatalf("the plan opens %v, %v", planned, err)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	problems[0].Test++ // another evaluation of equal samples
	pop, err := ps.get(t.Context(), keys[0], problems[0])
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(pop.Row(0), want[0]) || pop.rows == nil || pop.Places() == nil {
		t.Error("the rows that were kept are others, or no table in an order of its own")
	}
	ps.release(pop)
	_, err = ps.get(t.Context(), keys[1], problems[1])
	if err == nil || !strings.Contains(err.Error(), "open data ") {
		t.Errorf("a second problem, whose file is gone: %v", err)
	}
}
