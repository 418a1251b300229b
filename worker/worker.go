package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/sandbox"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas"
)

// Config is what a worker needs. Conn, Name and Plugins have no default.
type Config struct {
	Conn    *queue.Conn
	Slots   int                     // number of jobs that run at the same time; 0: 1
	Name    string                  // of this worker, in jobs, results and messages: no dots
	Plugins map[string]host.Command // how to start a plugin that is here, by its identity
	Allow   []string                // identities of plugins that may be fetched and started, or AllowAny
	Files   map[string]string       // data files that are already here: path by SHA-256
	Cache   string                  // folder for files from the server; empty: nothing is fetched
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

// Run works until ctx ends, then returns the jobs that wait, finishes those in work, or returns them as well when
// the time for draining is over, stops its plugins and returns. The end of hard ends everything at once.
func Run(ctx, hard context.Context, c Config) error {
	c.Slots = max(c.Slots, 1)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	w := &worker{
		Config: c, profile: trial.FloatProfile(), populations: newPopulations(c), shelf: newShelf(c.Slots),
		plugins: newPlugins(c), began: time.Now(), beat: make(chan struct{}, 1),
	}
	var err error
	if w.queue, err = c.Conn.Puller(c.Name); err != nil {
		return err
	}
	offers, stop, err := w.queue.Offers()
	if err != nil {
		return err
	}
	defer stop()
	hard, end := context.WithCancel(hard)
	defer end()
	working, over := context.WithCancel(hard)
	defer over()
	var others, slots sync.WaitGroup
	others.Go(func() { w.listen(working, offers) })
	others.Go(func() { w.lease(working) })
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
	w.publishing.Wait()
	over()
	others.Wait()
	w.populations.close()
	w.plugins.close()
	return err
}

// worker is what the slots share.
type worker struct {
	Config
	queue       *queue.Puller
	profile     string // float profile of this machine
	populations *populations
	plugins     *plugins
	shelf       *shelf
	checks      checks
	began       time.Time
	beat        chan struct{}  // filled when a heartbeat is due at once
	publishing  sync.WaitGroup // of results
}

// extendEvery is the time after which leases are extended.
const extendEvery = queue.AckWait / 3

// listen takes in what leaders offer, publishes heartbeats and extends leases, until ctx ends.
func (w *worker) listen(ctx context.Context, offers <-chan queue.Offer) {
	tick := time.NewTicker(fleet.Interval)
	defer tick.Stop()
	extended := time.Now()
	w.announce()
	for {
		select {
		case o := <-offers:
			if !w.hear(o) {
				continue
			}
		case <-w.beat:
		case now := <-tick.C:
			if now.Sub(extended) >= extendEvery {
				extended = now
				w.extend()
			}
		case <-ctx.Done():
			if err := w.queue.Leave(); err != nil {
				w.Log.Debug("worker not removed from the list", "error", err.Error())
			}
			return
		}
		w.announce()
	}
}

// hear takes in an offer. It reports whether its leader has not heard of this worker yet.
func (w *worker) hear(said queue.Offer) (fresh bool) {
	o, err := fleet.DecodeOffer(said.Data)
	if err != nil {
		w.Log.Debug("offer not understood", "sweep", said.Sweep, "error", err.Error())
		return false
	}
	var refusal *fleet.Refusal
	if what, why := w.cannot(o); why != "" {
		refusal = &fleet.Refusal{Sweep: said.Sweep, What: what, Reason: why, Never: true}
	}
	return w.shelf.hear(said.Sweep, o, refusal)
}

// cannot returns why this worker can never run the jobs of a sweep, and what that is about; "" if it can.
func (w *worker) cannot(o *fleet.Offer) (what, why string) {
	if o.Profile != "" && o.Profile != w.profile {
		return "float profile", fmt.Sprintf("the sweep's float profile is %s, this machine's is %s: their last bits may "+
			"differ", o.Profile, w.profile)
	}
	if slices.Contains(o.Barred, w.Name) {
		return "its trials", "this worker is in quarantine: its outcomes differed from those of all others"
	}
	for _, n := range o.Needs {
		if err := w.plugins.cannot(n); err != nil {
			return err.what, err.Error()
		}
	}
	return "", ""
}

// extend extends the leases of all jobs that are held.
func (w *worker) extend() {
	for _, h := range w.shelf.all() {
		w.warn(h, "extend its lease", h.Extend())
	}
}

// warn logs that a message about a job did not reach the server. Its lease runs out then.
func (w *worker) warn(h *held, what string, err error) {
	if err != nil {
		w.Log.Warn("message about a job not sent", "what", what, "sweep", h.Sweep, "worker", w.Name, "job", h.ID,
			"error", err.Error())
	}
}

// announce publishes the heartbeat of this worker.
func (w *worker) announce() {
	a := fleet.Worker{
		Name: w.Name, Began: w.began, Slots: w.Slots, Build: w.Build, Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Profile: w.profile, Sandbox: w.Layers, Until: w.Until, Plugins: w.plugins.here(), Allows: w.plugins.allows(),
	}
	w.shelf.describe(&a, time.Now())
	w.Monitor.note(func(o *Overview) { o.Heard, o.Last = time.Now(), a })
	data, err := a.Encode()
	if err == nil {
		err = w.queue.Beat(data)
	}
	if err != nil {
		w.Log.Warn("heartbeat not published", "worker", w.Name, "error", err.Error())
	}
}

// beatNow has a heartbeat published at once.
func (w *worker) beatNow() { signal(w.beat) }

// drain returns the jobs that wait, and calls end when the time for draining is over.
func (w *worker) drain(end func()) {
	for _, h := range w.shelf.close() {
		w.giveBack(h, "drain", 0)
	}
	w.beatNow()
	if w.Drain > 0 {
		time.AfterFunc(w.Drain, end)
	}
}

// giveBack ends the lease of a job that this worker does not run, for a reason in one word.
func (w *worker) giveBack(h *held, reason string, delay time.Duration) {
	w.Monitor.ended(reason, nil)
	w.warn(h, "return it", h.Return(delay))
}

// serve runs one slot.
func (w *worker) serve(hard context.Context) {
	s := &slot{w: w}
	defer s.stop()
	for {
		ctx, h := w.shelf.next(hard)
		if h == nil {
			return
		}
		outcomes, err := s.run(ctx, h.trial)
		w.shelf.ran(h)
		if err != nil {
			w.settle(ctx, hard, h, nil, err)
			continue
		}
		w.shelf.mended(h)
		// A problem is opened and a process started once: they would make a few trials look dear.
		batches := outcomes.messages(w, (h.took - s.opening - s.starting).Seconds())
		w.publishing.Go(func() { w.settle(ctx, hard, h, outcomes, w.publish(ctx, h, batches)) })
	}
}

// lateStore is the time after which the heartbeat reports that the server does not store results.
const lateStore = 10 * time.Second

// publish stores the results of a job on the server.
func (w *worker) publish(ctx context.Context, h *held, batches []*ledger.Batch) error {
	late := time.AfterFunc(lateStore, func() {
		w.shelf.setUnstored(h.Sweep, fmt.Sprintf("the server has not stored their results for %v; its disk may be full or have "+
			"been full: make room, and start the server again", lateStore))
		w.beatNow()
	})
	defer func() {
		if !late.Stop() {
			w.shelf.setUnstored(h.Sweep, "")
			w.beatNow()
		}
	}()
	for i, b := range batches {
		data, err := b.Encode()
		if err == nil {
			err = w.queue.Publish(ctx, queue.Part{Lead: h.Lead, Job: h.ID, Index: i, Of: len(batches)}, data)
		}
		if err != nil {
			return fmt.Errorf("publish outcomes of job %q: %w", h.ID, err)
		}
	}
	return nil
}

// settle ends a job whose outcomes are on the server, or that has failed with an error: one that this worker cannot
// run goes back.
func (w *worker) settle(ctx, hard context.Context, h *held, outcomes *outcomes, err error) {
	defer w.shelf.done(h)
	switch {
	case err == nil:
		w.Monitor.ended("done", outcomes)
		w.Log.Debug("job done", "sweep", h.Sweep, "cell", h.trial.Cell.Key.Short(), "worker", w.Name, "job", h.ID,
			"n", h.trial.N, "trials", h.trial.Count, "seconds", h.took.Seconds())
		w.warn(h, "acknowledge it", h.Done())
	case hard.Err() != nil:
		w.giveBack(h, "drain", 0)
	case ctx.Err() != nil: // its leader does not need it
		w.Monitor.ended("dropped", nil)
		w.warn(h, "acknowledge it", h.Done())
	default:
		w.fail(h, h.trial.Subject(), err)
	}
}

// retryDelay is the time for which a job that a worker could not run is kept from all: this one leases no more of the
// sweep then, and others may.
const retryDelay = 500 * time.Millisecond

// fail returns a job that this worker could not run, sets its sweep aside, and publishes why.
func (w *worker) fail(h *held, what string, err error) {
	var lasting *PluginError
	never := errors.As(err, &lasting) && lasting.Lasting()
	r := w.shelf.fault(h.Sweep, what, firstLine(err), never)
	w.Log.Warn("job returned", "sweep", h.Sweep, "worker", w.Name, "job", h.ID, "reason", r.Reason, "faults", r.Faults)
	reason := "fault"
	if never {
		reason = "cannot"
	}
	w.giveBack(h, reason, retryDelay)
	w.beatNow()
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line[:min(len(line), 500)]
}
