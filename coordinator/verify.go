package coordinator

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// UnfinishedError says that a folder holds no result of its sweep file yet.
type UnfinishedError struct{ Dir, Reason string }

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("%q %s; run its sweep again to go on", e.Dir, e.Reason)
}

// Tables is what CheckTables found.
type Tables struct {
	Frames    int
	Outcomes  int64
	Repaired  []string // damaged parts of the ledger that an earlier run has found, and whose trials it has run again
	Damaged   []string // others, and a torn tail
	Conflicts []string // trials with two different outcomes
	Others    []string // plugin files other than today's that have made outcomes, in words

	Consumed     int64  // trials that enter the result
	Missing      int64  // of those that the result's curve counts, how many are not in the ledger
	FirstMissing string // the first of them
	Open         int    // cells that the ledger does not decide: nothing is recomputed then
	FirstOpen    string // what the first of them waits for
	Partial      string // why the result leaves cells open, and how many: a budget; else empty

	Files    []result.FileCheck
	Digest   string // of the recomputed files
	Manifest string // the digest that the manifest gives; empty: none
}

// Equal reports whether everything is as it has to be.
func (t *Tables) Equal() bool {
	return len(t.Damaged)+len(t.Conflicts)+t.Open == 0 && t.Missing == 0 && t.Digest == t.Manifest && len(t.Different()) == 0
}

// Different is the files that differ from the recomputed ones.
func (t *Tables) Different() (list []result.FileCheck) {
	for _, f := range t.Files {
		if f.Difference != "" {
			list = append(list, f)
		}
	}
	return list
}

// CheckTables makes all files of a result anew from its ledger, and compares them byte for byte. It needs Folder, Algorithms and
// Digests, and changes nothing.
func CheckTables(ctx context.Context, c Config) (*Tables, error) {
	m := readManifest(c.Folder.Dir)
	if _, err := os.Stat(filepath.Join(c.Folder.Dir, "table.parquet")); errors.Is(err, fs.ErrNotExist) && m.Digest == "" {
		return nil, &UnfinishedError{c.Folder.Dir, "has no results yet"}
	}
	if err := result.CheckVersions(c.Folder.Dir); err != nil {
		return nil, err
	}
	r, err := newReading(c)
	if err != nil {
		return nil, err
	}
	if err := r.replay(ctx); err != nil {
		return nil, err
	}
	t := &Tables{Frames: c.Folder.Report.Frames, Outcomes: c.Folder.Report.Outcomes, Manifest: m.Digest}
	t.damage(c.Folder.Report, m)
	for _, x := range c.Folder.Report.Conflicts {
		t.Conflicts = append(t.Conflicts, trial.Key(x.Cell).Short()+fmt.Sprintf("/%d/%d", x.N, x.Repetition))
	}
	t.Others = r.others()
	switch {
	case m.Partial != "" && r.grown(m):
		return nil, &UnfinishedError{c.Folder.Dir, "holds a partial result (" + m.Partial + "), and the run that went on from there has not ended"}
	case r.open > 0 && r.extended(m):
		return nil, &UnfinishedError{c.Folder.Dir, "holds the result of an earlier sweep file, and the run of the new one has not ended"}
	case r.open > 0:
		if t.missing(r); m.Partial == "" || t.Missing > 0 {
			return t, nil
		}
		r.limited, t.Partial = m.Partial, fmt.Sprintf("%s, with %d of %d cells undecided", m.Partial, t.Open, len(r.cells))
		t.Open, t.FirstOpen = 0, ""
	}
	res, err := r.result()
	if err != nil {
		return nil, err
	}
	for _, x := range res.Trials {
		for _, p := range x.Points {
			t.Consumed += p.Consumed
		}
	}
	t.Files, t.Digest, err = result.CheckResult(c.Folder.Dir, *res)
	return t, err
}

// newReading is a run that only reads.
func newReading(c Config) (*run, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Healing == 0 {
		c.Healing = time.Second
	}
	return newRun(c)
}

// replay feeds the cells with what the ledger has, losses included.
func (r *run) replay(ctx context.Context) error {
	if err := r.recover(ctx); err != nil {
		return err
	}
	for _, x := range r.Folder.Report.Lost {
		if c, ok := r.byKey[x.Cell]; ok && c.has(x.N, x.Repetition) {
			c.Lost(x.N, int(x.Repetition), x.Reason)
			r.touch(c)
		}
	}
	return r.learn(ctx)
}

