package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"github.com/shatterlab/shatter/pipeline/cache"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// MaxCacheBytes is the size to which a run trims the cache. The least recently used entries are
// removed first.
const MaxCacheBytes = 2 << 30

// cacheWorker is the worker name in the ledger for outcomes that come from the cache.
const cacheWorker = "cache"

// key returns the key of a cell's outcomes by the present code.
func (u cacheUse) key(c *trial.Cell, profile string) cache.Key {
	return cache.Key{
		Cell: c.Key, Seed: u.code.Folder.Plan.Seed.Label(), Noise: c.NoiseKey, Digest: u.code.Today[c.Code()],
		Profile: profile,
	}
}

// cacheUse exchanges outcomes between a run and the cache. It reports faults of the cache as notes.
type cacheUse struct {
	*intake
	cache *cache.Cache // nil: none
}

// load copies outcomes from the cache to the ledger if the ledger lacks them and if the present
// code made them under the given float profile. It skips cells that are done.
func (u cacheUse) load(ctx context.Context, profile string) error {
	if u.cache == nil || profile == "" {
		return nil
	}
	for _, c := range u.grid.cells {
		if c.done || u.doubtful(c) {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		key := u.key(c.Cell, profile)
		batches, err := u.cache.Read(key)
		if err != nil {
			u.journal.noteCache(err.Error())
			continue
		}
		before := u.tally.served
		for _, b := range batches {
			if slices.Equal(b.Metrics, c.Metrics) {
				if err := u.serve(c, b); err != nil {
					return err
				}
			}
		}
		if u.tally.served > before {
			u.pool.SetProfile(profile)
			u.cache.Used(key)
		}
	}
	return u.ledger.Sync()
}

// doubtful reports whether some trial of a cell has two different outcomes.
func (u cacheUse) doubtful(c *cell) bool {
	conflicts, clashes := u.ledger.Contradictions(c.Key)
	return len(conflicts)+len(clashes) > 0 || u.recheck.Contradiction(c.Cell) != nil
}

// serve adds the rows of a cached batch to the ledger that belong to trials of the cell and that
// the ledger lacks.
func (u cacheUse) serve(c *cell, b *ledger.Batch) error {
	var rows []int
	for i, rep := range b.Repetition {
		if _, known := u.ledger.Find(c.Key, b.N, rep); !known && c.Has(b.N, rep) {
			rows = append(rows, i)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	served := b.Select(rows)
	served.Sweep, served.Worker, served.Notes, served.Warnings = u.code.Folder.ID, cacheWorker, nil, 0
	share := float64(len(rows)) / float64(len(b.Repetition))
	served.Seconds, served.PluginSeconds = b.Seconds*share, b.PluginSeconds*share
	msg, err := served.Encode()
	if err != nil {
		return err
	}
	v, err := u.ledger.Add(served, msg)
	if err != nil {
		return fmt.Errorf("keep outcomes of cell %s: %w", c.Key.Short(), err)
	}
	u.record(c, v, "", nil)
	u.tally.served += int64(len(v.New))
	c.trials += int64(len(v.New))
	u.grid.markChanged(c)
	return nil
}

// store adds the new outcomes of this run to the cache.
func (u cacheUse) store() {
	if u.cache == nil {
		return
	}
	profile := u.code.Folder.Profile()
	for _, c := range u.grid.cells {
		if !c.fresh || u.doubtful(c) {
			continue
		}
		_, err := u.cache.Add(u.key(c.Cell, profile), func(add func(*ledger.Batch) error) error {
			return u.ledger.Each(c.Key, add)
		})
		if err != nil {
			u.journal.noteCache(err.Error())
			if errors.Is(err, syscall.ENOSPC) {
				break
			}
		}
	}
	if err := u.cache.Trim(MaxCacheBytes); err != nil {
		u.journal.noteCache(err.Error())
	}
}
