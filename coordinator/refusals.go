package coordinator

import (
	"slices"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// Workers ask the algorithm whether it takes samples of a size before they run the first trials of
// it, and send a refusal instead of outcomes. The ledger keeps refusals next to the outcomes.

// loadRefusals makes the refusals of the ledger known that use is true for.
func (g *grid) loadRefusals(l *ledger.Ledger, use func(c *trial.Cell, digest string) bool) {
	for _, c := range g.cells {
		for _, r := range l.Refusals(c.Key) {
			if use(c.Cell.Cell, r.Digest) {
				c.Refuse(r.N, r.Refusal)
				g.queue(c)
			}
		}
	}
}

// recordRefusal deals with a refusal, and with outcomes of a size that is refused. It reports whether
// the message was either. Of a refused size nothing is out any more; where the size has outcomes that
// count, the trials that are out are lost.
func (in *intake) recordRefusal(c *cell, v ledger.Verdict) bool {
	n := v.Batch.N
	known, refused := in.ledger.Refusal(c.Key, n)
	if v.Batch.Refusal == nil {
		return v.Clash != nil
	}
	if refused {
		c.Refuse(n, known.Refusal)
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
			in.jobs.handed-- // it was not run
			c.trials--
		}
	}
	return true
}
