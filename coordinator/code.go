package coordinator

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// CodeError reports that an algorithm's code has changed since the sweep began, and that it does not
// give the recorded outcomes.
type CodeError struct {
	Trial, Algorithm string
	Old, New         string // digests of the plugin or built-in algorithm
	Difference       string
}

func (e *CodeError) Error() string {
	return fmt.Sprintf("trial %s of %s comes out differently than recorded (%s): "+
		"its code has changed from sha256 %.12s to %.12s; "+
		"run again with --redo to drop the outcomes of the old code, or with --fresh to set the folder aside",
		e.Trial, e.Algorithm, e.Difference, e.Old, e.New)
}

// Changed code has to reproduce one of recheckShare recorded trials of each algorithm, and
// recheckLeast at least.
const (
	recheckShare = 100
	recheckLeast = 20
)

// checkCode compares outcomes that other code has made with what today's makes of the same trials,
// before anything new is run. With Folder.Redo they were dropped instead.
func (r *run) checkCode(ctx context.Context) error {
	sample, compared, err := sampleForeign(r.grid, r.intake.ledger, r.intake.files, r.Folder.Plan.Seed)
	if err != nil {
		return err
	}
	if len(sample) > 0 || r.grid.open > 0 {
		if err := r.checkProfile(); err != nil {
			return err
		}
	}
	if len(sample) > 0 {
		r.journal.note(fmt.Sprintf("algorithms have changed: %d recorded trials are run again and compared", len(sample)))
		if err := r.compare(ctx, sample); err != nil {
			return err
		}
	}
	r.codeChecked = true
	if len(compared) == 0 {
		return nil
	}
	return r.Folder.KeepCompared(compared)
}

// checkProfile returns an error where the workers of this process would refuse every job.
func (r *run) checkProfile() error {
	was, here := r.tally.profile, trial.FloatProfile()
	if r.Workers != nil && was != "" && was != here {
		return fmt.Errorf("go on with the sweep in %q: its outcomes have the float profile %s, this machine's is %s, "+
			"and their last bits may differ; go on where it was begun, or with --fresh to set the folder aside",
			r.Folder.Dir, was, here)
	}
	return nil
}

// compare runs the trials of a sample again, each as a job of its own, and compares each with its
// record.
func (r *run) compare(ctx context.Context, sample []recorded) error {
	records := map[string]recorded{}
	var blocks []*rerunBlock
	for _, s := range sample {
		n, rep := s.batch.N, s.batch.Repetition[0]
		records[s.cell.TrialID(n, rep)] = s
		blocks = append(blocks, again(s.cell, n, rep, ""))
	}
	return r.runAgain(ctx, blocks, r.tally.profile, func(c *cell, b *ledger.Batch, row int) error {
		id := c.TrialID(b.N, b.Repetition[row])
		old := records[id]
		if b.Status[row] == ledger.Lost {
			return fmt.Errorf("check trial %s again: %s", id, b.ReasonOf(row))
		}
		if diff := difference(old.batch, b, row); diff != "" {
			return &CodeError{Trial: id, Algorithm: c.As, Old: old.batch.Digest, New: b.Digest, Difference: diff}
		}
		return nil
	})
}

