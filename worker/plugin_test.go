package worker

import (
	"context"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas"
)

// roleVariable makes this test binary a plugin that serves the algorithms of this package's tests.
const roleVariable = "SHATTER_WORKER_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) != "" {
		algo.Serve(served...)
		return
	}
	goleak.VerifyTestMain(m)
}

// served lists the algorithms that the test binary serves.
var served = []algo.Plugin{honest}

// honest answers by the first example and the one point.
var honest = learner("test/honest", func(t *algo.Trial[struct{}], sample *algo.Data) answers {
	threshold, label := sample.X(0)[0], sample.Y(0)
	return func(x *algo.Data, out []float64) {
		for i := range out {
			out[i] = label
			if (x.X(i)[0] >= threshold) != (label > 0) {
				out[i] = -label
			}
		}
	}
})

// answers answers the points of one call.
type answers func(x *algo.Data, out []float64)

func (a answers) Predict(_ context.Context, x *algo.Data, out []float64) error {
	a(x, out)
	return nil
}

// learner makes an algorithm without parameters of a function from the sample to the answers.
func learner(name string, learn func(t *algo.Trial[struct{}], sample *algo.Data) answers) algo.Algorithm[struct{}] {
	return algo.Algorithm[struct{}]{
		Name: name, Version: "1", Doc: "For tests.",
		Learn: func(_ context.Context, t *algo.Trial[struct{}], sample *algo.Data) (algo.Model, error) {
			return learn(t, sample), nil
		},
	}
}

// testSlot returns a slot of a worker whose only plugin, of digest "d", is this binary.
func testSlot(t testing.TB) *slot {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Plugins: map[string]host.Command{"d": {Path: self, Env: []string{roleVariable + "=plugin"}}}}
	w := &worker{Config: c, populations: newPopulations(c)}
	s := &slot{w: w}
	t.Cleanup(func() {
		s.stop()
		w.populations.close()
	})
	return s
}

// jobOf returns a job of the first trials of an algorithm on a problem, which it resolves.
func jobOf(t testing.TB, algorithm string, p schemas.Problem, n, trials int64) *trial.Job {
	t.Helper()
	if err := problem.Resolve(&p); err != nil {
		t.Fatal(err)
	}
	return &trial.Job{
		Sweep: "s", ID: "i", N: n, Count: trials, Plugin: "d",
		Cell: &trial.Cell{
			Key: trial.Key{1}, DataKey: trial.Key{2}, NoiseKey: trial.Key{3}, AdversaryKey: trial.Key{4},
			Task: schemas.TaskLearn, Problem: p, Algorithm: algorithm, Alpha: 0.1, Beta: 0.1,
		},
	}
}

// runJob runs a job and returns its outcomes.
func runJob(t testing.TB, s *slot, j *trial.Job) *outcomes {
	t.Helper()
	out, err := s.run(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
