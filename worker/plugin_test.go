package worker

import (
	"context"
	"crypto/sha256"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/problem/adversary"
	"github.com/shatterlab/shatter/pipeline/problem/problemtest"
	"github.com/shatterlab/shatter/pipeline/task"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas"
)

// roleVariable makes this test binary a plugin that serves the algorithms of this package's tests.
const roleVariable = "SHATTER_WORKER_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) != "" {
		algo.Serve(served()...)
		return
	}
	goleak.VerifyTestMain(m)
}

// learners lists the algorithms that the test binary serves, as functions from the sample to the
// answers: honest ones, whose answer to a point is a function of the sample and the point, and
// others.
var learners = map[string]func(t *algo.Trial[struct{}], sample *algo.Data) answers{
	"test/honest": func(_ *algo.Trial[struct{}], sample *algo.Data) answers { return pointwise(stump(sample)) },
	"test/fraction": func(*algo.Trial[struct{}], *algo.Data) answers {
		return pointwise(fraction)
	},
	"test/coin": func(t *algo.Trial[struct{}], _ *algo.Data) answers {
		a := 2*t.Rand.Float64() - 1
		return pointwise(func([]float64) float64 { return a })
	},
	"test/crash": func(_ *algo.Trial[struct{}], sample *algo.Data) answers {
		if fraction(sample.X(0)) > 0.8 {
			os.Exit(3)
		}
		return pointwise(stump(sample))
	},

	// Depends on the rank among the points of the call.
	"test/rank": func(*algo.Trial[struct{}], *algo.Data) answers {
		return func(x *algo.Data, out []float64) {
			for i := range out {
				out[i] = -1
				below := 0
				for k := range out {
					if x.X(k)[0] < x.X(i)[0] {
						below++
					}
				}
				if 2*below >= len(out) {
					out[i] = 1
				}
			}
		}
	},
	// Depends on the place in the call.
	"test/place": func(*algo.Trial[struct{}], *algo.Data) answers {
		return func(_ *algo.Data, out []float64) {
			for i := range out {
				out[i] = 1 - 2*float64(i%2)
			}
		}
	},
	// Depends on the mean of the points of the call.
	"test/mean": func(*algo.Trial[struct{}], *algo.Data) answers {
		return func(x *algo.Data, out []float64) {
			mean := 0.0
			for i := range out {
				mean += x.X(i)[0] / float64(len(out))
			}
			pointwise(func(x []float64) float64 { return 2*float64(b2i(x[0] >= mean)) - 1 })(x, out)
		}
	},
	// Depends on the samples of all trials of the process so far.
	"test/memory": func(_ *algo.Trial[struct{}], sample *algo.Data) answers {
		remembered += fraction(sample.X(0))
		return times(remembered)
	},
	// Depends on a counter of calls.
	"test/counter": func(*algo.Trial[struct{}], *algo.Data) answers {
		return func(x *algo.Data, out []float64) {
			calls++
			times(float64(calls))(x, out)
		}
	},
	// Depends on the time, once per trial.
	"test/clock": func(*algo.Trial[struct{}], *algo.Data) answers {
		return times(float64(time.Now().UnixNano()))
	},
	// Depends on the number of points so far: other answers after the first block of the sequential
	// rule, and invalid answers to some points after the second.
	"test/blocks": func(*algo.Trial[struct{}], *algo.Data) answers {
		asked := 0
		return func(x *algo.Data, out []float64) {
			for i := range out {
				out[i] = 2*float64(b2i(fraction(x.X(i)) < 0.35)) - 1
				switch asked++; {
				case asked > 125 && fraction(x.X(i)) > 0.999:
					out[i] = 3
				case asked > 63:
					out[i] = -out[i]
				}
			}
		}
	},
	// Depends on the first point of the call.
	"test/first": func(*algo.Trial[struct{}], *algo.Data) answers {
		first := math.NaN()
		return func(x *algo.Data, out []float64) {
			if math.IsNaN(first) {
				first = 7 * fraction(x.X(0))
			}
			times(first)(x, out)
		}
	},
}

