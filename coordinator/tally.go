package coordinator

import (
	"log/slog"
	"maps"
	"slices"

	"github.com/shatterlab/shatter/schemas"
)

// A Failure counts the failed or lost trials of one kind and describes the first of them.
type Failure = schemas.Failure

// A tally counts the outcomes of a run.
type tally struct {
	known    int64   // outcomes in the ledger when the run began
	trials   int64   // outcomes from workers
	served   int64   // outcomes from the cache
	seconds  float64 // time that slots spent on these trials, as workers report it
	plugin   float64 // part of that time inside plugins
	failures map[string]*Failure
	warnings map[string]*schemas.Warnings // counts by algorithm
}

// addWarnings counts warnings of a plugin during trials of a cell.
func (t *tally) addWarnings(c *cell, count int64, first string) {
	if count <= 0 {
		return
	}
	w, ok := t.warnings[c.As]
	if !ok {
		w = &schemas.Warnings{Algorithm: c.As, First: first, Cells: map[string]int64{}}
		t.warnings[c.As] = w
	}
	w.Count += count
	w.Cells[c.Key.Short()] += count
}

func (t *tally) addFailure(c *cell, n, rep int64, kind, reason string) {
	f, ok := t.failures[kind]
	if !ok {
		f = &Failure{Kind: kind, Trial: c.TrialID(n, rep), What: c.Description(), Reason: reason}
		t.failures[kind] = f
	}
	f.Count++
}

// sortedValues returns the values of a map by key.
func sortedValues[V any](m map[string]*V) (list []V) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		list = append(list, *m[key])
	}
	return list
}

// Limits of a journal.
const (
	maxNotes      = 1000
	maxCacheNotes = 10
)

// A journal keeps the first notes of a run for its manifest, and logs all of them.
type journal struct {
	log   *slog.Logger
	notes []string
	cache []string // notes about the cache
}

// note records a sentence. fields are keys and values for the log.
func (j *journal) note(s string, fields ...any) {
	if len(j.notes) < maxNotes {
		j.notes = append(j.notes, s)
	}
	j.log.Warn("note", append([]any{"text", s}, fields...)...)
}

// noteCache records a fault of the cache, which is never an error of the sweep.
func (j *journal) noteCache(s string) {
	s = "cache: " + s
	j.note(s)
	if len(j.cache) < maxCacheNotes {
		j.cache = append(j.cache, s)
	}
}
