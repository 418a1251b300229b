package worker

import (
	"context"

	"github.com/shatterlab/shatter/plugins/host"

	"github.com/shatterlab/shatter/pipeline/trial"
)

// scores are the outcomes of one session's trials while they are made.
type scores struct {
	error  []float64
	faults map[int]fault // of trials that failed
}

// fault is what went wrong with a trial. Trials that do have one are few, as a rule.
type fault struct{ kind, reason string }

func newScores(trials int) *scores {
	return &scores{error: make([]float64, trials), faults: map[int]fault{}}
}

func (s *scores) failed(j int) bool {
	_, failed := s.faults[j]
	return failed
}

func (s *scores) fail(j int, kind, reason string) {
	if !s.failed(j) { // the first fault counts
		s.faults[j] = fault{kind, reason}
	}
}

func (s *scores) fault(faults []host.Fault) {
	for _, f := range faults {
		s.fail(f.Trial, string(f.Kind), f.Message)
	}
}

// scoring is the scratch of evaluate: labels and weights of the points that are being asked.
type scoring struct {
	counts []uint32
	y, w   []float64
}

func (s *scoring) room(trials, points int) {
	if cap(s.counts) < trials {
		s.counts = make([]uint32, trials)
	}
	s.counts = s.counts[:trials]
	clear(s.counts)
	if cap(s.y) < points {
		s.y, s.w = make([]float64, points), make([]float64, points)
	}
	s.y, s.w = s.y[:points], s.w[:points]
}

// evaluate asks every trial that is still alive for its answers on the evaluation points and scores them, a group of trials
// at a time: as many as fit one message.
func (l *lane) evaluate(ctx context.Context, s *host.Session, t *task, from int, trials *scores) error {
	m := t.drawer.TestLen()
	perGroup := max(1, host.MaxAnswers/m)
	group := make([]int, 0, min(perGroup, len(trials.error)))
	for j := 0; j < len(trials.error); {
		group = group[:0]
		for ; j < len(trials.error) && len(group) < perGroup; j++ {
			if !trials.failed(j) {
				group = append(group, j)
			}
		}
		if len(group) == 0 {
			return nil
		}
		if err := l.ask(ctx, s, t, from, group, m, trials); err != nil {
			return err
		}
	}
	return nil
}

// ask sends m evaluation points to each trial of the group and scores its answers.
func (l *lane) ask(ctx context.Context, s *host.Session, t *task, from int, group []int, m int, trials *scores) error {
	a := &l.answers
	a.room(len(trials.error), m*len(group))
	for _, j := range group {
		a.counts[j] = uint32(m)
	}
	answers, faults, err := l.step(ctx, s, t, from, group, m)
	if err != nil {
		return err
	}
	trials.fault(faults)
	for i, j := range group {
		lo, hi := i*m, (i+1)*m
		trials.error[j] = populationError(answers[lo:hi], a.y[lo:hi], a.w[lo:hi])
	}
	return nil
}

func (l *lane) step(ctx context.Context, s *host.Session, t *task, from int, group []int, m int) ([]float64, []host.Fault, error) {
	a := &l.answers
	if t.pop.rows != nil {
		for i, j := range group {
			l.begin(t, from+j, trial.Target, trial.TestPoints)
			t.drawer.Test(nil, a.y[i*m:(i+1)*m], a.w[i*m:(i+1)*m])
		}
		return s.StepShared(ctx, a.counts, 0)
	}
	dim, next, left := t.pop.Dim(), 0, 0
	at := 0
	return s.Step(ctx, a.counts, func(x []float64) {
		for rows := len(x) / dim; rows > 0; {
			if left == 0 {
				l.begin(t, from+group[next], trial.Target, trial.TestPoints)
				next, left = next+1, m
			}
			k := min(rows, left)
			t.drawer.Test(x[:k*dim], a.y[at:at+k], a.w[at:at+k])
			x, at, rows, left = x[k*dim:], at+k, rows-k, left-k
		}
	})
}

// populationError is the weighted error of answers against clean labels: an answer a to a point of label y and weight w costs
// w (1 - y a)/2.
func populationError(answers, y, w []float64) (sum float64) {
	for i, a := range answers {
		sum += float64(w[i] * float64(1-float64(y[i]*a)))
	}
	return sum / 2
}
