package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/sandbox"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas"
)

// Config is what a worker needs. Conn, Name and Plugins have no default.
type Config struct {
	Conn    *bus.Conn
	Slots   int                     // number of jobs that run at the same time; 0: 1
	Name    string                  // of this worker, in jobs, results and messages: no dots
	Plugins map[string]host.Command // how to start a plugin that is here, by its identity
	Allow   []string                // identities of plugins that may be fetched and started, or AllowAny
	Files   map[string]string       // data files that are already here: path by SHA-256
	Cache   string                  // folder for what is fetched from the bus; empty: nothing is fetched
	Build   string                  // of this program, in words
	Sandbox sandbox.Policy          // of plugins that are fetched
	Layers  string                  // of the sandbox, in words, as they were found
	Until   time.Time               // no job is begun that would end later; zero: never
	Drain   time.Duration           // time that running jobs have once ctx has ended; 0: as long as they need
	Log     *slog.Logger            // nil: silent
	Monitor *Monitor                // shows what the worker does; nil: nobody watches

	// Opened gives a problem away that was opened in this process and draws equal samples, or returns
	// nil. Where Opened is nil, there are none.
	Opened func(schemas.Problem) *problem.Problem

	CacheSize int64 // bytes that files in Cache may take while nobody uses them; 0: no limit

	// Simulate makes the rows, or the refusal, of a job in place of a plugin: it sets these fields of a
	// batch alone. Nil: plugins do. An error is one of this worker.
	Simulate func(ctx context.Context, job *trial.Job) (*ledger.Batch, error)
}

// Run works until ctx ends, then hands back the jobs that wait, finishes those in work, or hands
// them back as well when the time for draining is over, stops its plugins and returns. The end of
// hard ends everything at once.
func Run(ctx, hard context.Context, c Config) error {
	c.Slots = max(c.Slots, 1)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	w := &worker{
		Config: c, profile: trial.FloatProfile(), populations: newPopulations(c), shelf: newShelf(),
		plugins: newPlugins(c), began: time.Now(), refusals: map[string]*fleet.Refusal{},
	}
	inbox, err := c.Conn.Listen(c.Name)
	if err != nil {
		return err
	}
	hard, end := context.WithCancel(hard)
	defer end()
	heard, over := make(chan struct{}), make(chan struct{})
	go func() { defer close(heard); w.listen(ctx, inbox, over) }()
	var slots sync.WaitGroup
	for range c.Slots {
		slots.Go(func() { w.serve(hard) })
	}
	select {
	case <-ctx.Done():
		w.drain(end)
	case <-c.Conn.Closed():
		err = c.Conn.Gone()
		w.drain(end)
		end()
	}
	slots.Wait()
	close(over)
	<-heard
	w.populations.close()
	w.plugins.close()
	return errors.Join(err, inbox.Close())
}

// worker is what the slots share.
type worker struct {
	Config
	profile     string // float profile of this machine
	populations *populations
	plugins     *plugins
	shelf       *shelf
	checks      checks
	began       time.Time

	whole  time.Time // when all was announced the last time; used by listen alone
	listed string    // the list of plugins that was announced then

	mu       sync.Mutex
	refusals map[string]*fleet.Refusal // faults of this worker by what they are about, in words
	leaving  bool
}

// listen takes in what leaders send, and announces this worker, until over is closed.
func (w *worker) listen(ctx context.Context, in *bus.Inbox, over <-chan struct{}) {
	tick := time.NewTicker(fleet.Interval)
	defer tick.Stop()
	w.announce(true)
	left := ctx.Done()
	for {
		select {
		case job := <-in.Jobs:
			w.receive(job)
			continue
		case d := <-in.Drops:
			w.shelf.dropped(d)
			continue
		case <-in.Calls:
			w.announce(true)
			continue
		case <-tick.C:
		case <-left:
			left = nil // once
			w.setLeaving()
		case <-over:
			w.announce(false)
			return
		}
		w.announce(false)
	}
}

// receive puts a job on the shelf, or hands it back where it cannot be run here.
func (w *worker) receive(message bus.Job) {
	job, err := trial.DecodeJob(message.Data)
	if err != nil {
		w.handBack(message, fleet.Why{Kind: fleet.Cannot, Reason: err.Error()})
		return
	}
	if reason := w.cannot(job); reason != "" {
		w.handBack(message, fleet.Why{Kind: fleet.Cannot, Reason: reason})
		return
	}
	if !w.shelf.add(message, job) {
		w.handBack(message, fleet.Why{Kind: fleet.Drain, Reason: "the worker is leaving"})
	}
}

// handBack tells a leader that this worker does not run its job.
func (w *worker) handBack(job bus.Job, why fleet.Why) {
	w.Monitor.ended(string(why.Kind), nil)
	if why.Kind != fleet.Drain {
		w.Log.Warn("job handed back", "sweep", job.Sweep, "worker", w.Name, "job", job.ID, "reason", why.Reason)
	}
	if err := w.Conn.HandBack(job.Lead, w.Name, job.ID, why.Encode()); err != nil {
		w.Log.Warn("leader not told of a job that it has to send again",
			"sweep", job.Sweep, "worker", w.Name, "job", job.ID, "error", err.Error())
	}
}

