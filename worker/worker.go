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

	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/sandbox"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas"
)

// Config configures [Run]. Conn, Name and Plugins are required; the other fields have defaults.
type Config struct {
	Conn    *queue.Conn
	Slots   int                     // number of jobs that run at the same time; 0: 1
	Name    string                  // name of this worker in jobs, results and messages; without dots
	Plugins map[string]host.Command // commands of the local plugins, by identity
	Allow   []string                // identities of plugins that the worker may fetch and start, or AllowAny
	Files   map[string]string       // paths of local data files, by SHA-256
	Cache   string                  // folder for files from the server; empty: the worker fetches nothing
	Build   string                  // description of this build of shatter
	Sandbox sandbox.Policy          // policy for fetched plugins
	Layers  string                  // description of the sandbox layers that this machine offers
	Until   time.Time               // end of the machine's reservation: no job starts that would end later; zero: none
	Drain   time.Duration           // time for running jobs to finish after ctx has ended; 0: unlimited
	Log     *slog.Logger            // nil: silent
	Monitor *Monitor                // receives the worker's state and counts; may be nil

	// SharedProblem hands over a problem that this process has opened already and that draws equal samples.
	// It returns nil if there is none. The function may be nil.
	SharedProblem func(schemas.Problem) *problem.Problem

	CacheSize int64 // limit in bytes of the files in Cache; 0: no limit; see queue.FileCache

	// Simulate computes the rows or the refusal of a job instead of a plugin, and sets no other field of the
	// batch. An error counts as a fault of this worker. Nil: plugins run the jobs.
	Simulate func(ctx context.Context, job *trial.Job) (*ledger.Batch, error)
}

