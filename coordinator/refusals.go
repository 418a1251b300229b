package coordinator

import (
	"slices"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// Workers ask the algorithm whether it accepts a sample size before they run the first trials of
// that size. If it does not, they send a refusal instead of outcomes. The ledger keeps both.

// loadRefusals applies the refusals in the ledger for which use returns true.
func (g *grid) loadRefusals(l *ledger.Ledger, use func(c *trial.Cell, digest string) bool) {
	for _, c := range g.cells {
		for _, r := range l.Refusals(c.Key) {
			if use(c.Cell, r.Digest) {
				c.Refuse(r.N, r.Refusal)
				g.markChanged(c)
			}
		}
	}
}

// recordRefusal handles a refusal, and outcomes of a refused size. It reports whether the message
// was either. It withdraws the open requests of a refused size. If the size has valid outcomes, it
// records the open trials as lost instead.
func (in *intake) recordRefusal(c *cell, v ledger.Verdict) bool {
	n := v.Batch.N
	if v.Batch.Refusal == nil {
		return v.Clash != nil
	}
	refused := false
	for _, known := range in.ledger.Refusals(c.Key) {
		if known.N == n {
			c.Refuse(n, known.Refusal)
			refused = true
		}
	}
	for _, r := range slices.Clone(c.jobs) {
		if r.N != n {
			continue
		}
		for _, rep := range r.Open() {
			in.jobs.returned(c, n, rep, r)
			if !refused {
				c.Lose(n, rep, "the algorithm refuses the sample size, and took it before: "+
					wording.OneLine(v.Batch.Refusal.Message, 1000))
				continue
			}
			in.jobs.handed-- // the trial was not run
			c.trials--
		}
	}
	return true
}
