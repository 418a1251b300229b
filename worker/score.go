package worker

import (
	"context"

	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/host"
)

// scores are the outcomes of one session's trials while they are made.
type scores struct {
	error  []float64
	faults map[int]fault // of trials that failed
}

// fault is what went wrong with a trial. Few trials have one, as a rule.
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

// fault takes over the faults that the host found.
func (s *scores) fault(faults []host.Fault) {
	for _, f := range faults {
		s.fail(f.Trial, string(f.Kind), f.Message)
	}
}

// scoring is the scratch memory of evaluate: labels and weights of the points that are being asked.
type scoring struct {
	counts []uint32
	y, w   []float64
}

// resize makes room for that many trials and points.
func (s *scoring) resize(trials, points int) {
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

// evaluate asks every trial that has not failed for its answers on the evaluation points and scores
// them, a group of trials at a time: as many as fit one message.
func (x *session) evaluate(ctx context.Context) error {
	points := x.job.drawer.TestLen()
	most := max(1, host.MaxAnswers/points)
	group := make([]int, 0, min(most, x.trials()))
	for j := 0; j < x.trials(); {
		group = group[:0]
		for ; j < x.trials() && len(group) < most; j++ {
			if !x.scores.failed(j) {
				group = append(group, j)
			}
		}
		if len(group) == 0 {
			return nil
		}
		if err := x.evaluateGroup(ctx, group, points); err != nil {
			return err
		}
	}
	return nil
}

// evaluateGroup asks each trial of a group for its answers on that many evaluation points and
// scores them.
func (x *session) evaluateGroup(ctx context.Context, group []int, points int) error {
	a := &x.slot.answers
	a.resize(x.trials(), points*len(group))
	for _, j := range group {
		a.counts[j] = uint32(points)
	}
	answers, faults, err := x.ask(ctx, group, points)
	if err != nil {
		return err
	}
	x.scores.fault(faults)
	for i, j := range group {
		lo, hi := i*points, (i+1)*points
		x.scores.error[j] = populationError(answers[lo:hi], a.y[lo:hi], a.w[lo:hi])
	}
	return nil
}

// ask draws the evaluation points of a group of trials and returns the answers to them.
func (x *session) ask(ctx context.Context, group []int, points int) ([]float64, []host.Fault, error) {
	a := &x.slot.answers
	if x.job.pop.rows != nil {
		for i, j := range group {
			x.begin(j, trial.Target, trial.TestPoints)
			x.job.drawer.Test(nil, a.y[i*points:(i+1)*points], a.w[i*points:(i+1)*points])
		}
		return x.host.StepShared(ctx, a.counts, 0)
	}
	dim, next, left, drawn := x.job.pop.Dim(), 0, 0, 0
	return x.host.Step(ctx, a.counts, func(to []float64) {
		for rows := len(to) / dim; rows > 0; {
			if left == 0 {
				x.begin(group[next], trial.Target, trial.TestPoints)
				next, left = next+1, points
			}
			k := min(rows, left)
			x.job.drawer.Test(to[:k*dim], a.y[drawn:drawn+k], a.w[drawn:drawn+k])
			to, drawn, rows, left = to[k*dim:], drawn+k, rows-k, left-k
		}
	})
}

// populationError returns the weighted error of answers against clean labels: an answer a to a
// point of label y and weight w costs w (1 - y a)/2.
func populationError(answers, y, w []float64) (sum float64) {
	for i, a := range answers {
		sum += float64(w[i] * float64(1-float64(y[i]*a)))
	}
	return sum / 2
}
