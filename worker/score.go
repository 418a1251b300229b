package worker

import (
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

// populationError returns the weighted error of answers against clean labels: an answer a to a
// point of label y and weight w costs w (1 - y a)/2. No weights stand for equal ones.
func populationError(answers, y, w []float64) (sum float64) {
	if w == nil { // the sum of labels is exact, in any order
		for i, a := range answers {
			sum += float64(y[i] * a)
		}
		return (float64(len(y)) - sum) / float64(2*len(y))
	}
	for i, a := range answers {
		sum += float64(w[i] * float64(1-float64(y[i]*a)))
	}
	return sum / 2
}
