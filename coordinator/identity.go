package coordinator

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/ledger"
)

// CodeError says that an algorithm's file has changed since the sweep began, and that it does not give the recorded outcomes.
type CodeError struct {
	Trial, Algorithm string
	Old, New         string // digests of the plugin files
	Difference       string
}

func (e *CodeError) Error() string {
	return fmt.Sprintf("trial %s of %s comes out differently than recorded (%s): the plugin file has changed from %.12s to %.12s; run again with --redo to drop the outcomes of the old file, or with --fresh to set the folder aside",
		e.Trial, e.Algorithm, e.Difference, e.Old, e.New)
}

// Share of the recorded trials that a changed plugin file has to reproduce, and how many at least per algorithm.
const (
	recheckShare = 100
	recheckLeast = 20
)

// recorded is one outcome that another plugin file has made.
type recorded struct {
	cell  *cell
	batch *ledger.Batch // of one row
}

// record copies one row out of a batch, which is only lent.
func record(c *cell, b *ledger.Batch, row int) recorded {
	one := &ledger.Batch{
		N: b.N, Digest: strings.Clone(b.Digest), Repetition: []int64{b.Repetition[row]}, Status: []uint8{b.Status[row]},
		Error: []float64{b.Error[row]}, Metrics: slices.Clone(b.Metrics),
	}
	for _, v := range b.Values {
		one.Values = append(one.Values, []float64{v[row]})
	}
	return recorded{c, one}
}

// recheck compares outcomes that were made by other plugin files with what today's make of the same trials, before anything new is
// run. With --redo it drops them instead (in recover).
func (r *run) recheck(ctx context.Context) error {
	sample, olds, err := r.recheckSample()
	if err != nil || len(sample) == 0 {
		return err
	}
	r.note(fmt.Sprintf("plugin files have changed: %d recorded trials are run again and compared", len(sample)))
	waiting := map[string]recorded{}
	for i, s := range sample {
		id := fmt.Sprintf("recheck-%d", i)
		n, rep := s.batch.N, s.batch.Repetition[0]
		waiting[s.cell.TrialID(n, rep)] = s
		if err := r.send(ctx, s.cell, id, estimate.Block{N: n, First: int(rep), Count: 1}); err != nil {
			return err
		}
	}
	for len(waiting) > 0 {
		m, err := r.queue.Next(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("check recorded trials again: %w", err)
		}
		if err := r.compare(m, waiting); err != nil {
			return err
		}
	}
	r.Folder.state.Verified = append(r.Folder.state.Verified, olds...)
	return r.Folder.write()
}

// compare holds one result against what was recorded.
func (r *run) compare(m *bus.Message, waiting map[string]recorded) error {
	b, err := ledger.Decode(m.Data)
	if err != nil || b.Sweep != r.Folder.ID {
		return m.Ack()
	}
	c, ok := r.byKey[b.Cell]
	if !ok {
		return m.Ack()
	}
	for i, rep := range b.Repetition {
		id := c.TrialID(b.N, rep)
		old, ok := waiting[id]
		if !ok {
			continue
		}
		delete(waiting, id)
		if b.Status[i] == ledger.Lost {
			return fmt.Errorf("check trial %s again: %s", id, text(b.Reason, i))
		}
		if diff := differs(old.batch, b, i); diff != "" {
			return &CodeError{Trial: id, Algorithm: c.As, Old: old.batch.Digest, New: b.Digest, Difference: diff}
		}
	}
	return m.Ack()
}

// recheckSample draws, per algorithm and under the sweep's seed, the recorded trials to run again.
func (r *run) recheckSample() (sample []recorded, olds []string, err error) {
	foreign, totals := r.foreign()
	if len(foreign) == 0 {
		return nil, nil, nil
	}
	drawn := map[string]*reservoir{}
	for as, total := range totals {
		drawn[as] = &reservoir{most: max(recheckLeast, int(total/recheckShare))}
	}
	rng := rand.New(rand.NewPCG(r.Folder.Plan.Seed, 0x636f6465))
	for _, c := range r.cells {
		err := r.ledger.Each(c.Key, func(b *ledger.Batch) error {
			if foreign[b.Digest] {
				for row := range b.Repetition {
					drawn[c.As].offer(rng, func() recorded { return record(c, b, row) })
				}
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
	}
	for _, as := range slices.Sorted(maps.Keys(drawn)) {
		sample = append(sample, drawn[as].kept...)
	}
	return sample, slices.Sorted(maps.Keys(foreign)), nil
}

// reservoir keeps a uniform sample of what it is offered.
type reservoir struct {
	kept    []recorded
	most    int
	offered int
}

func (s *reservoir) offer(rng *rand.Rand, x func() recorded) {
	s.offered++
	if len(s.kept) < s.most {
		s.kept = append(s.kept, x())
	} else if i := rng.IntN(s.offered); i < s.most {
		s.kept[i] = x()
	}
}

// foreign is the digests of plugin files that made outcomes of this sweep's cells, are not today's, and were not checked yet; and
// how many outcomes of each algorithm they made.
func (r *run) foreign() (digests map[string]bool, outcomes map[string]int64) {
	digests, outcomes = map[string]bool{}, map[string]int64{}
	for _, o := range r.ledger.Origins() {
		if c, ok := r.byKey[o.Cell]; ok && o.Digest != r.Digests[c.Plugin] && !slices.Contains(r.Folder.state.Verified, o.Digest) {
			digests[o.Digest] = true
			outcomes[c.As] += o.Outcomes
		}
	}
	return digests, outcomes
}

// dropForeign removes what other plugin files made, for --redo.
func (r *run) dropForeign() error {
	foreign, _ := r.foreign()
	if len(foreign) == 0 {
		return nil
	}
	return r.ledger.Drop(func(b *ledger.Batch) bool {
		_, mine := r.byKey[b.Cell]
		return mine && foreign[b.Digest]
	})
}

// differs says in what row i of b differs from the recorded outcome of its trial, or nothing. Reasons are for people and may differ.
func differs(old, b *ledger.Batch, i int) string {
	if old.Status[0] != b.Status[i] {
		return fmt.Sprintf("status %d was recorded, now it is %d", old.Status[0], b.Status[i])
	}
	if !same(old.Error[0], b.Error[i]) {
		return fmt.Sprintf("error %v was recorded, now it is %v", old.Error[0], b.Error[i])
	}
	if !slices.Equal(old.Metrics, b.Metrics) {
		return fmt.Sprintf("metrics %v were recorded, now they are %v", old.Metrics, b.Metrics)
	}
	for m, name := range old.Metrics {
		if x, y := old.Values[m][0], b.Values[m][i]; !same(x, y) {
			return fmt.Sprintf("metric %s = %v was recorded, now it is %v", name, x, y)
		}
	}
	return ""
}

// same compares bits, but for NaN, which has many.
func same(x, y float64) bool {
	return math.Float64bits(x) == math.Float64bits(y) || (math.IsNaN(x) && math.IsNaN(y))
}
