package trial

import (
	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/schemas"
)

// The bounds of one session of a plugin: trials, and bytes of sample.
const (
	SessionTrials = 25000
	SessionBytes  = 64 << 20
)

// maxGames bounds the online games of a session so that one round of all of them fits one message.
const maxGames = 4096

// SessionTrials returns the number of trials of the cell at sample size n that one session may
// hold: at least 1, because a trial that is larger than the bound travels alone.
func (c *Cell) SessionTrials(n int64) int {
	dim := int64(c.Public.GetDim())
	size := numeric.Multiply(max(n, 1), 8*(dim+1))
	if c.Task == schemas.TaskOnline {
		return int(min(maxGames, SessionTrials, max(1, SessionBytes/size))) // the sequences are kept until the end
	}
	if c.Adversary != nil && c.Adversary.Offline {
		size = numeric.Add(size, numeric.Multiply(int64(c.Queries), 8*dim))
	}
	declared := 8 * (2*dim + 1) // at most, of a hypothesis
	return int(min(SessionTrials, max(1, SessionBytes/size), max(1, declaredBytes/declared)))
}

// declaredBytes bounds the declared hypotheses of a session, which come in one message; a single one may be larger.
const declaredBytes = 1 << 20

// Interactive reports whether each query or round of a trial is a round trip to the plugin, which the trials of a
// session share.
func (c *Cell) Interactive() bool { return c.Adversary != nil && !c.Adversary.Offline }
