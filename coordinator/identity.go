package coordinator

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/ledger"

	"github.com/shatterlab/shatter/pipeline/trial"
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
		Cell: b.Cell, N: b.N, Digest: strings.Clone(b.Digest), Repetition: []int64{b.Repetition[row]}, Status: []uint8{b.Status[row]},
		Error: []float64{b.Error[row]}, Metrics: slices.Clone(b.Metrics),
	}
	for _, v := range b.Values {
		one.Values = append(one.Values, []float64{v[row]})
	}
	if kind := text(b.Kind, row); kind != "" {
		one.Kind = []string{strings.Clone(kind)}
	}
	return recorded{c, one}
}

// recheck compares outcomes that were made by other plugin files with what today's make of the same trials, before anything new is
// run. With --redo they were dropped instead (in recover).
func (r *run) recheck(ctx context.Context) error {
	sample, olds, err := r.recheckSample()
	if err != nil {
		return err
	}
	if len(sample) > 0 || r.open > 0 {
		if err := r.machine(); err != nil {
			return err
		}
	}
	if len(sample) > 0 {
		r.note(fmt.Sprintf("plugin files have changed: %d recorded trials are run again and compared", len(sample)))
		if err := r.compareAgain(ctx, sample); err != nil {
			return err
		}
	}
	r.unchecked = false
	if len(olds) == 0 {
		return nil
	}
	maps.Copy(r.Folder.state.Compared, olds)
	return r.Folder.write()
}

// machine refuses to wait for workers of this process that would refuse every job.
func (r *run) machine() error {
	if here := trial.FloatProfile(); r.Workers != nil && r.profile != "" && r.profile != here {
		return fmt.Errorf("go on with the sweep in %q: its outcomes have the float profile %s, this machine's is %s, and their last bits may differ; "+
			"go on where it was begun, or with --fresh to set the folder aside", r.Folder.Dir, r.profile, here)
	}
	return nil
}

// compareAgain runs the trials of a sample, each as a job of its own, and compares each with its record.
func (r *run) compareAgain(ctx context.Context, sample []recorded) error {
	waiting := map[string]recorded{}
	var blocks []*again
	for _, s := range sample {
		n, rep := s.batch.N, s.batch.Repetition[0]
		waiting[s.cell.TrialID(n, rep)] = s
		blocks = append(blocks, &again{cell: s.cell, block: estimate.Block{N: n, First: int(rep), Count: 1}})
	}
	return r.runAgain(ctx, blocks, r.profile, func(c *cell, b *ledger.Batch, row int) error {
		id := c.TrialID(b.N, b.Repetition[row])
		old := waiting[id]
		if b.Status[row] == ledger.Lost {
			return fmt.Errorf("check trial %s again: %s", id, text(b.Reason, row))
		}
		if diff := differs(old.batch, b, row); diff != "" {
			return &CodeError{Trial: id, Algorithm: c.As, Old: old.batch.Digest, New: b.Digest, Difference: diff}
		}
		return nil
	})
}

// recheckSample draws, per algorithm and under the sweep's seed, the recorded trials to run again. olds are the plugin files that
// made them, and today's that are compared with each.
func (r *run) recheckSample() (sample []recorded, olds map[string]string, err error) {
	drawn, olds := map[string]*reservoir{}, map[string]string{}
	for _, o := range r.ledger.Origins() {
		c, ok := r.byKey[o.Cell]
		if !ok || !r.foreign(c, o.Digest) {
			continue
		}
		if drawn[c.As] == nil {
			drawn[c.As] = &reservoir{}
		}
		drawn[c.As].total += o.Outcomes
		olds[o.Digest] = r.Digests[c.Plugin]
	}
	rng := rand.New(rand.NewPCG(r.Folder.Plan.Seed, 0x636f6465))
	for _, c := range r.cells {
		if drawn[c.As] == nil {
			continue
		}
		err := r.ledger.Each(c.Key, func(b *ledger.Batch) error {
			if r.foreign(c, b.Digest) {
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
	return sample, olds, nil
}

// reservoir keeps a uniform sample of what it is offered.
type reservoir struct {
	kept    []recorded
	total   int64 // that will be offered
	offered int
}

func (s *reservoir) offer(rng *rand.Rand, x func() recorded) {
	s.offered++
	if most := max(recheckLeast, int(s.total/recheckShare)); len(s.kept) < most {
		s.kept = append(s.kept, x())
	} else if i := rng.IntN(s.offered); i < most {
		s.kept[i] = x()
	}
}

// foreign reports whether a plugin file that made outcomes of a cell is not today's, and was not compared with it.
func (r *run) foreign(c *cell, digest string) bool {
	today := r.Digests[c.Plugin]
	return digest != today && r.Folder.state.Compared[digest] != today
}

// dropForeign removes what other plugin files made, for --redo.
func (r *run) dropForeign() error {
	if !slices.ContainsFunc(r.ledger.Origins(), func(o ledger.Origin) bool {
		c, mine := r.byKey[o.Cell]
		return mine && r.foreign(c, o.Digest)
	}) {
		return nil
	}
	return r.ledger.Drop(func(b *ledger.Batch) bool {
		c, mine := r.byKey[b.Cell]
		return mine && r.foreign(c, b.Digest)
	})
}

// differs says in what row i of b differs from the recorded outcome of its trial, or nothing. Reasons are for people and may differ.
func differs(old, b *ledger.Batch, i int) string {
	if old.Status[0] != b.Status[i] {
		return fmt.Sprintf("status %d was recorded, now it is %d", old.Status[0], b.Status[i])
	}
	if was, is := text(old.Kind, 0), text(b.Kind, i); was != is {
		return fmt.Sprintf("kind %q was recorded, now it is %q", was, is)
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
