package lead

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/shatterlab/shatter/coordinator"
	"github.com/shatterlab/shatter/coordinator/audit"
	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/queue"
)

// A term is one term of this coordinator as the leader of one sweep.
type term struct {
	*server
	*Record // record of the sweep when the term began
	began   time.Time
	log     *slog.Logger
	lines   *lines
	end     context.CancelCauseFunc // ends the work
	ctx     context.Context         // ends with the work
	rest    time.Duration           // pause before the next term; read after run

	mu     sync.Mutex
	now    State    // state in responses to requests
	totals *Totals  // nil: unknown
	ship   *shipper // nil: not yet
}

func newTerm(s *server, r *Record) *term {
	t := &term{
		server: s, Record: r, began: time.Now(), lines: &lines{},
		now: State{Reason: fmt.Sprintf("coordinator %s is about to lead it", s.Name)},
	}
	t.log = slog.New(slog.NewMultiHandler(
		slog.NewTextHandler(t.lines, nil), s.Log.With("sweep", r.ID).Handler()))
	t.ctx, t.end = context.WithCancelCause(context.Background())
	return t
}

// update ends the work if the desired state of the sweep has changed.
func (t *term) update(w DesiredState) {
	switch {
	case w.Do != Run:
		t.end(errStopped)
	case w.Priority != t.Desired.Priority || w.Weight != t.Desired.Weight || w.Budget != t.Desired.Budget:
		t.end(errChanged)
	}
}

// set changes the state in responses to requests.
func (t *term) set(change func(*State)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(&t.now)
}

// closingTime is the maximum time for the last messages to the server.
const closingTime = 20 * time.Second

