// Package recordtest makes records of trials for tests.
package recordtest

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/shatterlab/shatter/pipeline/dataset"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/plugins/record"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Settings lists a setting of each way in which a trial can go, without an algorithm.
func Settings() []*pluginv1.Setting {
	line := &pluginv1.Problem{Class: "thresholds", Domain: 256, Dim: 1, Noise: "none", Realizable: true}
	return []*pluginv1.Setting{
		{Task: pluginv1.Task_TASK_LEARN, Problem: line, N: 40, Alpha: 0.1, Beta: 0.1, Epsilon: 1},
		{Task: pluginv1.Task_TASK_PREDICT, Problem: line, N: 40, Alpha: 0.1, Beta: 0.1, Epsilon: 1, Queries: 7, Sees: "past"},
		{
			Task: pluginv1.Task_TASK_PREDICT, Problem: line, N: 40, Alpha: 0.1, Beta: 0.1, Epsilon: 1, Queries: 7,
			Offline: true, Sees: "nothing",
		},
		{Task: pluginv1.Task_TASK_ONLINE, Problem: line, Alpha: 0.1, Beta: 0.1, Epsilon: 1, Rounds: 9, Sees: "past"},
	}
}

// Make starts a plugin, lets it play one trial on points of a line, and returns the trial's record and
// the file in which that is written.
func Make(t testing.TB, c host.Command, s *pluginv1.Setting) (r *record.Record, file string) {
	t.Helper()
	c.Dataset, c.Recorder = shared(t), new(host.Recorder)
	p, err := host.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	if err := play(t, p, s); err != nil {
		t.Fatal(err)
	}
	if r, err = c.Recorder.Record(); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "trial.arrow")
	if err := r.WriteFile(file); err != nil {
		t.Fatal(err)
	}
	return r, file
}

// point returns the i-th of a sequence of points.
func point(i int) float64 { return float64(i * 37 % 256) }

func label(x float64) float64 {
	if x >= 100 {
		return 1
	}
	return -1
}

func fill(x []float64) {
	for i := range x {
		x[i] = point(i)
	}
}

// shared returns a dataset of points.
func shared(t testing.TB) *dataset.Memory {
	t.Helper()
	l, err := dataset.Plan(dataset.Schema{Columns: []dataset.Column{{Name: "x", Type: dataset.List, Width: 1}}}, 50, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := dataset.NewMemory("recordtest", int64(l.Size()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	l.Init(m.Bytes())
	fill(l.List(m.Bytes(), 0))
	return m
}

// play plays one trial as a worker does.
func play(t testing.TB, p *host.Process, s *pluginv1.Setting) error {
	ctx := t.Context()
	session, faults, err := p.Open(ctx, host.OpenRequest{Setting: s, Seeds: []uint64{7, 1 << 63}, Reveal: fill},
		func(x, y []float64) {
			fill(x)
			for i := range y {
				y[i] = label(x[i])
			}
		})
	if err != nil || len(faults) > 0 {
		return fmt.Errorf("open: %v, %w", faults, err)
	}
	for i := range int(s.Queries) {
		if _, _, _, err := session.Play(ctx, []uint32{1}, func(x []float64) { x[0] = point(i) }); err != nil {
			return err
		}
	}
	var truths []float64
	for i := range int(s.Rounds) {
		if _, _, err := session.Round(ctx, []uint32{1}, truths, func(x []float64) { x[0] = point(i) }); err != nil {
			return err
		}
		truths = []float64{label(point(i))}
	}
	if s.Rounds == 0 {
		if _, _, err := session.Step(ctx, []uint32{20}, fill); err != nil {
			return err
		}
		if _, _, err := session.StepShared(ctx, []uint32{30}, 10); err != nil {
			return err
		}
	}
	_, _, err = session.CloseRound(ctx, truths)
	return err
}