// damage sorts what is wrong with the ledger's files into what an earlier run has dealt with, as its manifest says, and the rest.
func (t *Tables) damage(report *ledger.Report, m manifest) {
	var told []string
	for _, run := range m.Runs {
		told = append(told, run.Ledger...)
	}
	for _, d := range report.Damaged {
		d.File = filepath.Base(d.File)
		if slices.ContainsFunc(told, func(line string) bool { return strings.Contains(line, string(filepath.Separator)+d.String()+";") }) {
			t.Repaired = append(t.Repaired, d.String())
		} else {
			t.Damaged = append(t.Damaged, d.String())
		}
	}
	if d := report.Torn; d != nil {
		t.Damaged = append(t.Damaged, fmt.Sprintf("a torn tail, which a run at work leaves too: %s: %d bytes at %d: %s", filepath.Base(d.File), d.Bytes, d.Offset, d.Reason))
	}
}

// others lists the plugin files other than today's whose outcomes enter the result.
func (r *run) others() (lines []string) {
	type pair struct{ file, was, is string }
	counts := map[pair]int64{}
	for _, o := range r.ledger.Origins() {
		if c, ok := r.byKey[o.Cell]; ok && o.Digest != r.Digests[c.Plugin] {
			counts[pair{c.Plugin, o.Digest, r.Digests[c.Plugin]}] += o.Outcomes
		}
	}
	for p, n := range counts {
		file := "this shatter"
		if p.file != "" {
			file = fmt.Sprintf("plugin %q", p.file)
		}
		lines = append(lines, fmt.Sprintf("%d outcomes were made by another file of %s: SHA-256 %.12s, now it is %.12s", n, file, p.was, p.is))
	}
	slices.Sort(lines)
	return lines
}

// extended reports whether the folder's files are of another sweep file than the ledger's, or of a run that has not ended.
func (r *run) extended(m manifest) bool {
	source, err := os.ReadFile(filepath.Join(r.Folder.Dir, "sweep.yaml"))
	other := err == nil && !bytes.Equal(source, r.Folder.Plan.Source)
	return other || len(m.Runs) == 0 || m.Runs[len(m.Runs)-1].Interrupted
}

// grown reports whether the ledger has more outcomes than the last run that ended has left.
func (r *run) grown(m manifest) bool {
	if len(m.Runs) == 0 {
		return true
	}
	last := m.Runs[len(m.Runs)-1]
	return r.counts.known > last.Known+last.Trials+last.Served
}

// missing finds what the ledger lacks: trials that the curve's rows count, and what the cells that it does not decide wait for.
func (t *Tables) missing(r *run) {
	byName := map[string]*cell{}
	for _, c := range r.cells {
		byName[c.Key.Short()] = c
		if c.done {
			continue
		}
		if t.Open++; t.FirstOpen == "" {
			t.FirstOpen = c.words()
			if b, ok := c.next(c.Want()); ok {
				t.FirstOpen += fmt.Sprintf(", which needs trial %s", c.TrialID(b.N, int64(b.First)))
			}
		}
	}
	curve, err := sheet.ReadTable(r.Folder.Dir, "curve")
	if err != nil {
		return // it is compared with nothing: the open cells are reason enough
	}
	column := func(name string) int {
		return slices.IndexFunc(curve.Columns, func(c schemas.Column) bool { return c.Name == name })
	}
	id, size, trials := column("cell"), column("n"), column("trials")
	if min(id, size, trials) < 0 {
		return
	}
	for _, row := range curve.Rows {
		name, _ := row[id].(string)
		n, _ := row[size].(int64)
		count, _ := row[trials].(int64)
		c := byName[name]
		for rep := int64(0); c != nil && rep < min(count, 1<<31); rep++ {
			if r.ledger.Has(c.Key, n, rep) {
				continue
			}
			if t.Missing++; t.Missing == 1 {
				t.FirstMissing = c.TrialID(n, rep)
			}
		}
	}
}

// Sample says how many recorded trials are run again.
type Sample struct {
	Share float64 // of each algorithm's, and at least 20
	Count int64   // of all, where Share is 0
}

// Rerun is what CheckSample found.
type Rerun struct {
	Recorded, Again int64
	Different       int64
	First, What     string // the first trial that differs, in the order of the tables, and how
	Lost            int64  // trials that a limit of this machine ended: neither equal nor different
	FirstLost       string // the first of these, and why
}