// Run leases and runs jobs until ctx ends. Then it returns the waiting jobs to the queue, finishes the running ones
// (or returns them too, after Config.Drain), stops its plugins and returns. If hard ends, Run stops at once.
func Run(ctx, hard context.Context, c Config) error {
	c.Slots = max(c.Slots, 1)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	hard, end := context.WithCancel(hard)
	defer end()
	running := &processes{slots: c.Slots}
	w := &worker{
		Config: c, profile: trial.FloatProfile(), processes: running, populations: newPopulations(hard, c, running),
		jobs: newJobQueue(hard, c.Slots), plugins: newPlugins(hard, c), started: time.Now(),
		heartbeatDue: make(chan struct{}, 1),
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
	working, over := context.WithCancel(hard)
	defer over()
	var others, slots sync.WaitGroup
	others.Go(func() { w.listen(working, offers) })
	others.Go(func() { w.leaseJobs(working) })
	for range c.Slots {
		slots.Go(func() { w.runSlot(hard) })
	}
	select {
	case <-ctx.Done():
		w.drain(end)
	case <-c.Conn.Closed():
		err = c.Conn.ClosedError()
		w.drain(end)
		end()
	}
	slots.Wait()
	w.publishing.Wait()
	over()
	others.Wait()
	w.processes.stop(func(processKey) bool { return true })
	w.populations.close()
	return err
}

// A worker holds the state that its slots share.
type worker struct {
	Config
	queue        *queue.Puller
	profile      string // float profile of this machine
	populations  *populations
	plugins      *plugins
	jobs         *jobQueue
	processes    *processes
	begunGames   sync.Map // *givenAnswers of online games without an outcome, by ID of the trial
	started      time.Time
	heartbeatDue chan struct{}  // holds a value if a heartbeat is due at once
	publishing   sync.WaitGroup // running publications of results
}

// extensionInterval is the time between two extensions of the leases.
const extensionInterval = queue.AckWait / 3

// listen handles the offers of leaders, publishes heartbeats and extends leases until ctx ends.
func (w *worker) listen(ctx context.Context, offers <-chan queue.Offer) {
	tick := time.NewTicker(fleet.Interval)
	defer tick.Stop()
	extended := time.Now()
	w.publishHeartbeat()
	for {
		select {
		case o := <-offers:
			if !w.handleOffer(o) {
				continue
			}
		case <-w.heartbeatDue:
		case now := <-tick.C:
			if now.Sub(extended) >= extensionInterval {
				extended = now
				for _, h := range w.jobs.leasedJobs() {
					w.warnUnsent(h, "extend its lease", h.Extend())
				}
			}
		case <-ctx.Done():
			if err := w.queue.Leave(); err != nil {
				w.Log.Debug("worker not removed from the list", "error", err.Error())
			}
			return
		}
		w.publishHeartbeat()
	}
}

// handleOffer records the offer of a leader. It reports whether the sweep or its leader is new, so that a heartbeat
// is due.
func (w *worker) handleOffer(message queue.Offer) (isNew bool) {
	o, err := fleet.DecodeOffer(message.Data)
	if err != nil {
		w.Log.Debug("cannot decode offer", "sweep", message.Sweep, "error", err.Error())
		return false
	}
	return w.jobs.updateOffer(message.Sweep, o, w.permanentRefusal(message.Sweep, o))
}

// permanentRefusal returns the reason why this worker can never run the jobs of a sweep; nil if it can.
func (w *worker) permanentRefusal(sweep string, o *fleet.Offer) *fleet.Refusal {
	refuse := func(what, reason string) *fleet.Refusal {
		return &fleet.Refusal{Sweep: sweep, Never: true, What: what, Reason: reason}
	}
	if o.Profile != "" && o.Profile != w.profile {
		return refuse("float profile", fmt.Sprintf("the sweep's float profile is %s, this machine's is %s: "+
			"their last bits may differ", o.Profile, w.profile))
	}
	if slices.Contains(o.Barred, w.Name) {
		return refuse("its trials",
			"this worker is in quarantine: its outcomes differed from those of all others")
	}
	for _, n := range o.Needs {
		if err := w.plugins.unavailable(n); err != nil {
			return refuse(err.plugin, err.Error())
		}
	}
	return nil
}

// warnUnsent logs that a message about a job did not reach the server. The job's lease then expires.
func (w *worker) warnUnsent(h *leasedJob, what string, err error) {
	if err != nil {
		w.Log.Warn("message about a job not sent", "what", what, "sweep", h.Sweep, "worker", w.Name, "job", h.ID,
			"error", err.Error())
	}
}

func (w *worker) publishHeartbeat() {
	a := fleet.Worker{
		Name: w.Name, Began: w.started, Slots: w.Slots, Build: w.Build, Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Profile: w.profile, Sandbox: w.Layers, Until: w.Until, Plugins: w.plugins.available(), Allows: w.plugins.allowlist(),
		Environments: w.plugins.startedIn(),
	}
	w.jobs.fillHeartbeat(&a, time.Now())
	w.Monitor.update(func(o *Overview) { o.HeartbeatAt, o.Heartbeat = time.Now(), a })
	data, err := a.Encode()
	if err == nil {
		err = w.queue.Beat(data)
	}
	if err != nil {
		w.Log.Warn("heartbeat not published", "worker", w.Name, "error", err.Error())
	}
}

func (w *worker) requestHeartbeat() { signal(w.heartbeatDue) }

// drain returns the waiting jobs to the queue. It calls end when Config.Drain has passed.
func (w *worker) drain(end func()) {
	for _, h := range w.jobs.close() {
		w.returnJob(h, "drain", 0)
	}
	w.requestHeartbeat()
	if w.Drain > 0 {
		time.AfterFunc(w.Drain, end)
	}
}

// returnJob returns a job to the queue and counts it under a reason.
func (w *worker) returnJob(h *leasedJob, reason string, delay time.Duration) {
	w.Monitor.countJob(reason, nil)
	w.warnUnsent(h, "return it", h.Return(delay))
}

// runSlot runs jobs one after another until the queue is closed or hard ends.
func (w *worker) runSlot(hard context.Context) {
	s := &slot{w: w}
	for h := w.jobs.next(); h != nil; h = w.jobs.next() {
		outcomes, err := s.run(h.ctx, h.trial)
		w.jobs.recordRunTime(h)
		w.Monitor.update(func(o *Overview) { o.Running += h.runTime })
		if err != nil {
			w.finishJob(hard, h, nil, err)
			continue
		}
		w.jobs.clearRefusal(h)
		// Problems are opened and processes started once; their time would make a few trials look expensive.
		batches := outcomes.batches(w, (h.runTime - s.openingTime - s.startingTime).Seconds())
		w.publishing.Go(func() { w.finishJob(hard, h, outcomes, w.publish(h, batches)) })
	}
}

// storeWarningAfter is the time after which the heartbeat reports that the server does not store results.
const storeWarningAfter = 10 * time.Second

// publish stores the results of a job on the server. It blocks until the server has confirmed them.
func (w *worker) publish(h *leasedJob, batches []*ledger.Batch) error {
	late := time.AfterFunc(storeWarningAfter, func() {
		w.jobs.setUnstored(h.Sweep, fmt.Sprintf("the server has not stored their results for %v; its disk may be full or "+
			"have been full: make room, and start the server again", storeWarningAfter))
		w.requestHeartbeat()
	})
	defer func() {
		if !late.Stop() {
			w.jobs.setUnstored(h.Sweep, "")
			w.requestHeartbeat()
		}
	}()
	for i, b := range batches {
		data, err := b.Encode()
		if err == nil {
			part := queue.Part{Term: h.Term, Job: h.ID, Index: i, Of: len(batches)}
			err = w.queue.Publish(h.ctx, part, data)
		}
		if err != nil {
			return fmt.Errorf("publish outcomes of job %q: %w", h.ID, err)
		}
	}
	return nil
}

// finishJob ends the lease of a job whose outcomes are stored, or that failed with err. It returns a job that this
// worker cannot run to the queue.
func (w *worker) finishJob(hard context.Context, h *leasedJob, outcomes *outcomes, err error) {
	defer w.jobs.remove(h)
	switch {
	case err == nil:
		w.Monitor.countJob("done", outcomes)
		w.Log.Debug("job done", "sweep", h.Sweep, "cell", h.trial.Cell.Key.Short(), "worker", w.Name, "job", h.ID,
			"n", h.trial.N, "trials", h.trial.Count, "seconds", h.runTime.Seconds())
		w.warnUnsent(h, "acknowledge it", h.Done())
	case hard.Err() != nil:
		w.returnJob(h, "drain", 0)
	case h.ctx.Err() != nil: // its leader dropped it
		w.Monitor.countJob("dropped", nil)
		w.warnUnsent(h, "acknowledge it", h.Done())
	default:
		w.returnFailedJob(h, err)
	}
}

// retryDelay is the time for which the server holds back a job that this worker could not run. Meanwhile the worker
// publishes its refusal, so that another worker leases the job.
const retryDelay = 500 * time.Millisecond

// returnFailedJob returns a job that this worker could not run, and publishes a refusal of its sweep.
func (w *worker) returnFailedJob(h *leasedJob, err error) {
	var missing *PluginError
	never := errors.As(err, &missing) && missing.Permanent
	r := w.jobs.refuse(h.Sweep, h.trial.Subject(), firstLine(err), never)
	w.Log.Warn("job returned", "sweep", h.Sweep, "worker", w.Name, "job", h.ID, "reason", r.Reason, "faults", r.Faults)
	reason := "fault"
	if never {
		reason = "cannot"
	}
	w.returnJob(h, reason, retryDelay)
	w.requestHeartbeat()
}

// firstLine returns at most 500 bytes of the first line of an error.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return strings.ToValidUTF8(line[:min(len(line), 500)], "")
}
