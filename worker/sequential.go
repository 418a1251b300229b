package worker

import (
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/task"
)

// sequential ends the evaluations of trials by the sequential rule: see problem.Clear. A trial is
// asked about its points in their order, and about no more of them once a look has found its error
// clear. What a look finds is a function of the answers to the points before it alone.
//
// A shuffled recheck asks about all points, in any order, and takes the same looks at the answers
// afterwards: so it finds out an algorithm that answers otherwise once it has been asked about a
// second block, from which it could tell that its error is near the goal.
type sequential struct {
	looks []int // see problem.Evaluation; nil: all points are read at once
	goal  float64

	first, read []float64 // metrics, by trial of the session; a trial that is read on has 0 of read
}

// begin prepares the rule for a session.
func (s *sequential) begin(x *session) {
	s.looks, s.goal = x.job.Cell.Evaluation.Looks, x.job.Cell.Above+x.job.Cell.Alpha
	if s.looks != nil {
		s.first, s.read = resized(s.first, x.trials()), resized(s.read, x.trials())
		clear(s.read)
	}
}

// metrics returns what the worker has measured, nil without the rule.
func (s *sequential) metrics() map[string][]float64 {
	if s.looks == nil {
		return nil
	}
	return map[string][]float64{task.FirstError: s.first, task.PointsRead: s.read}
}

// computed records the error of a trial that was computed by a formula, and not read from points.
func (s *sequential) computed(j int, e float64) {
	if s.looks != nil {
		s.first[j] = e
	}
}

// ended reports whether a trial is not to be asked about any more points.
func (s *sequential) ended(j int) bool { return s.looks != nil && s.read[j] > 0 }

// look takes look k at the error of a trial, unless the trial has ended, and ends it if the error is
// clear, or all points have been read. It gives the trial the error that it found.
func (s *sequential) look(k, j int, answers, y []float64, scores *scores) {
	if s.ended(j) {
		return
	}
	n := s.looks[k]
	e := populationError(answers[:n], y[:n], nil)
	if k == 0 {
		s.first[j] = e
	}
	scores.error[j] = e
	if k == len(s.looks)-1 || problem.Clear(e, n, s.goal) {
		s.read[j] = float64(n)
	}
}

// spans lays the points between the looks after the first, each a span.
func (s *sequential) spans(to []span) {
	for k := range to {
		to[k] = span{int32(s.looks[k]), int32(s.looks[k+1])}
	}
}
