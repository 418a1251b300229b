package coordinator

import (
	"fmt"
	"slices"
	"time"

	"github.com/shatterlab/shatter/coordinator/meter"
	"github.com/shatterlab/shatter/coordinator/pool"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

// fsyncBytes is the size of received results at which the ledger is synced without waiting for the
// next tick.
const fsyncBytes = 4 << 20

// An intake checks results, records them in the ledger and feeds their cells.
type intake struct {
	*state
	jobs         *scheduler
	ledger       *ledger.Ledger
	meter        *meter.Meter
	environments map[string][]string                // identities of plugins in their environments, by digest
	workers      map[string]*schemas.ManifestWorker // workers that sent results, by name

	synced uint64 // sequence number up to which all results are on disk
	bytes  int    // size of the results in the ledger that may not be on disk yet
}

// accept checks a result, adds it to the ledger and feeds its cell. r is the request that the
// result answers; nil: unknown. Results that do not belong to this run are dropped.
func (in *intake) accept(m *queue.Message, r *pool.Request) error {
	if pool.IsAgain(m.Job) { // a recheck of an interrupted run
		return nil
	}
	b, err := ledger.Decode(m.Data)
	if err != nil {
		in.drop(m, "malformed", err.Error())
		return nil
	}
	c, wrong, reason := in.cellOf(b)
	if wrong == "" && b.Worker != m.Worker {
		wrong, reason = "worker", fmt.Sprintf("it names worker %.40q as its origin", b.Worker)
	}
	if wrong != "" {
		in.drop(m, wrong, reason)
		return nil
	}
	in.pool.Usual.Record(b.Seconds)
	verdict, err := in.ledger.Add(b, m.Data)
	if err != nil {
		return fmt.Errorf("keep outcomes of cell %s: %w", c.Key.Short(), err)
	}
	in.countResult(verdict, len(m.Data))
	in.journal.log.Debug("result taken in", "job", m.Job, "worker", m.Worker, "cell", c.Key.Short(), "n", b.N,
		"trials", len(verdict.New))
	in.bytes += len(m.Data)
	in.pool.SetProfile(b.Profile)
	in.record(c, verdict, m.Worker, r)
	in.worker(m.Worker).Results++
	in.tally.trials += int64(len(verdict.New))
	in.jobs.spent = false // the result may have taken less time than predicted
	if len(verdict.New) > 0 {
		in.tally.seconds += b.Seconds
		in.tally.plugin += b.PluginSeconds
		c.fresh = true
	}
	in.grid.markChanged(c)
	if in.bytes >= fsyncBytes {
		return in.flush()
	}
	return nil
}

// countResult updates the counters for a result of the given size.
func (in *intake) countResult(v ledger.Verdict, bytes int) {
	failed := 0
	for _, i := range v.New {
		if v.Batch.Status[i] == ledger.Failed {
			failed++
		}
	}
	in.meter.Count(func(c *meter.Counts) {
		meter.Increase(&c.Trials, ledger.StatusName(ledger.OK), len(v.New)-failed)
		meter.Increase(&c.Trials, ledger.StatusName(ledger.Failed), failed)
		meter.Increase(&c.Trials, ledger.StatusName(ledger.Lost), len(v.Lost))
		c.TrialSeconds += v.Batch.Seconds
		c.Bytes += int64(bytes)
		if v.Refused {
			c.Refused++
		}
	})
}

// maxDropNotes is the number of dropped results per worker that are noted individually.
const maxDropNotes = 20

func (in *intake) worker(name string) *schemas.ManifestWorker {
	x := in.workers[name]
	if x == nil {
		x = &schemas.ManifestWorker{Name: name}
		in.workers[name] = x
	}
	return x
}

// refused returns the number of results that were dropped, over all workers.
func (in *intake) refused() (count int64) {
	for _, x := range in.workers {
		count += x.Refused
	}
	return count
}

// drop acknowledges a message without recording it. wrong is the reason in one word.
func (in *intake) drop(m *queue.Message, wrong, reason string) {
	in.meter.Count(func(c *meter.Counts) { meter.Increase(&c.Dropped, wrong, 1) })
	worker := in.worker(m.Worker)
	if worker.Refused++; worker.Refused > maxDropNotes {
		return
	}
	in.journal.note(fmt.Sprintf("a result of job %q by worker %q was dropped: %s", m.Job, m.Worker, reason),
		"job", m.Job, "worker", m.Worker)
}

// cellOf returns the cell of a result, or the fault of the result in one word and in a sentence. It
// checks that the result is about trials of its cell, because anyone with access to the queue can
// publish.
func (in *intake) cellOf(b *ledger.Batch) (c *cell, wrong, reason string) {
	c, ok := in.grid.byKey[b.Cell]
	last := int64(0)
	if b.Refusal == nil {
		last = b.Repetition[len(b.Repetition)-1]
	}
	switch profile := in.pool.Profile; {
	case b.Sweep != in.code.Folder.ID:
		return nil, "sweep", fmt.Sprintf("it is of the sweep %q", b.Sweep)
	case !ok:
		return nil, "cell", "the sweep file no longer has its cell"
	case !c.Has(b.N, last):
		return nil, "trial", fmt.Sprintf("the cell has no trial %s", c.TrialID(b.N, last))
	case b.Refusal == nil && !slices.Equal(b.Metrics, c.Metrics):
		return nil, "metrics", fmt.Sprintf("it has the metrics %q, the algorithm declares %q", b.Metrics, c.Metrics)
	case slices.Contains(in.recheck.Quarantined(), b.Worker):
		return nil, "quarantine", fmt.Sprintf("worker %q is in quarantine", b.Worker)
	case in.code.Foreign(c.Cell, b.Digest):
		return nil, "code", fmt.Sprintf("worker %q made it with other code, sha256 %.12s", b.Worker, b.Digest)
	case profile != "" && profile != b.Profile:
		return nil, "profile", fmt.Sprintf("worker %q has the float profile %s, the sweep's is %s: "+
			"their last bits may differ", b.Worker, b.Profile, profile)
	}
	return c, "", ""
}

// recordEnvironment notes that a plugin runs in another environment than before, which only workers elsewhere can do.
// All rechecks of its cells are made again then, because they would agree with outcomes of the earlier environment.
func (in *intake) recordEnvironment(b *ledger.Batch) {
	known := in.knowEnvironment(b.Digest)
	if len(known) == 0 || in.code.Environments[b.Digest] != nil {
		return
	}
	change := b.Environment.Changes(in.ledger.Environment(known[len(known)-1]))
	in.journal.note(fmt.Sprintf("worker %s runs %s in another environment than before (%s): its rechecks are made again",
		b.Worker, in.grid.byKey[b.Cell].As, wording.Few(change, schemas.MaxChanges)))
	program := schemas.ProgramOf(b.Digest)
	for _, c := range in.grid.cells {
		if schemas.ProgramOf(in.code.Today[c.Code()]) == program {
			in.recheck.Forget(c.Cell)
		}
	}
}

// knowEnvironment records an identity. If it is new, it returns the earlier identities of the same plugin.
func (in *intake) knowEnvironment(identity string) (before []string) {
	program := schemas.ProgramOf(identity)
	before = in.environments[program]
	if identity == program || slices.Contains(before, identity) {
		return nil
	}
	in.environments[program] = append(before, identity)
	return before
}

// record feeds a cell with the outcomes that are new to the ledger.
func (in *intake) record(c *cell, v ledger.Verdict, worker string, r *pool.Request) {
	if in.recordRefusal(c, v) {
		return
	}
	b := v.Batch
	in.recordEnvironment(b)
	size := c.size(b.N)
	size.seconds += b.Seconds
	size.trials += int64(len(b.Repetition))
	in.tally.addWarnings(c, b.Warnings, b.Warning)
	for _, note := range b.Notes {
		in.journal.note(fmt.Sprintf("worker %s: %s", b.Worker, note))
	}
	for _, i := range v.Lost {
		rep := b.Repetition[i]
		if !in.jobs.lost(c, b.N, rep, worker, r) {
			continue
		}
		in.tally.addFailure(c, b.N, rep, b.KindOf(i), b.ReasonOf(i))
		c.Lose(b.N, rep, b.ReasonOf(i))
	}
	for _, i := range v.New {
		rep := b.Repetition[i]
		size.taken.Set(rep)
		in.jobs.returned(c, b.N, rep, r)
		if b.Status[i] == ledger.Failed {
			in.tally.addFailure(c, b.N, rep, b.KindOf(i), b.ReasonOf(i))
		}
		c.Feed(b, i)
	}
}

// flush makes the added results durable.
func (in *intake) flush() error {
	if in.bytes > 0 {
		began := time.Now()
		err := in.ledger.Sync()
		took := time.Since(began)
		in.meter.Count(func(c *meter.Counts) { c.Fsyncs.Add(took, meter.FsyncBounds) })
		if err != nil {
			return err
		}
	}
	in.synced, in.bytes = in.pool.Read, 0
	return nil
}
