package worker

import (
	"context"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/problem/adversary"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/trial"
)

// game is one trial's side of a game of queries.
type game struct {
	adversary   adversary.Queries
	truths      []float64 // of the queries being asked
	hard, wrong int
}

// games begins the games of the trials from..to-1. Each has its own drawer, because each has its own target.
func (l *lane) games(t *task, from, to int) []game {
	list := make([]game, to-from)
	for j := range list {
		rep := uint32(t.First) + uint32(from+j)
		target, queries := new(rand.PCG), new(rand.PCG)
		target.Seed(trial.Seed(t.Cell.DataKey, trial.Target, uint64(t.N), rep))
		queries.Seed(trial.Seed(t.Cell.AdversaryKey, trial.Queries, uint64(t.N), rep))
		d := t.pop.Drawer()
		d.Begin(problem.Streams{Target: target, Points: target, LabelNoise: target, TestPoints: target})
		list[j].adversary = d.Queries(*t.Cell.Adversary, t.N, queries)
	}
	return list
}

// reveal writes the queries of all games, game after game: for an offline adversary, which needs no answers.
func (l *lane) reveal(t *task, from, to int, x []float64) {
	dim := t.pop.Dim()
	for _, g := range l.games(t, from, to) {
		for range t.Cell.Queries {
			g.adversary.Next(x[:dim])
			x = x[dim:]
		}
	}
}

// play puts the queries of all games, in lock step: one round trip for the next query of every trial that is still alive. Where the
// queries are revealed anyway, many go at once. It reports what the worker alone knows: hard queries and wrong answers.
func (l *lane) play(ctx context.Context, s *host.Session, t *task, from int, trials *scores) (map[string][]float64, error) {
	list := l.games(t, from, from+len(trials.error))
	chunk := 1
	if t.Cell.Adversary.Offline {
		chunk = max(1, host.MaxAnswers/len(list))
	}
	counts := make([]uint32, len(list))
	for asked := 0; asked < t.Cell.Queries; asked += chunk {
		for j := range list {
			counts[j] = uint32(min(chunk, t.Cell.Queries-asked))
			if trials.failed(j) {
				counts[j] = 0
			}
			list[j].truths = list[j].truths[:0]
		}
		next := asking{games: list, counts: counts, dim: t.pop.Dim()}
		labels, marks, faults, err := s.Play(ctx, counts, next.fill)
		if err != nil {
			return nil, err
		}
		trials.fault(faults)
		for j := range list {
			k := int(counts[j])
			list[j].take(labels[:k], marks[:k])
			labels, marks = labels[k:], marks[k:]
		}
	}
	report := map[string][]float64{schemas.HardQueries: make([]float64, len(list)), schemas.QueryError: make([]float64, len(list))}
	for j, g := range list {
		report[schemas.HardQueries][j] = float64(g.hard)
		report[schemas.QueryError][j] = float64(g.wrong) / float64(t.Cell.Queries)
	}
	return report, nil
}

// asking fills the queries of a step, game after game.
type asking struct {
	games  []game
	counts []uint32
	dim    int
	game   int    // the one whose queries come next
	done   uint32 // of its queries in this step
}

func (a *asking) fill(x []float64) {
	for ; len(x) > 0; x = x[a.dim:] {
		for a.done == a.counts[a.game] {
			a.game, a.done = a.game+1, 0
		}
		g := &a.games[a.game]
		g.truths = append(g.truths, g.adversary.Next(x[:a.dim]))
		a.done++
	}
}

// take scores the answers to the queries that were asked, and tells them to the adversary.
func (g *game) take(labels []float64, marks []byte) {
	for i, label := range labels {
		hard := marks[i] != 0
		if hard {
			g.hard++
		}
		if label != g.truths[i] {
			g.wrong++
		}
		g.adversary.Observe(label, hard)
	}
}
