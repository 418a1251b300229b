package coordinator

import (
	"fmt"
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

// anyFile admits whatever was recorded.
func anyFile(*trial.Cell, string) bool { return true }

// recordRefusal deals with a refusal, and with outcomes of a size that is refused. It reports whether
// the message was either. Of a refused size nothing is out any more; where the size has outcomes that
// count, the trials that are out are lost.
func (in *intake) recordRefusal(c *cell, v ledger.Verdict) bool {
	if v.Clash != nil {
		in.addClash(c, v.Clash)
	}
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

// addClash raises the alarm about a clash.
func (in *intake) addClash(c *cell, x *ledger.Clash) {
	const few = 200 // characters
	in.clashes[sizeID{c.Key, x.N}] = fmt.Sprintf("sample size %s/%d was answered for in two ways, first %.*s, then %.*s; "+
		"both are in the ledger, the first counts", c.Key.Short(), x.N, few, x.First, few, x.Second)
}

// sizeID names a sample size of a cell.
type sizeID struct {
	cell trial.Key
	n    int64
}

// clashesOf counts the cell's sample sizes with a clash.
func (in *intake) clashesOf(c *cell) (count int) {
	for id := range in.clashes {
		if id.cell == c.Key {
			count++
		}
	}
	return count
}
