package coordinator

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/schemas"
)

// fsyncBytes is the size of results that are made durable at once, without waiting for fsyncEvery.
const fsyncBytes = 4 << 20

// pluginFiles knows which plugins and built-in algorithms may have made the outcomes of a sweep.
type pluginFiles struct {
	today  map[string]string // see Config.Digests
	folder *folder.Folder
}

// foreign reports whether what made outcomes of a cell is not today's plugin or built-in algorithm
// and was not compared with it.
func (p pluginFiles) foreign(c *cell, digest string) bool {
	today := p.today[c.Code()]
	return digest != today && !p.folder.Compared(digest, today)
}

// intake takes in outcomes: it checks result messages, records them in the ledger and feeds their
// cells. A message is acknowledged only after it is on the disk.
type intake struct {
	grid    *grid
	jobs    *dispatcher
	tally   *tally
	journal *journal
	files   pluginFiles
	ledger  *ledger.Ledger
	meter   *Meter
	workers map[string]*schemas.ManifestWorker // that sent results, by name; at most mostWorkers

	synced  uint64            // sequence of a result up to which all are on the disk
	bytes   int               // in the ledger's file, not yet on the disk
	alarms  map[string]bool   // IDs of trials with two outcomes
	clashes map[sizeID]string // in words, of sample sizes that were answered for in two ways
}

// acceptAll takes in a message and all that wait behind it, so that one search for work serves them
// all.
func (in *intake) acceptAll(m *queue.Message, waiting <-chan *queue.Message) error {
	batch := []*queue.Message{m}
	for more := true; more && len(batch) < 64; {
		select {
		case m := <-waiting:
			batch = append(batch, m)
		default:
			more = false
		}
	}
	for _, m := range batch {
		if err := in.accept(m); err != nil {
			return err
		}
	}
	return nil
}

// accept checks one result message, adds it to the ledger and feeds its cell. A message that is not
// for this run is dropped.
func (in *intake) accept(m *queue.Message) error {
	e := in.jobs.crew.arrived(m)
	err := in.take(m, e)
	in.jobs.crew.swept(e, m.Worker, time.Now())
	return err
}