// CheckSample runs a sample of the recorded trials again, drawn under the sweep's seed, and compares every bit. It needs Folder, Conn,
// Slots, Digests and Workers, and changes nothing in the folder. progress is told how many are done.
func CheckSample(ctx context.Context, c Config, s Sample, progress func(done, of int64)) (*Rerun, error) {
	r, err := newReading(c)
	if err != nil {
		return nil, err
	}
	x := &Rerun{}
	blocks := r.draw(s, x)
	if x.Again == 0 {
		return x, nil
	}
	profile, here := r.recordedProfile(), trial.FloatProfile()
	if profile != here {
		return nil, fmt.Errorf("run trials again: the recorded ones have the float profile %s, this machine's is %s, and their last bits may differ; "+
			"verify where the sweep was run, or the tables alone with --sample 0", profile, here)
	}
	done := int64(0)
	first, firstLost := position{cell: len(r.cells)}, position{cell: len(r.cells)}
	err = r.coordinated(ctx, func() error {
		return r.runAgain(ctx, blocks, profile, func(c *cell, b *ledger.Batch, row int) error {
			done++
			progress(done, x.Again)
			at, id, one := position{c.index, b.N, b.Repetition[row]}, c.TrialID(b.N, b.Repetition[row]), b.Select([]int{row})
			if b.Status[row] == ledger.Lost {
				if x.Lost++; at.compare(firstLost) < 0 {
					firstLost, x.FirstLost = at, id+": "+text(b.Reason, row)
				}
				return nil
			}
			if len(r.ledger.Compare(one).Conflicts) == 0 {
				return nil
			}
			if x.Different++; at.compare(first) >= 0 {
				return nil
			}
			old, err := r.ledger.Trial(c.Key, at.n, at.repetition)
			if err != nil {
				return err
			}
			first, x.First, x.What = at, id, differs(old, one, 0)
			return nil
		})
	})
	return x, err
}

// position orders trials as the tables do.
type position struct {
	cell          int
	n, repetition int64
}

func (p position) compare(q position) int {
	return cmp.Or(cmp.Compare(p.cell, q.cell), cmp.Compare(p.n, q.n), cmp.Compare(p.repetition, q.repetition))
}

// coordinated takes up the queue for a while.
func (r *run) coordinated(ctx context.Context, work func() error) (err error) {
	if r.queue, err = r.Conn.Coordinate(ctx, r.Folder.ID, r.slots); err != nil {
		return err
	}
	err = work()
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return errors.Join(err, r.queue.Close(closing))
}

// recordedProfile is the float profile of the recorded outcomes; all of them have the same.
func (r *run) recordedProfile() (profile string) {
	for _, o := range r.ledger.Origins() {
		if _, ok := r.byKey[o.Cell]; ok {
			profile = o.Profile
		}
	}
	return profile
}

// blockTrials is the most trials of a sample that are one job.
const blockTrials = 64

// draw draws the sample, and cuts it into jobs. It counts what is recorded and drawn.
func (r *run) draw(s Sample, x *Rerun) (blocks []*again) {
	left, wanted := map[string]int64{}, map[string]int64{}
	by := func(c *cell) string {
		if s.Share > 0 {
			return c.As
		}
		return "" // all algorithms together
	}
	for _, c := range r.cells {
		for _, count := range r.ledger.Counts(c.Key) {
			left[by(c)] += count
			x.Recorded += count
		}
	}
	for as, count := range left {
		wanted[as] = min(count, s.Count)
		if s.Share > 0 {
			wanted[as] = min(count, max(recheckLeast, int64(math.Ceil(s.Share*float64(count)))))
		}
		x.Again += wanted[as]
	}
	rng := rand.New(rand.NewPCG(r.Folder.Plan.Seed, 0x766572696679))
	for _, c := range r.cells {
		as := by(c)
		for _, n := range r.ledger.Sizes(c.Key) {
			most := min(blockTrials, c.SessionTrials(n))
			var last *again
			for o := range r.ledger.Outcomes(c.Key, n) {
				take := rng.Int64N(left[as]) < wanted[as] // each sample of that size is equally likely
				left[as]--
				if !take {
					continue
				}
				wanted[as]--
				if last != nil && int64(last.block.First+last.block.Count) == o.Repetition && last.block.Count < most {
					last.block.Count++
					continue
				}
				last = &again{cell: c, block: estimate.Block{N: n, First: int(o.Repetition), Count: 1}}
				blocks = append(blocks, last)
			}
		}
	}
	return blocks
}
