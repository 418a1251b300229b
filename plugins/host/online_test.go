package host

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// memory answers a point by the last truth that it saw there, 0 where it saw none, and fails at the
// point 9. Its metric is the number of truths.
type memory struct {
	t    *algo.Trial[struct{}]
	seen map[float64]float64
	told int
}

var remembering = algo.Algorithm[struct{}]{
	Name: "test/remembering", Version: "1", Metrics: map[string]string{"told": "truths"},
	Online: func(_ context.Context, t *algo.Trial[struct{}]) (algo.Learner, error) {
		if t.Rounds == 0 || t.N != 0 {
			return nil, algo.Invalid("%d rounds, n = %d", t.Rounds, t.N)
		}
		return &memory{t: t, seen: map[float64]float64{}}, nil
	},
}

func (m *memory) Predict(_ context.Context, x *algo.Data, out []float64) error {
	for i := range out {
		out[i] = m.seen[x.X(i)[0]]
		if x.X(i)[0] == 8 {
			out[i] = 2
		}
	}
	return nil
}

func (m *memory) Observe(_ context.Context, x *algo.Data, y []float64) error {
	for i, label := range y {
		if x.X(i)[0] == 9 {
			return algo.Infeasible("nine")
		}
		m.seen[x.X(i)[0]] = label
		m.told++
	}
	m.t.Report("told", float64(m.told))
	return nil
}

// Every trial gets its own truths, after its answer; the last truths come with the end. A failed trial does not affect
// others. A round takes one message in each direction.
func TestRounds(t *testing.T) {
	t.Parallel()
	p := start(t, self("plugin"))
	const trials, rounds = 4, 6
	r := request("test/remembering", trials, 0, 1, nil)
	r.Setting.Task, r.Setting.Rounds = pluginv1.Task_TASK_ONLINE, rounds
	s, faults, err := p.Open(t.Context(), r, nil)
	if err != nil || len(faults) > 0 {
		t.Fatal(faults, err)
	}
	point := func(j, round int) float64 {
		switch {
		case j == 1 && round == 2:
			return 9 // Observe returns an error
		case j == 2 && round == 1:
			return 8 // an answer that is none
		}
		return float64((j + round) % 3)
	}
	truth := func(j, round int) float64 { return float64(1 - 2*((j+round/3)%2)) }
	failed := make([]bool, trials)
	var truths []float64
	for round := range rounds {
		counts := make([]uint32, trials)
		var x []float64
		for j := range counts {
			if !failed[j] {
				counts[j] = 1
				x = append(x, point(j, round))
			}
		}
		answers, faults, err := s.Round(t.Context(), counts, truths, func(to []float64) { copy(to, x) })
		if err != nil {
			t.Fatal(err)
		}
		truths = truths[:0]
		at := 0
		for j := range counts {
			if counts[j] == 0 {
				continue
			}
			want := 0.0
			if round >= 3 {
				want = truth(j, round-3)
			}
			if point(j, round) < 3 && answers[at] != want &&
				!slices.ContainsFunc(faults, func(f Fault) bool { return f.Trial == j }) {
				t.Errorf("round %d, trial %d: answer %v, want %v", round, j, answers[at], want)
			}
			truths = append(truths, truth(j, round))
			at++
		}
		for _, f := range faults {
			failed[f.Trial] = true
			if f.Trial == 1 && (round != 3 || f.Kind != Infeasible) || f.Trial == 2 && (round != 1 || f.Kind != Answer) ||
				f.Trial == 0 || f.Trial == 3 {
				t.Errorf("round %d: %+v", round, f)
			}
		}
	}
	if s.messages != 2*(1+rounds) {
		t.Errorf("%d messages", s.messages)
	}
	metrics, _, err := s.Close(t.Context(), truths)
	if err != nil || metrics["told"][0] != rounds || metrics["told"][3] != rounds || metrics["told"][1] != 2 ||
		math.IsNaN(metrics["told"][2]) {
		t.Error(metrics, err)
	}
	r.Setting.N = 5
	if _, _, err := p.Open(t.Context(), r, nil); err == nil ||
		!strings.Contains(err.Error(), "an online game has rounds and no sample") {
		t.Error(err)
	}
}
