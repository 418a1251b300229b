package coordinator

import (
	"fmt"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// Workers ask the algorithm whether it takes samples of a size before they run the first trials of
// it, and send a refusal instead of outcomes. The ledger keeps refusals next to the outcomes.

// loadRefusals makes the refusals of the ledger known that use is true for.
func (g *grid) loadRefusals(l *ledger.Ledger, use func(c *cell, digest string) bool) {
	for _, c := range g.cells {
		for _, r := range l.Refusals(c.Key) {
			if use(c, r.Digest) {
				c.Refuse(r.N, r.Refusal)
				g.queue(c)
			}
		}
	}
}

// admitted returns a function that tells whether what a plugin file has said of a cell counts: that of
// today's file does, and that of another one of which outcomes of the cell are there, since a sample
// of these is compared before anything is run. Else today's file is asked again.
func (r *run) admitted() func(c *cell, digest string) bool {
	type file struct {
		cell   trial.Key
		digest string
	}
	made := map[file]bool{}
	for _, o := range r.intake.ledger.Origins() {
		made[file{o.Cell, o.Digest}] = true
	}
	return func(c *cell, digest string) bool {
		return !r.intake.files.foreign(c, digest) || made[file{c.Key, digest}]
	}
}

// anyFile admits whatever was recorded.
func anyFile(*cell, string) bool { return true }

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
	const end = ledger.MaxRepetition + 1
	size := c.size(n)
	for rep := size.out.FirstSet(0, end); rep < end; rep = size.out.FirstSet(rep+1, end) {
		in.jobs.returned(c, size, rep)
		if !refused {
			c.Lose(n, rep, "the algorithm refuses the sample size, and took it before: "+
				wording.OneLine(v.Batch.Refusal.Message, 1000))
			continue
		}
		in.jobs.handed-- // it was not run
		c.trials--
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
