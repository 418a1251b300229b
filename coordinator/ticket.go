package coordinator

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// ticket is what the ID of a job says: which trials were handed out. The ID ends in a mark that only
// the leaders of the sweep can make, and that holds for one worker and one epoch, so that a result
// tells by itself whether anybody has asked for it: also one that comes late, when its job was sent
// to another worker, or that was asked for by an earlier leader.
type ticket struct {
	cell       string // beginning of its key
	n          int64
	first, end int64 // range of the repetitions
}

// signTicket returns the ID of a job that is sent to a worker.
func (w *crew) signTicket(j *trial.Job, worker string) string {
	w.serial++
	last := j.Repetition(int(j.Count) - 1)
	id := fmt.Sprintf("%s%s-%d-%d-%d-%d", j.ID, j.Cell.Key.Short(), j.N, j.First, last+1, w.serial)
	return id + "-" + w.mark(w.lead.Epoch, worker, id)
}

// mark returns the mark of a ticket.
func (w *crew) mark(epoch uint64, worker, id string) string {
	h := hmac.New(sha256.New, w.secret)
	fmt.Fprintf(h, "%s\n%d\n%s\n%s", w.lead.Sweep, epoch, worker, id)
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// readTicket reads the ID of the job that a result answers. It reports false where no leader of the
// sweep has sent such a job to the worker.
func (w *crew) readTicket(m *bus.Message) (t ticket, ok bool) {
	at := strings.LastIndexByte(m.Job, '-')
	if at < 0 || !hmac.Equal([]byte(m.Job[at+1:]), []byte(w.mark(m.Epoch, m.Worker, m.Job[:at]))) {
		return t, false
	}
	parts := strings.Split(strings.TrimPrefix(m.Job[:at], recheckPrefix), "-")
	if len(parts) != 5 { // cell, n, first, end, serial
		return t, false
	}
	t.cell = parts[0]
	for i, to := range []*int64{&t.n, &t.first, &t.end} {
		var err error
		if *to, err = strconv.ParseInt(parts[1+i], 10, 64); err != nil {
			return t, false
		}
	}
	return t, true
}

// unasked returns why a result, which holds batch b and perhaps answers errand e, does not count, as a
// kind and in words; "" if somebody has asked that worker for it.
func (w *crew) unasked(m *bus.Message, b *ledger.Batch, e *errand) (kind, why string) {
	t, ok := w.readTicket(m)
	switch {
	case w.distrusted[m.Worker] != "":
		return "set_aside", "the worker was set aside"
	case b.Worker != m.Worker:
		return "unasked", fmt.Sprintf("it says that worker %.40q made it", b.Worker)
	case !ok:
		return "unasked", "that worker was not given such a job"
	case t.cell != trial.Key(b.Cell).Short() || t.n != b.N:
		return "unasked", fmt.Sprintf("its job is about cell %s at n = %d, it is about cell %s at n = %d",
			t.cell, t.n, trial.Key(b.Cell).Short(), b.N)
	}
	for _, rep := range b.Repetition {
		if rep < t.first || rep >= t.end || e != nil && !e.asks(rep) {
			return "unasked", fmt.Sprintf("its job does not have repetition %d", rep)
		}
	}
	return "", ""
}

// asks reports whether a repetition is one of the job's.
func (e *errand) asks(rep int64) bool {
	if e.picked == nil {
		return true // as its ticket says
	}
	_, ok := slices.BinarySearch(e.picked, rep)
	return ok
}
