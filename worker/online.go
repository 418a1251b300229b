package worker

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem/adversary"
	"github.com/shatterlab/shatter/pipeline/task"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// A game is the adversary's side of one trial of the task online.
type game struct {
	adversary   adversary.Rounds
	labelStream *rand.Rand // draws a label for an answer that is a mean
	x, y        []float64  // the rounds so far
	loss        float64
	mistakes    int
	given       *givenAnswers
}

// A givenAnswers holds the answers of a game by round. If a process ends, its games are played again by another
// one. The ended process has seen truths and may have passed them on, so the answers that it gave must be given
// again. Concurrent use is safe.
type givenAnswers struct {
	mu   sync.Mutex
	list []float64
}

// add adds the answer to a round, unless there is one. It returns an error if that differs.
func (g *givenAnswers) add(round int, answer float64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if round == len(g.list) {
		g.list = append(g.list, answer)
	}
	if before := g.list[round]; math.Float64bits(before) != math.Float64bits(answer) {
		return fmt.Errorf("its answer to round %d is %v, and was %v in a process that ended: answers depend on more than "+
			"the rounds before and the seed", round+1, answer, before)
	}
	return nil
}

// games starts the games of all trials.
func (x *session) games() ([]game, error) {
	list, rounds, dim := make([]game, x.trials()), int(x.job.N), x.job.pop.Dim()
	for j := range list {
		points, coin := x.adversaryStream(j, trial.Queries), x.adversaryStream(j, trial.Labels)
		a, err := x.newTrialDrawer(j).Rounds(*x.job.Cell.Adversary, x.job.N, points)
		if err != nil {
			return nil, err
		}
		given, _ := x.slot.w.begunGames.LoadOrStore(x.name(j), &givenAnswers{})
		list[j] = game{
			adversary: a, labelStream: rand.New(coin), x: make([]float64, 0, rounds*dim), y: make([]float64, 0, rounds),
			given: given.(*givenAnswers),
		}
	}
	return list, nil
}

// PlayRounds implements [task.Player]. It plays all games in lock step, with one round trip per round. The plugin gets
// the truth of a round with the next one.
func (x *session) PlayRounds(ctx context.Context) (played task.Played, err error) {
	list, err := x.games()
	if err != nil {
		return played, err
	}
	var truths []float64
	points, dim := make([][]float64, len(list)), x.job.pop.Dim()
	for round := range int(x.job.N) {
		for j := range list {
			if !x.scores.failed(j) {
				points[j] = list[j].next(dim)
			}
		}
		counts, fill := x.request(points)
		x.slot.pluginTimer.start()
		answers, faults, err := x.host.Round(ctx, counts, truths, fill)
		x.slot.pluginTimer.stop()
		if err != nil {
			return played, err
		}
		truths = truths[:0]
		for j, c := range counts {
			if c == 0 {
				continue
			}
			a := answers[len(truths)]
			if err := list[j].given.add(round, a); err != nil {
				x.scores.fail(j, "replay", err.Error())
			}
			truths = append(truths, list[j].answer(a))
		}
		x.scores.addFaults(faults)
	}
	played.Truths = truths
	played.Metrics, err = x.regrets(list)
	return played, err
}

// next returns the point of the next round.
func (g *game) next(dim int) []float64 {
	from := len(g.x)
	g.x = append(g.x, make([]float64, dim)...)
	g.adversary.Next(g.x[from:])
	return g.x[from:]
}

// answer scores an answer and returns the truth. An invalid answer counts as 0; the host fails its trial.
func (g *game) answer(a float64) (y float64) {
	if !(a >= -1 && a <= 1) {
		a = 0
	}
	y = g.adversary.Truth(a)
	g.y = append(g.y, y)
	g.loss += (1 - float64(y*a)) / 2
	label := a
	if a != -1 && a != 1 {
		label = -1
		if 2*g.labelStream.Float64()-1 < a {
			label = 1
		}
	}
	if label != y {
		g.mistakes++
	}
	g.adversary.Observe(label)
	return y
}

// regrets returns the metrics of the games, and sets the error of each trial to its loss per round. It skips failed
// games.
func (x *session) regrets(list []game) (map[string][]float64, error) {
	class, err := concept.New(concept.SpecOf(x.job.pop.public))
	if err != nil {
		return nil, err
	}
	metrics := x.newMetrics(false)
	for j, g := range list {
		if x.scores.failed(j) {
			continue
		}
		errs, err := concept.FewestErrors(class, g.x, g.y)
		if err != nil {
			return nil, err
		}
		best := float64(errs)
		x.scores.error[j] = g.loss / float64(len(g.y))
		metrics[task.Mistakes][j], metrics[task.Loss][j] = float64(g.mistakes), g.loss
		metrics[task.BestLoss][j], metrics[task.Regret][j] = best, g.loss-best
	}
	return metrics, nil
}