// drain hands back what waits, and calls end when the time for draining is over.
func (w *worker) drain(end func()) {
	w.setLeaving()
	for _, h := range w.shelf.close() {
		w.handBack(h.Job, fleet.Why{Kind: fleet.Drain, Reason: "the worker is leaving"})
	}
	if w.Drain > 0 {
		time.AfterFunc(w.Drain, end)
	}
}

func (w *worker) setLeaving() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leaving = true
}

// announce says what this worker is and holds: all of it if somebody wants that, if its plugins have
// changed, and now and then.
func (w *worker) announce(whole bool) {
	a := fleet.Worker{
		Name: w.Name, Began: w.began, Slots: w.Slots, Build: w.Build, Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Profile: w.profile, Sandbox: w.Layers, Until: w.Until, Plugins: w.plugins.here(), Allows: w.plugins.allows(),
	}
	a.Held, a.Seconds = w.shelf.list(time.Now())
	w.mu.Lock()
	a.Leaving = w.leaving
	for _, r := range w.refusals {
		a.Refusals = append(a.Refusals, *r)
	}
	w.mu.Unlock()
	slices.SortFunc(a.Refusals, func(x, y fleet.Refusal) int { return cmp.Compare(x.What, y.What) })
	w.Monitor.note(func(o *Overview) { o.Heard, o.Last = time.Now(), a })
	said := &a
	if list := a.List(); whole || list != w.listed || time.Since(w.whole) >= fleet.Whole {
		w.listed, w.whole = list, time.Now()
	} else {
		said = a.Brief()
	}
	data, err := said.Encode()
	if err == nil {
		err = w.Conn.Announce(w.Name, data)
	}
	if err != nil {
		w.Log.Warn("worker not announced", "worker", w.Name, "error", err.Error())
	}
}

// serve runs one slot.
func (w *worker) serve(hard context.Context) {
	s := &slot{w: w}
	defer s.stop()
	out := &outbox{w: w, hard: hard}
	defer out.flush()
	for {
		ctx, h := w.shelf.next(hard)
		if h == nil {
			return
		}
		outcomes, err := s.run(ctx, h.trial)
		h.took = time.Since(h.began)
		f := &finished{held: h, ctx: ctx, outcomes: outcomes}
		if err == nil {
			w.mended(h.trial)
			// A problem is opened and a process started once: they would make a few trials look dear.
			f.results, err = w.encode(h, outcomes.messages(w, (h.took-s.opening-s.starting).Seconds()))
		}
		if err == nil {
			out.put(f)
		} else {
			w.settle(ctx, hard, h, nil, err)
		}
	}
}

// settle ends a job whose outcomes are on the server, or that has failed with an error: one that this
// worker cannot run goes back.
func (w *worker) settle(ctx, hard context.Context, h *held, outcomes *outcomes, err error) {
	defer w.shelf.done(h)
	switch {
	case err == nil:
		w.Monitor.ended("done", outcomes)
		w.Log.Debug("job done", "sweep", h.Sweep, "cell", h.trial.Cell.Key.Short(), "worker", w.Name, "job", h.ID,
			"n", h.trial.N, "trials", h.trial.Count, "seconds", h.took.Seconds())
	case hard.Err() != nil:
		w.handBack(h.Job, fleet.Why{Kind: fleet.Drain, Reason: "the worker left before the job had ended"})
	case ctx.Err() != nil: // its leader does not need it
		w.Monitor.ended("dropped", nil)
	default:
		kind := fleet.Fault
		if w.cannot(h.trial) != "" { // as was found out only now
			kind = fleet.Cannot
		}
		what := w.fault(h.trial, err)
		w.handBack(h.Job, fleet.Why{Kind: kind, What: what, Reason: firstLine(err)})
	}
}

// encode returns the results of a job as they are published.
func (w *worker) encode(h *held, batches []*ledger.Batch) (results []bus.Result, err error) {
	for i, b := range batches {
		data, err := b.Encode()
		if err != nil {
			return nil, fmt.Errorf("encode outcomes of job %q: %w", h.ID, err)
		}
		part := bus.Part{Worker: w.Name, Job: h.ID, Index: i, Of: len(batches)}
		results = append(results, bus.Result{Part: part, Data: data})
	}
	return results, nil
}

// fault remembers a fault of this worker, for people, and returns what it is about.
func (w *worker) fault(job *trial.Job, err error) string {
	what := job.Subject()
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.refusals[what]
	if r == nil {
		r = &fleet.Refusal{What: what}
		w.refusals[what] = r
	}
	r.Reason = firstLine(err)
	r.Faults++
	r.Until = time.Now().Add(fleet.Backoff(r.Faults))
	return what
}

// mended forgets the faults about what a job needed, because it has run.
func (w *worker) mended(job *trial.Job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.refusals) > 0 {
		delete(w.refusals, job.Subject())
	}
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line[:min(len(line), 500)]
}

// cannot returns why this worker can never run a job; "" if it can.
func (w *worker) cannot(job *trial.Job) string {
	if err := w.plugins.cannot(job); err != nil {
		return err.Error()
	}
	if most := job.Cell.SessionTrials(job.N); job.Count > int64(most) {
		return fmt.Sprintf("it has %d trials, %d are the most for n = %d", job.Count, most, job.N)
	}
	if job.Profile != "" && job.Profile != w.profile {
		return fmt.Sprintf("the sweep's float profile is %s, this machine's is %s: their last bits may differ",
			job.Profile, w.profile)
	}
	return ""
}