// take does the work of accept, but for the account of who has what.
func (in *intake) take(m *queue.Message, e *errand) error {
	if strings.HasPrefix(m.Job, recheckPrefix) { // of a run that was ended in the middle of it
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
	in.jobs.crew.took(b.Seconds)
	verdict, err := in.ledger.AddBatch(b, m.Data)
	if err != nil {
		return fmt.Errorf("keep outcomes of cell %s: %w", c.Key.Short(), err)
	}
	in.meter.took(verdict, len(m.Data))
	in.journal.log.Debug("result taken in", "job", m.Job, "worker", m.Worker, "cell", c.Key.Short(), "n", b.N,
		"trials", len(verdict.New))
	in.bytes += len(m.Data)
	in.tally.profile = b.Profile
	in.record(c, verdict, m.Worker, e)
	in.worker(m.Worker).Results++
	in.tally.trials += int64(len(verdict.New))
	if len(verdict.New) > 0 {
		in.tally.seconds += b.Seconds
		in.tally.plugin += b.PluginSeconds
		c.fresh = true
	}
	in.grid.queue(c)
	if in.bytes >= fsyncBytes {
		return in.flush()
	}
	return nil
}

// mostDropsTold is the number of dropped results of a worker that are told one by one.
const mostDropsTold = 20

// mostWorkers is the number of workers whose results are counted: anyone with access to the queue can invent names.
const mostWorkers = 10_000

// worker returns the counts of a worker's results.
func (in *intake) worker(name string) *schemas.ManifestWorker {
	x := in.workers[name]
	if x == nil {
		x = &schemas.ManifestWorker{Name: strings.Clone(name)}
		if len(in.workers) < mostWorkers {
			in.workers[x.Name] = x
		}
	}
	return x
}

// listWorkers returns the counts of all workers by name.
func (in *intake) listWorkers() (all []schemas.ManifestWorker) {
	for _, name := range slices.Sorted(maps.Keys(in.workers)) {
		all = append(all, *in.workers[name])
	}
	return all
}

// refused counts the results of all workers that were dropped.
func (in *intake) refused() (count int64) {
	for _, x := range in.workers {
		count += x.Refused
	}
	return count
}

// drop acknowledges a message without recording it. wrong is the kind of the reason.
func (in *intake) drop(m *queue.Message, wrong, reason string) {
	in.meter.count(func(c *Counts) { increase(&c.Dropped, wrong, 1) })
	worker := in.worker(m.Worker)
	if worker.Refused++; worker.Refused > mostDropsTold {
		return
	}
	in.journal.note(fmt.Sprintf("a result of job %q by worker %q was dropped: %s", m.Job, m.Worker, reason),
		"job", m.Job, "worker", m.Worker)
}

// cellOf finds the cell of a result, or says what is wrong with the result, in one word and in a
// sentence. Whoever reaches the queue can publish, so a result has to be about trials that its cell
// can have.
func (in *intake) cellOf(b *ledger.Batch) (c *cell, wrong, reason string) {
	c, ok := in.grid.byKey[b.Cell]
	last := int64(0)
	if b.Refusal == nil {
		last = b.Repetition[len(b.Repetition)-1]
	}
	switch profile := in.tally.profile; {
	case b.Sweep != in.files.folder.ID:
		return nil, "sweep", fmt.Sprintf("it is of the sweep %q", b.Sweep)
	case !ok:
		return nil, "cell", "the sweep file no longer has its cell"
	case !c.Has(b.N, last):
		return nil, "trial", fmt.Sprintf("the cell has no trial %s", c.TrialID(b.N, last))
	case b.Refusal == nil && !slices.Equal(b.Metrics, c.Metrics):
		return nil, "metrics", fmt.Sprintf("it has the metrics %q, the algorithm declares %q", b.Metrics, c.Metrics)
	case in.files.foreign(c, b.Digest):
		return nil, "code", fmt.Sprintf("worker %q made it with other code, sha256 %.12s", b.Worker, b.Digest)
	case profile != "" && profile != b.Profile:
		return nil, "profile", fmt.Sprintf("worker %q has the float profile %s, the sweep's is %s: "+
			"their last bits may differ", b.Worker, b.Profile, profile)
	}
	return c, "", ""
}

// record feeds a cell with the outcomes that were new to the ledger.
func (in *intake) record(c *cell, v ledger.Verdict, worker string, e *errand) {
	if in.recordRefusal(c, v) {
		return
	}
	b := v.Batch
	size := c.size(b.N)
	size.seconds += b.Seconds
	size.trials += int64(len(b.Repetition))
	for _, note := range b.Notes {
		in.journal.note(fmt.Sprintf("worker %s: %s", b.Worker, note))
	}
	for _, conflict := range v.Conflicts {
		in.alarms[c.TrialID(b.N, conflict.Repetition)] = true
	}
	for _, i := range v.Lost {
		rep := b.Repetition[i]
		if !in.jobs.lost(c, b.N, rep, worker, e) {
			continue
		}
		in.tally.addFailure(c, b.N, rep, b.KindOf(i), b.ReasonOf(i))
		c.Lose(b.N, rep, b.ReasonOf(i))
	}
	for _, i := range v.New {
		rep := b.Repetition[i]
		size.taken.Set(rep)
		in.jobs.returned(c, size, rep)
		if b.Status[i] == ledger.Failed {
			in.tally.addFailure(c, b.N, rep, b.KindOf(i), b.ReasonOf(i))
		}
		c.fed++
		c.Feed(b, i)
	}
}

// flush makes what was added durable.
func (in *intake) flush() error {
	if in.bytes > 0 {
		began := time.Now()
		err := in.ledger.Sync()
		took := time.Since(began)
		in.meter.count(func(c *Counts) { c.Fsyncs.add(took, FsyncBounds) })
		if err != nil {
			return err
		}
	}
	in.synced, in.bytes = in.jobs.crew.read, 0
	return nil
}

// alarmsOf counts the cell's trials that have two different outcomes.
func (in *intake) alarmsOf(c *cell) (n int) {
	for trial := range in.alarms {
		if strings.HasPrefix(trial, c.Key.Short()+"/") {
			n++
		}
	}
	return n
}

// listAlarms describes the trials with two outcomes, in the order of their IDs.
func (in *intake) listAlarms() (list []string) {
	for _, trial := range slices.Sorted(maps.Keys(in.alarms)) {
		list = append(list, fmt.Sprintf("trial %s has two different outcomes; both are in the ledger, the first counts",
			trial))
	}
	return slices.AppendSeq(list, slices.Values(slices.Sorted(maps.Values(in.clashes))))
}