// sampleForeign draws, per algorithm and under the sweep's seed, trials that other code has made.
// compared lists the digests of that code by the digest of today's that takes its place.
func sampleForeign(g *grid, l *ledger.Ledger, files pluginFiles, seed trial.SweepSeed) (
	sample []recorded, compared map[string][]string, err error,
) {
	drawn, compared := map[string]*reservoir{}, map[string][]string{}
	for _, o := range l.Origins() {
		c, ok := g.byKey[o.Cell]
		if !ok || !files.foreign(c, o.Digest) {
			continue
		}
		if drawn[c.As] == nil {
			drawn[c.As] = &reservoir{}
		}
		drawn[c.As].total += o.Outcomes
		today := files.today[c.Code()]
		compared[today] = append(compared[today], o.Digest)
	}
	rng := seed.Rand(trial.DrawCode)
	for _, c := range g.cells {
		if drawn[c.As] == nil {
			continue
		}
		err := l.Each(c.Key, func(b *ledger.Batch) error {
			if files.foreign(c, b.Digest) {
				for row := range b.Repetition {
					drawn[c.As].offer(rng, func() recorded { return copyRow(c, b, row) })
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
	return sample, compared, nil
}

// dropForeign removes from the ledger what other code has made.
func dropForeign(g *grid, l *ledger.Ledger, files pluginFiles) error {
	foreign := func(key trial.Key, digest string) bool {
		c, ok := g.byKey[key]
		return ok && files.foreign(c, digest)
	}
	if !slices.ContainsFunc(l.Origins(), func(o ledger.Origin) bool { return foreign(o.Cell, o.Digest) }) {
		return nil
	}
	return l.Drop(func(b *ledger.Batch) bool { return foreign(b.Cell, b.Digest) })
}

// recorded is one outcome of the ledger.
type recorded struct {
	cell  *cell
	batch *ledger.Batch // of one row
}

// copyRow copies one row out of a batch, which is valid for a short time only.
func copyRow(c *cell, b *ledger.Batch, row int) recorded {
	one := &ledger.Batch{
		Cell: b.Cell, N: b.N, Digest: strings.Clone(b.Digest), Worker: strings.Clone(b.Worker),
		Repetition: []int64{b.Repetition[row]}, Status: []uint8{b.Status[row]}, Error: []float64{b.Error[row]},
		Metrics: slices.Clone(b.Metrics),
	}
	for _, v := range b.Values {
		one.Values = append(one.Values, []float64{v[row]})
	}
	if kind := b.KindOf(row); kind != "" {
		one.Kind = []string{strings.Clone(kind)}
	}
	return recorded{c, one}
}

// reservoir keeps a uniform sample of the outcomes that it is offered.
type reservoir struct {
	kept    []recorded
	total   int64 // number that will be offered
	offered int
}

// offer calls outcome if it is to be kept.
func (s *reservoir) offer(rng *rand.Rand, outcome func() recorded) {
	s.offered++
	if most := max(recheckLeast, int(s.total/recheckShare)); len(s.kept) < most {
		s.kept = append(s.kept, outcome())
	} else if i := rng.IntN(s.offered); i < most {
		s.kept[i] = outcome()
	}
}

// difference describes how a row of b differs from the recorded outcome of its trial, the only row
// of old; "" if it does not. Reasons are for people and may differ.
func difference(old, b *ledger.Batch, row int) string {
	was, is := statusInWords(old, 0), statusInWords(b, row)
	if was != is {
		return fmt.Sprintf("%s was recorded, now it is %s", was, is)
	}
	if !sameBits(old.Error[0], b.Error[row]) {
		return fmt.Sprintf("error %v was recorded, now it is %v", old.Error[0], b.Error[row])
	}
	if !slices.Equal(old.Metrics, b.Metrics) {
		return fmt.Sprintf("metrics %v were recorded, now they are %v", old.Metrics, b.Metrics)
	}
	for m, name := range old.Metrics {
		if x, y := old.Values[m][0], b.Values[m][row]; !sameBits(x, y) {
			return fmt.Sprintf("metric %s = %v was recorded, now it is %v", name, x, y)
		}
	}
	return ""
}

// statusInWords returns the status of a row, with its kind where it is not ok.
func statusInWords(b *ledger.Batch, row int) string {
	status := ledger.StatusName(b.Status[row])
	if kind := b.KindOf(row); kind != "" {
		return fmt.Sprintf("%s (%s)", status, kind)
	}
	return status
}

// sameBits reports whether x and y are the same number to the last bit, or both NaN.
func sameBits(x, y float64) bool {
	return math.Float64bits(x) == math.Float64bits(y) || (math.IsNaN(x) && math.IsNaN(y))
}
