package result

import (
	"fmt"
	"math"
	"slices"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/problem/adversary"
	"github.com/shatterlab/shatter/pipeline/task"
	"github.com/shatterlab/shatter/pipeline/theory"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// A GameRow is a row of the table of task online: a cell at one number of rounds.
type GameRow struct {
	Cell                        *trial.Cell
	Rounds                      int64
	Predictable                 bool // predictable truths of the adversary
	Trials, Failed, Lost        int64
	MistakesMean, MistakesMax   float64 // over the trials that were neither lost nor failed; NaN: none
	BestLoss                    float64 // mean
	LossDeviation               float64 // standard deviation of the loss over trials; NaN for fewer than two
	RegretMean, RegretDeviation float64 // mean and standard deviation over trials; the deviation is NaN for fewer than two
	RegretLow, RegretHigh       float64 // confidence interval of the mean; NaN: none
	Theory                      Theory  // Value: mean of the bounds that every ok trial reports; NaN: none
	PaperRegret                 float64 // the same for a bound that is only printed
	PaperSource                 string

	// ExcessMean and ExcessDeviation are the mean and standard deviation, over the ok trials, of
	// the regret minus the proved bound of the same trial; NaN unless every ok trial reported a
	// bound.
	ExcessMean, ExcessDeviation float64

	Search *TableRow // result of the search that played these games; nil: the number of games was given
}

// gamesOf reads the trials of a cell that entered the result. It returns its rows of the table of
// task online, one per point, without Search. Points ascend in N, the number of rounds.
func gamesOf(l *ledger.Ledger, c *trial.Cell, points []Point) (rows []GameRow, err error) {
	for t, err := range eachPoint(l, c, points) {
		if err != nil {
			return nil, fmt.Errorf("make table: %w", err)
		}
		row := t.game(c)
		row.Predictable = adversary.Lookup(c.Adversary.Kind).Predictable
		row.RegretLow, row.RegretHigh = estimate.MeanInterval(row.RegretMean, row.RegretDeviation, row.played(), 0.05)
		setRegretBounds(&row)
		rows = append(rows, row)
	}
	return rows, nil
}

// played returns the number of games that were neither lost nor failed.
func (r *GameRow) played() int { return int(r.Trials - r.Failed - r.Lost) }

// notPlayed returns the row of a rung whose number of rounds its search did not try.
func notPlayed(c *trial.Cell) GameRow { return (&trials{n: c.N[0]}).game(c) }

func (t *trials) game(c *trial.Cell) GameRow {
	r := GameRow{Cell: c, Rounds: t.n, Trials: int64(len(t.status))}
	r.MistakesMax, r.RegretLow, r.RegretHigh = math.NaN(), math.NaN(), math.NaN()
	r.Failed, r.Lost = t.count(ledger.Failed), t.count(ledger.Lost)
	r.MistakesMean, r.BestLoss = mean(t.values[task.Mistakes]), mean(t.values[task.BestLoss])
	r.RegretMean = mean(t.values[task.Regret])
	proved := t.reported(theory.ProvedRegret)
	r.Theory.Value, r.PaperRegret = mean(proved), mean(t.reported(theory.PrintedRegret))
	for _, v := range t.values[task.Mistakes] {
		if !(v <= r.MistakesMax) && v == v {
			r.MistakesMax = v
		}
	}
	r.RegretDeviation = deviation(t.values[task.Regret], r.RegretMean)
	r.LossDeviation = deviation(t.values[task.Loss], mean(t.values[task.Loss]))
	excess := slices.Clone(proved)
	for i, v := range proved {
		excess[i] = t.values[task.Regret][i] - v
	}
	r.ExcessMean = mean(excess)
	r.ExcessDeviation = deviation(excess, r.ExcessMean)
	return r
}

// reported returns the values of a metric by repetition, or nil if an ok trial has no value: a mean
// over some trials is not comparable with a mean over all of them.
func (t *trials) reported(metric string) []float64 {
	values := t.values[metric]
	for i, v := range values {
		if t.status[i] == ledger.OK && math.IsNaN(v) {
			return nil
		}
	}
	return values
}

// deviation returns the standard deviation of the values that are not NaN, given their mean; NaN
// for fewer than two.
func deviation(values []float64, mean float64) float64 {
	sum, n := 0.0, 0
	for _, v := range values {
		if v == v {
			sum += float64((v - mean) * (v - mean))
			n++
		}
	}
	if n < 2 {
		return math.NaN()
	}
	return math.Sqrt(sum / float64(n-1))
}
