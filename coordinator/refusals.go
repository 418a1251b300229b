package coordinator

import (
	"fmt"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// Workers ask the algorithm whether it takes samples of a size before they run the first trials of
// it, and send a refusal instead of outcomes. Refusals are in the ledger beside the outcomes. What a
// cell comes to depends on the refusals of sizes that its decider needs, and not on when they came:
// other ones wait until it needs them.

// longestReason is the number of letters of a refusal that are shown.
const longestReason = 1000

// refuse makes a refusal of a sample size known.
func (c *cell) refuse(n int64, r ledger.Refusal) {
	if c.refusals == nil {
		c.refusals, c.told = map[int64]ledger.Refusal{}, map[int64]bool{}
	}
	c.refusals[n] = r
}

// refuses reports whether the algorithm is known to refuse a sample size.
func (c *cell) refuses(n int64) bool {
	_, ok := c.refusals[n]
	return ok
}

// settle tells the decider which of the sizes that it needs are infeasible, as far as is known. The
// cell fails where such a size is invalid, once all of these sizes were answered for: the largest
// of those is to blame.
func (c *cell) settle() {
	if c.ladder != nil {
		c.ladder.settle()
		return
	}
	for again := true; again && !c.Done() && c.refused == ""; {
		again = false
		blamed, open := int64(0), false
		for _, n := range c.Needs() {
			r, refused := c.refusals[n]
			switch {
			case !refused:
				i, known := c.sizeAt(n)
				open = open || !known || !c.sizes[i].answered
			case r.Kind == ledger.Invalid:
				blamed = max(blamed, n)
			case !c.told[n]:
				c.told[n], again = true, true
				c.Infeasible(n, wording.OneLine(r.Message, longestReason))
			}
		}
		if blamed > 0 && !open && !again {
			c.refused = fmt.Sprintf("n = %d: %s", blamed, wording.OneLine(c.refusals[blamed].Message, longestReason))
		}
	}
}

// loadRefusals makes the refusals of the ledger known that use is true for.
func (g *grid) loadRefusals(l *ledger.Ledger, use func(c *cell, digest string) bool) {
	for _, c := range g.cells {
		for _, r := range l.Refusals(c.Key) {
			if use(c, r.Digest) {
				c.refuse(r.N, r.Refusal)
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
		c.refuse(n, known.Refusal)
	}
	const end = ledger.MaxRepetition + 1
	size := c.size(n)
	for rep := size.out.FirstSet(0, end); rep < end; rep = size.out.FirstSet(rep+1, end) {
		in.jobs.returned(c, size, rep)
		if !refused {
			c.Lost(n, int(rep), "the algorithm refuses the sample size, and took it before: "+
				wording.OneLine(v.Batch.Refusal.Message, longestReason))
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
