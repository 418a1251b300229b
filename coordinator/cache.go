package coordinator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/shatterlab/shatter/pipeline/ledger"

	"github.com/shatterlab/shatter/pipeline/cache"
	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// CacheLimit is the bytes that a run leaves in the cache at most: what was used longest ago goes first.
const CacheLimit = 2 << 30

// cacheKey names a cell's entry in a cache.
func cacheKey(c *trial.Cell, seed uint64) cache.Key {
	return cache.Key{Cell: c.Key, Seed: seed, Noise: c.NoiseKey}
}

// fromCache takes outcomes that the ledger lacks from the cache into it: those of today's plugin file under the sweep's float profile. A
// cell that is done needs none. What goes wrong with the cache is a note.
func (r *run) fromCache(ctx context.Context) error {
	profile := r.profile
	if profile == "" && r.Workers != nil {
		profile = trial.FloatProfile() // the workers of this process will bring it
	}
	if r.Cache == nil || profile == "" {
		return nil
	}
	for _, c := range r.cells {
		if c.done || r.alarmsOf(c) > 0 {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		key := cacheKey(c.Cell, r.Folder.Plan.Seed)
		batches, damaged, err := r.Cache.Read(key)
		if err != nil {
			r.cacheNote(err.Error())
			break // the next one would not be readable either
		}
		for _, d := range damaged {
			r.cacheNote(fmt.Sprintf("a damaged part was skipped: %s", d))
		}
		before := r.counts.served
		for _, b := range batches {
			if b.Digest == r.Digests[c.Plugin] && b.Profile == profile && slices.Equal(b.Metrics, c.Metrics) {
				if err := r.serveFrom(c, b); err != nil {
					return err
				}
			}
		}
		if r.counts.served > before {
			r.profile = profile
			r.Cache.Used(key)
		}
	}
	return r.ledger.Sync()
}

// serveFrom adds those rows of a cached batch to the ledger that the cell can have and the ledger does not.
func (r *run) serveFrom(c *cell, b *ledger.Batch) error {
	rows := servable(c, b, func(rep int64) bool { return !r.ledger.Has(c.Key, b.N, rep) })
	if len(rows) == 0 {
		return nil
	}
	served := b.Select(rows)
	served.Sweep, served.Worker, served.Notes = r.Folder.ID, "cache", nil
	served.Seconds = b.Seconds * float64(len(rows)) / float64(len(b.Repetition))
	msg, err := served.Encode()
	if err != nil {
		return err
	}
	v, err := r.ledger.Add(msg)
	if err != nil {
		return fmt.Errorf("keep outcomes of cell %s: %w", c.Key.Short(), err)
	}
	r.record(c, v)
	r.counts.served += int64(len(v.New))
	c.trials += int64(len(v.New))
	r.touch(c)
	return nil
}

// servable is the rows of a cached batch that the cell can have and that are wanted.
func servable(c *cell, b *ledger.Batch, wanted func(rep int64) bool) (rows []int) {
	for i, rep := range b.Repetition {
		if c.has(b.N, rep) && wanted(rep) {
			rows = append(rows, i)
		}
	}
	return rows
}

// toCache adds what this run has found out to the cache. What goes wrong is a note.
func (r *run) toCache() {
	if r.Cache == nil {
		return
	}
	for _, c := range r.cells {
		if !c.fresh || r.alarmsOf(c) > 0 {
			continue
		}
		_, err := r.Cache.Add(context.Background(), cacheKey(c.Cell, r.Folder.Plan.Seed), c.words(), func(add func(*ledger.Batch) error) error {
			return r.ledger.Each(c.Key, add)
		})
		if err != nil {
			r.cacheNote(err.Error())
			if path := (*fs.PathError)(nil); errors.As(err, &path) || errors.Is(err, cache.ErrBusy) {
				return // a disk that is full stays full
			}
		}
	}
	if _, err := r.Cache.Trim(context.Background(), time.Time{}, CacheLimit); err != nil {
		r.cacheNote(err.Error())
	}
}

// cacheNote keeps what went wrong with the cache. It is never an error of the sweep.
func (r *run) cacheNote(s string) {
	s = "cache: " + s
	r.note(s)
	if len(r.cached) < 10 {
		r.cached = append(r.cached, s)
	}
}

// Explanation says what a cache has for a cell.
type Explanation struct {
	Cell   string        // its key, and its algorithm and problem in words
	Trials int64         // that it can serve
	Took   time.Duration // to run them
	Why    string        // why there are none, or not all
}

// ExplainCache says for each cell of a plan what the cache can serve to a run on this machine, whose plugin files have these digests.
func ExplainCache(plan *plan.Plan, digests map[string]string, cache *cache.Cache) ([]Explanation, error) {
	var all []Explanation
	for i, pc := range plan.Cells {
		c, err := newCell(pc, i, len(plan.Cells))
		if err != nil {
			return nil, err
		}
		e, err := c.explain(cache, plan.Seed, digests[c.Plugin])
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

func (c *cell) explain(cache *cache.Cache, seed uint64, digest string) (Explanation, error) {
	e := Explanation{Cell: c.Key.Short() + " " + c.words()}
	batches, damaged, err := cache.Read(cacheKey(c.Cell, seed))
	if err != nil {
		return e, err
	}
	seconds, why := 0.0, newTally()
	for _, b := range batches {
		rows := int64(len(servable(c, b, func(int64) bool { return true })))
		why.add(int64(len(b.Repetition))-rows, "of sample sizes or repetitions that the sweep does not have")
		switch {
		case b.Digest != digest:
			why.add(rows, fmt.Sprintf("by another plugin file (SHA-256 %.12s, now it is %.12s)", b.Digest, digest))
		case b.Profile != trial.FloatProfile():
			why.add(rows, fmt.Sprintf("under the float profile %s (here it is %s)", b.Profile, trial.FloatProfile()))
		case !slices.Equal(b.Metrics, c.Metrics):
			why.add(rows, "with other metrics")
		default:
			e.Trials += rows
			seconds += b.Seconds * float64(rows) / float64(len(b.Repetition))
		}
	}
	e.Took = time.Duration(min(seconds, math.MaxInt64/1e10) * float64(time.Second))
	why.add(int64(len(damaged)), "damaged parts are skipped")
	if e.Why = why.String(); e.Why != "" || e.Trials > 0 {
		return e, nil
	}
	e.Why = "nothing is there of this cell"
	if seeds := cache.Seeds(c.Key); len(seeds) > 0 {
		e.Why = fmt.Sprintf("nothing is there under seed %d, but under %s", seed, some(seeds))
	}
	return e, nil
}

// some is the first of a few numbers.
func some(list []uint64) string {
	const most = 5
	var text []string
	for _, x := range list[:min(most, len(list))] {
		text = append(text, fmt.Sprint(x))
	}
	if len(list) > most {
		text = append(text, "others")
	}
	return strings.Join(text, ", ")
}

// tally counts trials by reason, in the order of their first use.
type tally struct {
	order  []string
	counts map[string]int64
}

func newTally() *tally { return &tally{counts: map[string]int64{}} }

func (t *tally) add(count int64, reason string) {
	if count == 0 {
		return
	}
	if t.counts[reason] == 0 {
		t.order = append(t.order, reason)
	}
	t.counts[reason] += count
}

func (t *tally) String() string {
	var parts []string
	for _, reason := range t.order {
		parts = append(parts, fmt.Sprintf("%d %s", t.counts[reason], reason))
	}
	return strings.Join(parts, "; ")
}
