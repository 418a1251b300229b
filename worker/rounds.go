package worker

import (
	"context"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/problem/adversary"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/trial"
)

// rounds is the number of rounds of an online game; 0 in other tasks.
func (t *task) rounds() int { return int(t.Cell.Setting(t.N).Rounds) }

// match is one trial's side of an online game.
type match struct {
	opponent adversary.Rounds
	coin     *rand.Rand // draws the label of an answer that is a mean
	x, y     []float64  // the sequence so far
	loss     float64
	mistakes int
}

// matches begins the games of the trials from..to-1. Each has its own drawer, because each has its own target.
func (l *lane) matches(t *task, from, to int) ([]match, error) {
	list := make([]match, to-from)
	for j := range list {
		rep := uint32(t.First) + uint32(from+j)
		target, points, coin := new(rand.PCG), new(rand.PCG), new(rand.PCG)
		target.Seed(trial.Seed(t.Cell.DataKey, trial.Target, uint64(t.N), rep))
		points.Seed(trial.Seed(t.Cell.AdversaryKey, trial.Queries, uint64(t.N), rep))
		coin.Seed(trial.Seed(t.Cell.AdversaryKey, trial.Labels, uint64(t.N), rep))
		d := t.pop.Drawer()
		d.Begin(problem.Streams{Target: target, Points: target, LabelNoise: target, TestPoints: target})
		opponent, err := d.Rounds(*t.Cell.Adversary, t.N, points)
		if err != nil {
			return nil, err
		}
		list[j] = match{opponent: opponent, coin: rand.New(coin)}
	}
	return list, nil
}

// rounds plays all games in lock step: one round trip a round. A truth goes to the plugin with the next round, after its answer has come.
// It gives the truths of the last round, which the plugin has yet to hear.
func (l *lane) rounds(ctx context.Context, s *host.Session, t *task, from int, trials *scores) (map[string][]float64, []float64, error) {
	list, err := l.matches(t, from, from+len(trials.error))
	if err != nil {
		return nil, nil, err
	}
	counts, dim := make([]uint32, len(list)), t.pop.Dim()
	var truths []float64
	for range t.rounds() {
		for j := range counts {
			counts[j] = 1
			if trials.failed(j) {
				counts[j] = 0
			}
		}
		next := pairing{list: list, counts: counts, dim: dim}
		answers, faults, err := s.Round(ctx, counts, truths, next.fill)
		if err != nil {
			return nil, nil, err
		}
		truths = truths[:0]
		at := 0
		for j, c := range counts {
			if c > 0 {
				truths = append(truths, list[j].take(answers[at]))
				at++
			}
		}
		trials.fault(faults)
	}
	own, err := t.regrets(list, trials)
	return own, truths, err
}

// pairing fills the points of a round, game after game.
type pairing struct {
	list   []match
	counts []uint32
	dim    int
	next   int
}

func (p *pairing) fill(x []float64) {
	for ; len(x) > 0; x = x[p.dim:] {
		for p.counts[p.next] == 0 {
			p.next++
		}
		m := &p.list[p.next]
		m.opponent.Next(x[:p.dim])
		m.x = append(m.x, x[:p.dim]...)
		p.next++
	}
}

// take scores an answer and gives the truth. What is no answer ends the trial anyhow.
func (m *match) take(a float64) (y float64) {
	if !(a >= -1 && a <= 1) {
		a = 0
	}
	y = m.opponent.Truth(a)
	m.y = append(m.y, y)
	m.loss += (1 - float64(y*a)) / 2
	label := a
	if a != -1 && a != 1 {
		label = -1
		if 2*m.coin.Float64()-1 < a {
			label = 1
		}
	}
	if label != y {
		m.mistakes++
	}
	m.opponent.Observe(label)
	return y
}

// regrets is the metrics of the games that did not fail. The error of a trial is its loss per round.
func (t *task) regrets(list []match, trials *scores) (map[string][]float64, error) {
	public := t.pop.public
	class, err := concept.New(concept.Spec{
		Name: public.Class, Domain: public.Domain, Dim: int(public.Dim), NoConstant: public.NoConstant, Matrix: public.Matrix,
	})
	if err != nil {
		return nil, err
	}
	own := map[string][]float64{}
	for _, name := range []string{schemas.Mistakes, schemas.Loss, schemas.BestLoss, schemas.Regret} {
		own[name] = make([]float64, len(list))
	}
	ones := make([]float64, t.rounds())
	for i := range ones {
		ones[i] = 1
	}
	for j, m := range list {
		if trials.failed(j) {
			continue
		}
		best, err := class.Best(m.x, m.y, ones)
		if err != nil {
			return nil, err
		}
		trials.error[j] = m.loss / float64(len(m.y))
		own[schemas.Mistakes][j], own[schemas.Loss][j] = float64(m.mistakes), m.loss
		own[schemas.BestLoss][j], own[schemas.Regret][j] = best, m.loss-best
	}
	return own, nil
}
