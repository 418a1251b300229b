package coordinator

import (
	"log/slog"
	"sort"

	"github.com/shatterlab/shatter/schemas"
)

// Failure counts the failed or lost trials of one kind and tells of the first of them.
type Failure = schemas.Failure

// A tally counts the outcomes that a run knows.
type tally struct {
	known    int64   // in the ledger when the run began
	trials   int64   // brought by workers
	served   int64   // from the cache
	seconds  float64 // time that slots worked on these, as workers report it
	plugin   float64 // part of it that was spent inside plugins
	failures map[string]*Failure
}

func newTally() *tally { return &tally{failures: map[string]*Failure{}} }

// addFailure counts a failed or lost trial.
func (t *tally) addFailure(c *cell, n, rep int64, kind, reason string) {
	f, ok := t.failures[kind]
	if !ok {
		f = &Failure{Kind: kind, Trial: c.TrialID(n, rep), What: c.Description(), Reason: reason}
		t.failures[kind] = f
	}
	f.Count++
}

// listFailures returns the failures in the order of their kinds.
func (t *tally) listFailures() []Failure {
	var out []Failure
	for _, f := range t.failures {
		out = append(out, *f)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Kind < out[j].Kind })
	return out
}

// Limits of a journal.
const (
	maxNotes      = 1000
	maxCacheNotes = 10
)

// journal keeps the first notes of a run for its manifest, and logs all of them.
type journal struct {
	log   *slog.Logger
	notes []string
	cache []string // those about the cache
}

// note notes a sentence. fields are keys and values for the log.
func (j *journal) note(s string, fields ...any) {
	if len(j.notes) < maxNotes {
		j.notes = append(j.notes, s)
	}
	j.log.Warn("note", append([]any{"text", s}, fields...)...)
}

// noteCache notes what went wrong with the cache, which is never an error of the sweep.
func (j *journal) noteCache(s string) {
	s = "cache: " + s
	j.note(s)
	if len(j.cache) < maxCacheNotes {
		j.cache = append(j.cache, s)
	}
}
