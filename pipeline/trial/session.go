package trial

import (
	"github.com/shatterlab/shatter/pipeline/numeric"
)

// Limits of one session of a plugin: number of trials, and bytes of samples.
const (
	SessionTrials = 25000
	SessionBytes  = 64 << 20
)

// maxGames limits the online games of a session, so that one round of all of them fits a message.
const maxGames = 4096

// SessionTrials returns the maximal number of trials at size n in one session. It is at least 1: a trial that exceeds
// SessionBytes gets a session of its own.
func (c *Cell) SessionTrials(n int64) int {
	dim := int64(c.Public.GetDim())
	size := numeric.Multiply(max(n, 1), 8*(dim+1))
	if c.Offline() {
		size = numeric.Add(size, numeric.Multiply(int64(c.Queries), 8*dim))
	}
	declared := 8 * (2*dim + 1) // maximal size of a hypothesis
	limit := min(SessionTrials, max(1, SessionBytes/size), max(1, maxDeclaredBytes/declared))
	if c.Kind().Rounds() {
		limit = min(limit, maxGames)
	}
	return int(limit)
}

// maxDeclaredBytes limits the declared hypotheses of a session, which form one message; a single one may be larger.
const maxDeclaredBytes = 1 << 20

// Offline reports whether the adversary reveals all queries to the plugin in advance.
func (c *Cell) Offline() bool { return c.Adversary != nil && c.Adversary.Offline }

// RoundTrips returns the number of round trips to the plugin in a session at size n: one per query or round, and 0
// without an adversary or if it reveals its queries in advance. All trials of a session share them.
func (c *Cell) RoundTrips(n int64) int64 {
	if c.Offline() || c.Kind().Trips == nil {
		return 0
	}
	return c.Kind().Trips(n, c.Queries)
}
