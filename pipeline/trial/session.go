package trial

import (
	"github.com/shatterlab/shatter/pipeline/numeric"
)

// The bounds of one session of a plugin: trials, and bytes of sample.
const (
	SessionTrials = 25000
	SessionBytes  = 64 << 20
)

// maxGames bounds the online games of a session so that one round of all of them fits one message.
const maxGames = 4096

// SessionTrials returns the number of trials of the cell at size n that one session may hold: at least 1, because a
// trial that is larger than the bound travels alone.
func (c *Cell) SessionTrials(n int64) int {
	dim := int64(c.Public.GetDim())
	size := numeric.Multiply(max(n, 1), 8*(dim+1))
	if c.Offline() {
		size = numeric.Add(size, numeric.Multiply(int64(c.Queries), 8*dim))
	}
	declared := 8 * (2*dim + 1) // at most, of a hypothesis
	most := min(SessionTrials, max(1, SessionBytes/size), max(1, declaredBytes/declared))
	if c.Kind().Rounds() {
		most = min(most, maxGames)
	}
	return int(most)
}

// declaredBytes bounds the declared hypotheses of a session, which come in one message; a single one may be larger.
const declaredBytes = 1 << 20

// Offline reports whether an adversary reveals all queries to the plugin beforehand.
func (c *Cell) Offline() bool { return c.Adversary != nil && c.Adversary.Offline }

// Trips returns how many round trips to the plugin the trials of a session at size n share, one for each query or
// round; 0 if the cell has no adversary, or it reveals its queries beforehand.
func (c *Cell) Trips(n int64) int64 {
	if c.Offline() || c.Kind().Trips == nil {
		return 0
	}
	return c.Kind().Trips(n, c.Queries)
}