// State of the process that dishonest algorithms share between trials.
var (
	remembered float64
	calls      int
	learned    int
	checked    int
)

// times returns the answers of a function of one point and of v.
func times(v float64) answers {
	a := math.Sin(v)
	return pointwise(func(x []float64) float64 { return a * fraction(x) })
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// stump returns the rule with its threshold at the first example.
func stump(sample *algo.Data) func(x []float64) float64 {
	threshold, label := sample.X(0)[0], sample.Y(0)
	return func(x []float64) float64 { return label * (2*float64(b2i(x[0] >= threshold)) - 1) }
}

// fraction is a function of a point; the bits of a sum of its values depend on the order.
func fraction(x []float64) float64 {
	sum := 0.0
	for i, v := range x {
		sum += v * float64(i+3) * 1.37
	}
	return sum - 2*math.Floor(sum/2) - 1
}

// pointwise returns the answers of a function of one point.
func pointwise(f func(x []float64) float64) answers {
	return func(x *algo.Data, out []float64) {
		for i := range out {
			out[i] = f(x.X(i))
		}
	}
}

// An answers function answers the points of one call.
type answers func(x *algo.Data, out []float64)

func (a answers) Predict(_ context.Context, x *algo.Data, out []float64) error {
	a(x, out)
	return nil
}

// A player answers queries one by one.
type player struct{ answers }

func (p *player) Answer(ctx context.Context, x []float64) (label float64, hard bool, err error) {
	out := []float64{0}
	err = p.Predict(ctx, algo.NewData(x, len(x), nil), out)
	return out[0], out[0] > 0, err
}

// processNumber differs between processes. In a pid namespace the process id does not.
var processNumber = float64(rand.Uint32())

// served returns the algorithms. Each reports its process, and the number of the trial in it.
func served() (all []algo.Plugin) {
	for name, learn := range learners {
		report := func(t *algo.Trial[struct{}]) {
			learned++
			t.Report("process", processNumber)
			t.Report("turn", float64(learned))
		}
		all = append(all, algo.Algorithm[struct{}]{
			Name: name, Version: "1", Doc: "For tests.",
			Metrics: map[string]string{"process": "its number", "turn": "the number of trials of the process so far"},
			Learn: func(_ context.Context, t *algo.Trial[struct{}], sample *algo.Data) (algo.Model, error) {
				report(t)
				return learn(t, sample), nil
			},
			Predict: func(_ context.Context, t *algo.Trial[struct{}], sample *algo.Data) (algo.Answerer, error) {
				report(t)
				return &player{learn(t, sample)}, nil
			},
			Online: func(_ context.Context, t *algo.Trial[struct{}]) (algo.Learner, error) {
				report(t)
				return &majority{}, nil
			},
		})
	}
	all = append(all, declarers()...)
	for _, cheats := range []bool{false, true} {
		all = append(all, algo.Algorithm[struct{}]{
			Name: "test/leaver-" + strconv.FormatBool(cheats), Version: "1", Doc: "Ends the first process after some rounds.",
			Metrics: map[string]string{"process": "its number", "turn": "none"},
			Online: func(context.Context, *algo.Trial[struct{}]) (algo.Learner, error) {
				return &leaver{cheats: cheats, diary: os.Getenv(diaryVariable)}, nil
			},
		})
	}
	return append(all, algo.Algorithm[struct{}]{
		Name: "test/receding", Version: "1", Doc: "After c hard queries it is the threshold (8+c)/16 of the domain.",
		Predict: func(_ context.Context, t *algo.Trial[struct{}], _ *algo.Data) (algo.Answerer, error) {
			return &receding{domain: float64(t.Problem.Domain)}, nil
		},
	}, algo.Algorithm[struct{}]{
		Name: "test/least", Version: "1", Doc: "Takes 8 examples or more, never 13, and ends at 14.",
		Metrics: map[string]string{"process": "its number", "turn": "none"},
		Check: func(s *algo.Setting[struct{}]) error {
			switch {
			case 0 < s.N && s.N < 8:
				checked++
				return algo.Infeasible("only from 8 on, asked %d times", checked)
			case s.N == 13:
				return algo.Invalid("13 is unlucky")
			case s.N == 14:
				os.Exit(3)
			}
			return nil
		},
		Learn: func(_ context.Context, _ *algo.Trial[struct{}], sample *algo.Data) (algo.Model, error) {
			return pointwise(stump(sample)), nil
		},
	})
}

// declarers returns algorithms whose models are declared hypotheses.
func declarers() []algo.Plugin {
	declarer := func(name string, always bool, learn func(*algo.Trial[struct{}], *algo.Data) algo.Model) algo.Plugin {
		return algo.Algorithm[struct{}]{
			Name: name, Version: "1", Doc: "For tests.",
			Metrics:  map[string]string{"process": "its number", "turn": "none"},
			Declares: func(*algo.Setting[struct{}]) bool { return always },
			Learn: func(_ context.Context, t *algo.Trial[struct{}], sample *algo.Data) (algo.Model, error) {
				return learn(t, sample), nil
			},
		}
	}
	sum := func(_ *algo.Trial[struct{}], sample *algo.Data) algo.Model {
		w := make([]float64, sample.Dim())
		for i := range sample.Len() {
			for k, v := range sample.X(i) {
				w[k] += sample.Y(i) * v
			}
		}
		return algo.Halfspace(w, 0)
	}
	return []algo.Plugin{
		declarer("test/sum", true, sum),
		declarer("test/answered-sum", false, func(t *algo.Trial[struct{}], sample *algo.Data) algo.Model {
			model := sum(t, sample)
			return answers(func(x *algo.Data, out []float64) { _ = model.Predict(context.Background(), x, out) })
		}),
		declarer("test/mixed", false, func(t *algo.Trial[struct{}], sample *algo.Data) algo.Model {
			if model := sum(t, sample); t.Rand.IntN(2) == 0 {
				return model
			}
			return pointwise(stump(sample))
		}),
		declarer("test/two-faced", true, func(t *algo.Trial[struct{}], sample *algo.Data) algo.Model {
			return twoFaced{sum(t, sample).(*algo.Declared)}
		}),
		declarer("test/broken-promise", true, func(t *algo.Trial[struct{}], sample *algo.Data) algo.Model {
			switch t.Rand.IntN(4) {
			case 0:
				return sum(t, sample)
			case 1:
				return pointwise(stump(sample))
			case 2:
				return algo.Halfspace(sample.X(0), 0.1)
			}
			return algo.Halfspace([]float64{math.NaN(), 1, 1, 1, 1}, 0)
		}),
	}
}

// A twoFaced declares a hypothesis, and answers differently.
type twoFaced struct{ *algo.Declared }

func (m twoFaced) Predict(ctx context.Context, x *algo.Data, out []float64) error {
	err := m.Declared.Predict(ctx, x, out)
	out[len(out)/2] = -out[len(out)/2]
	return err
}

// A receding is a threshold that moves away with every second query, which it marks as hard.
type receding struct {
	domain float64
	asked  int
}

func (r *receding) Predict(_ context.Context, x *algo.Data, out []float64) error {
	for i := range out {
		out[i] = r.label(x.X(i))
	}
	return nil
}

func (r *receding) Answer(_ context.Context, x []float64) (label float64, hard bool, err error) {
	label = r.label(x)
	r.asked++
	return label, r.asked%2 == 0, nil
}

func (r *receding) label(x []float64) float64 {
	return 2*float64(b2i(x[0] >= float64(8+r.asked/2)/16*r.domain)) - 1
}

// A majority predicts the mean of the truths so far.
type majority struct{ sum, rounds float64 }

func (m *majority) Predict(_ context.Context, _ *algo.Data, out []float64) error {
	for i := range out {
		out[i] = m.sum / max(1, m.rounds)
	}
	return nil
}

func (m *majority) Observe(_ context.Context, _ *algo.Data, y []float64) error {
	for _, v := range y {
		m.sum, m.rounds = m.sum+v, m.rounds+1
	}
	return nil
}

// diaryVariable names a file that a leaver writes and reads.
const diaryVariable = "SHATTER_WORKER_TEST_DIARY"

// A leaver answers as majority does. It writes the truths to a file, one per byte, and ends the process when there are
// 15. If the file has them already, it stays, and if it cheats, it answers with them.
type leaver struct {
	majority
	cheats bool
	diary  string
	round  int
}

func (l *leaver) Predict(ctx context.Context, x *algo.Data, out []float64) error {
	if known, err := os.ReadFile(l.diary); err == nil && l.cheats && l.round < len(known) {
		out[0] = float64(known[l.round]) - 1
		return nil
	}
	return l.majority.Predict(ctx, x, out)
}

func (l *leaver) Observe(ctx context.Context, x *algo.Data, y []float64) error {
	known, _ := os.ReadFile(l.diary)
	if l.round++; l.round > len(known) {
		if err := os.WriteFile(l.diary, append(known, byte(y[0]+1)), 0o600); err != nil {
			return err
		}
		if l.round == 15 {
			os.Exit(3)
		}
	}
	return l.majority.Observe(ctx, x, y)
}

// testSlot returns a slot of a worker whose only plugin, with digest "d", is this binary.
func testSlot(t testing.TB) *slot {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := host.Command{Path: self, Env: []string{roleVariable + "=plugin"}}
	c := Config{Plugins: map[string]host.Command{"d": command}, Files: map[string]string{}}
	running := &processes{slots: 1}
	w := &worker{
		Config: c, processes: running, populations: newPopulations(t.Context(), c, running),
		plugins: newPlugins(t.Context(), c), jobs: newJobQueue(t.Context(), 1),
	}
	s := &slot{w: w}
	t.Cleanup(func() {
		running.stop(func(processKey) bool { return true })
		w.populations.close()
	})
	return s
}

// jobOf returns a job of the first trials of an algorithm, whose answers may be means, on a
// problem, which it resolves. It registers the data file with the slot.
func jobOf(t testing.TB, s *slot, algorithm string, p schemas.Problem, n, trials int64) *trial.Job {
	t.Helper()
	problemtest.Resolve(t, &p)
	sampled, err := trial.Canonical(p.Sampled())
	if err != nil {
		t.Fatal(err)
	}
	if file, digest := p.File(); digest != "" {
		s.w.populations.Files[digest] = file
	}
	return &trial.Job{
		Sweep: "s", ID: "i", N: n, Count: trials, Plugin: "d",
		Cell: &trial.Cell{
			Key: trial.Key{1}, DataKey: sha256.Sum256(sampled), NoiseKey: trial.Key{3}, AdversaryKey: trial.Key{4},
			Task: "learn", Problem: &p, Algorithm: algorithm, Alpha: 0.1, Beta: 0.1, Means: true,
			Metrics: []string{"process", "turn"}, Evaluation: &problem.Evaluation{},
		},
	}
}

// played returns the job in another task, against an adversary.
func played(t testing.TB, j *trial.Job, kind string, a schemas.Adversary) *trial.Job {
	t.Helper()
	j.Cell.Task, j.Cell.Adversary = kind, &a
	if err := adversary.Resolve(j.Cell.Kind().Rounds(), j.Cell.Problem, &a); err != nil {
		t.Fatal(err)
	}
	if j.Cell.Kind().Rounds() {
		j.Cell.N = []int64{j.N}
		j.Cell.Metrics = append(j.Cell.Metrics, task.Mistakes, task.Loss)
	} else {
		j.Cell.Queries = 20
		j.Cell.Metrics = append(j.Cell.Metrics, task.HardQueries, task.QueryError)
	}
	return j
}

// runJob runs a copy of a job and returns its outcomes.
func runJob(t testing.TB, s *slot, j *trial.Job) *outcomes {
	t.Helper()
	job := *j
	out, err := s.run(t.Context(), &job)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