// run leads the sweep until it has ended, the lease is lost, or ctx or t.ctx ends. over is the
// expired lease of an earlier leader, or nil.
func (t *term) run(ctx context.Context, over *queue.Leader) {
	defer t.end(nil)
	defer context.AfterFunc(ctx, func() { t.end(context.Cause(ctx)) })()
	stop, err := t.Conn.Respond(t.ID, t.answer)
	if err != nil {
		t.log.Error("the sweep cannot be led here", "error", err.Error())
		return
	}
	defer stop()
	l, err := t.acquire(over)
	if err != nil {
		t.Log.Debug("sweep not led", "sweep", t.ID, "error", err.Error())
		t.rest = t.Lease / 4
		return
	}
	defer context.AfterFunc(l.Context(), func() { t.end(context.Cause(l.Context())) })()
	t.log.Info("leading", "epoch", l.Epoch, "coordinator", t.Name)
	t.set(func(s *State) { s.Epoch, s.Reason = l.Epoch, "" })
	if err := t.lead(l); err != nil && t.ctx.Err() == nil {
		t.wait(err)
	}
	patience := closingTime
	if l.Context().Err() != nil {
		patience = t.Lease / 4 // the lease expires by then
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if err := l.Resign(last); err != nil {
		t.log.Warn("lease not returned; it will expire", "error", err.Error())
	}
	t.log.Info("term ended", "why", fmt.Sprint(context.Cause(t.ctx)))
}

// acquire acquires the lease. If the server does not store it within the duration of a lease, that
// is the reason in responses to requests.
func (t *term) acquire(over *queue.Leader) (*queue.LeaderLease, error) {
	late := time.AfterFunc(t.Lease, func() {
		why := t.Conn.NoAnswerError(t.Lease, errors.New("it does not store who leads the sweep"))
		t.set(func(s *State) {
			if s.Epoch == 0 {
				s.Reason = fmt.Sprintf("coordinator %s cannot lead it: %v", t.Name, why)
			}
		})
	})
	defer late.Stop()
	return t.registry.AcquireLease(t.ctx, t.ID, t.Name, t.Lease, over)
}

// wait holds the lease for a while after an error of this machine, so that users can see the
// reason. Then another coordinator may try.
func (t *term) wait(err error) {
	t.log.Error("the sweep cannot be run here", "error", err.Error())
	t.set(func(s *State) { s.Reason = fmt.Sprintf("coordinator %s cannot run it: %v", t.Name, err) })
	t.rest = 2 * t.Lease
	select {
	case <-time.After(t.Lease):
	case <-t.ctx.Done():
	}
}

// lead runs the sweep and stores how it ended. An error is a fault of this machine.
func (t *term) lead(l *queue.LeaderLease) error {
	e, err := t.registry.Find(t.ctx, t.ID)
	if err != nil {
		return err
	}
	record, err := ReadRecord(e) // the previous leader may have changed it
	if err != nil {
		return err
	}
	if record.End != nil || record.Desired.Do != Run {
		t.rest = t.Lease // until the server's watch has received that state too
		return nil
	}
	summary, err := t.work(l, record)
	var code *audit.CodeError
	switch {
	case errors.As(err, &code): // every coordinator would have this error
		t.log.Error("the sweep has failed", "error", err.Error())
		return t.finish(l, End{Failure: err.Error()})
	case err != nil || summary.Interrupted:
		return err
	case summary.Partial != "":
		t.log.Info("paused", "why", summary.Partial)
		return t.pause(summary.Partial)
	}
	t.log.Info("done", "digest", summary.Digest, "trials", summary.Trials)
	t.rest = t.Lease
	return t.finish(l, End{Summary: summary})
}

// pause sets the desired state to a pause, because the budget is spent.
func (t *term) pause(why string) error {
	return ChangeDesiredState(t.ctx, t.registry, t.ID, func(w *DesiredState) error {
		w.Do, w.By, w.At, w.Why, w.Spent = Pause, t.Name, time.Now().UTC(), why, true
		return nil
	})
}

// maxListed is the maximum number of alarms, refuted bounds, searches in the wrong direction and
// workers in the registry.
const maxListed = 100

// finish stores how the sweep ended.
func (t *term) finish(l *queue.LeaderLease, end End) error {
	end.Epoch, end.Leader, end.At, end.Log = l.Epoch, t.Name, time.Now().UTC(), t.lines.last()
	if s := end.Summary; s != nil { // its result has all of them
		s.Alarms = s.Alarms[:min(len(s.Alarms), maxListed)]
		s.RefutedBounds = s.RefutedBounds[:min(len(s.RefutedBounds), maxListed)]
		s.RefutedGuarantees = s.RefutedGuarantees[:min(len(s.RefutedGuarantees), maxListed)]
		s.Against = s.Against[:min(len(s.Against), maxListed)]
		s.Workers = s.Workers[:min(len(s.Workers), maxListed)]
	}
	raw, err := json.Marshal(end)
	if err != nil {
		return err
	}
	if err := l.Finish(t.ctx, raw); err != nil {
		return err
	}
	return t.registry.DeleteResults(t.ctx, t.ID) // its files contain all results
}

// work runs the sweep in its folder, and ships the folder afterwards.
func (t *term) work(l *queue.LeaderLease, record *Record) (s *coordinator.Summary, err error) {
	t.set(func(s *State) { s.Phase = "fetching the folder that earlier leaders have shipped" })
	dir := filepath.Join(t.Dir, t.ID)
	if err := begin(t.ctx, t.Conn, dir, record); err != nil {
		return nil, err
	}
	t.set(func(s *State) { s.Phase = "resolving the sweep" })
	sweep, err := t.Load(t.ctx, &record.Submission)
	if err != nil {
		return nil, err
	}
	claimed, err := folder.Claim(dir, sweep.Plan, folder.Mode{ID: t.ID})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, claimed.Close()) }()
	if err := claimed.KeepPlan(sweep.Saved); err != nil {
		return nil, err
	}
	ship := &shipper{dir: dir, conn: t.Conn, lead: l, totals: t.currentTotals}
	t.mu.Lock()
	t.ship, t.now.Phase, t.totals = ship, "", record.Shipment.Totals
	t.mu.Unlock()
	c := sweep.Config
	c.Folder, c.Conn, c.Log, c.Progress, c.Meter = claimed, t.Conn, t.log, t.show, &t.Monitor.Meter
	c.Keep, c.Term.Epoch, c.Priority, c.Weight = true, l.Epoch, t.Desired.Priority, t.Desired.Weight
	c.Budget = remainingBudget(t.Desired.Budget, claimed)
	s, err = coordinator.Run(t.ctx, c)
	if s != nil {
		t.mu.Lock()
		t.totals = &Totals{Decided: s.Decided, Trials: s.Known + s.Trials + s.Served}
		t.mu.Unlock()
	}
	return s, errors.Join(err, t.shipLast(ship, l))
}

// remainingBudget returns a sweep's budget minus the part that its folder has spent.
func remainingBudget(b coordinator.Budget, f *folder.Folder) coordinator.Budget {
	if b.Trials > 0 {
		b.Trials = max(1, b.Trials-f.Report.Outcomes)
	}
	if b.Time > 0 {
		for _, run := range folder.ReadManifest(f.Dir).Runs {
			b.Time -= time.Duration(run.TrialTime * float64(time.Second))
		}
		b.Time = max(1, b.Time)
	}
	return b
}

// shipLast ships the folder if the lease is still valid, even if the work was interrupted.
func (t *term) shipLast(s *shipper, l *queue.LeaderLease) error {
	if l.Context().Err() != nil {
		return nil // the new leader's shipment is valid
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), closingTime)
	defer cancel()
	return s.ship(ctx)
}

// show records the progress of the run.
func (t *term) show(p coordinator.Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now.Progress, t.totals = &p, &Totals{Decided: p.Decided, Trials: p.Known + p.Trials + p.Served}
}

// currentTotals returns the present totals; nil: unknown.
func (t *term) currentTotals() *Totals {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.totals
}
