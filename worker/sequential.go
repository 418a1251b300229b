package worker

import (
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/task"
)

// A sequentialRule ends the evaluation of a trial when its error is clear: see [problem.Clear]. A trial is asked about
// its points in order. Each look depends only on the answers to the points before it.
//
// A shuffled recheck asks about all points, in any order, and applies the same looks afterwards. It therefore detects
// an algorithm that changes its answers after the first block, which reveals that its error is near the goal.
type sequentialRule struct {
	looks []int // see problem.Evaluation; nil: no rule, all points are read
	goal  float64

	firstErrors, pointsRead []float64 // metrics, by trial of the session; pointsRead is 0 until the trial is done
}

func (s *sequentialRule) reset(x *session) {
	s.looks, s.goal = x.job.Cell.Evaluation.Looks, x.job.Cell.Reference+x.job.Cell.Alpha
	if s.looks != nil {
		s.firstErrors, s.pointsRead = resized(s.firstErrors, x.trials()), resized(s.pointsRead, x.trials())
		clear(s.pointsRead)
	}
}

// metrics returns the metrics of the rule; nil without it.
func (s *sequentialRule) metrics() map[string][]float64 {
	if s.looks == nil {
		return nil
	}
	return map[string][]float64{task.FirstError: s.firstErrors, task.PointsRead: s.pointsRead}
}

// recordComputed records the error of a trial that a formula has computed.
func (s *sequentialRule) recordComputed(j int, e float64) {
	if s.looks != nil {
		s.firstErrors[j] = e
	}
}

// done reports whether a trial needs no more points.
func (s *sequentialRule) done(j int) bool { return s.looks != nil && s.pointsRead[j] > 0 }

// look takes look k at a trial that is not done. It sets the trial's error, and the trial is done if the error is clear
// or all points are read.
func (s *sequentialRule) look(k, j int, answers, y []float64, scores *scores) {
	if s.done(j) {
		return
	}
	n := s.looks[k]
	e := populationError(answers[:n], y[:n], nil)
	if k == 0 {
		s.firstErrors[j] = e
	}
	scores.error[j] = e
	if k == len(s.looks)-1 || problem.Clear(e, n, s.goal) {
		s.pointsRead[j] = float64(n)
	}
}

// spans fills to with the points between consecutive looks.
func (s *sequentialRule) spans(to []span) {
	for k := range to {
		to[k] = span{int32(s.looks[k]), int32(s.looks[k+1])}
	}
}
