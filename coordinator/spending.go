package coordinator

import (
	"time"

	"github.com/shatterlab/shatter/pipeline/cputime"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/schemas"
)

// spending adds up where the CPU time of a run goes.
type spending struct {
	before time.Duration // of this process, before the run
	own    string        // name of the workers of this process; see Config.Own
	local  ledger.Costs  // of these, as they report
	remote ledger.Costs  // of all others
	asked  time.Duration // see Config.Asked

	cells map[*cell]ledger.Costs // of both; nil: these are not told apart

	search  cputime.Watch // choosing and predicting trials
	ledger  cputime.Watch // with the cache
	results cputime.Watch
}

// begin begins the account of a run.
func (s *spending) begin(c Config) {
	s.own, s.asked, s.before = c.Own, c.Asked, cputime.Process()
}

// add adds what a worker reports of a message about a cell.
func (s *spending) add(c *cell, b *ledger.Batch) {
	if s.cells != nil {
		s.cells[c] = s.cells[c].Plus(b.Costs)
	}
	to := &s.remote
	if b.Worker == s.own {
		to = &s.local
	}
	*to = to.Plus(b.Costs)
}

// during adds to w the CPU time of the whole process while f runs, because nothing else is to be
// done then.
func during(w *cputime.Watch, f func() error) error {
	before := cputime.Process()
	err := f()
	w.Add(cputime.Process() - before)
	return err
}

// costs returns where the CPU time went so far.
func (s *spending) costs() *schemas.Costs {
	all := s.local.Plus(s.remote)
	c := &schemas.Costs{
		Open: all.Open, Start: all.Start, Draw: all.Draw, Plugin: all.Plugin, Score: all.Score,
		Carry: s.remote.Carry, Idle: all.Idle,
		Plan:   s.asked.Seconds(),
		Search: s.search.Total().Seconds(), Ledger: s.ledger.Total().Seconds(), Results: s.results.Total().Seconds(),
	}
	if s.own != "" {
		c.Plan += s.before.Seconds()
		rest := (cputime.Process() - s.before).Seconds()
		c.Carry += max(0, rest-s.local.Open-s.local.Draw-s.local.Score-c.Search-c.Ledger-c.Results)
	}
	return c
}
