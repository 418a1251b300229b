package worker

import (
	"math"

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
	if w == nil {
		equal := 1 / float64(len(y))
		for i, a := range answers {
			sum += float64(equal * float64(1-float64(y[i]*a)))
		}
		return sum / 2
	}
	for i, a := range answers {
		sum += float64(w[i] * float64(1-float64(y[i]*a)))
	}
	return sum / 2
}

// rowsError returns the error of answers, which stand by the places of rows in a table, against the
// labels of the rows, as populationError does: it adds up in the order of the rows.
func rowsError(answers []float64, places []int32, y []float64) (sum float64) {
	equal := 1 / float64(len(y))
	for i, place := range places {
		sum += float64(equal * float64(1-float64(y[i]*answers[place])))
	}
	return sum / 2
}

// shareWrong returns the error of answers to rows that are labels, so many of them wrong, as rowsError
// does to the bit: each wrong one adds the same to the sum and the others nothing, in whatever order.
func shareWrong(wrong, rows int) (sum float64) {
	equal := 1 / float64(rows)
	for range wrong {
		sum += 2 * equal
	}
	return sum / 2
}

// countWrong returns the number of answers, -1 or +1 each, that are not the labels of their places,
// which begin with negative.
func countWrong(answers []float64, negative []bool) (wrong int) {
	for i, minus := range negative[:len(answers)] {
		label := uint64(0)
		if minus {
			label = 1
		}
		wrong += int(math.Float64bits(answers[i])>>63 ^ label)
	}
	return wrong
}
