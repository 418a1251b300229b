// Package fleet defines the messages that workers and leaders of sweeps publish about themselves. Start at [Worker],
// the heartbeat of a worker, and [Offer], that of a leader.
package fleet

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// The timing of heartbeats of workers and leaders.
const (
	Interval = time.Second      // maximum time between two heartbeats
	Silence  = 10 * time.Second // time without heartbeats after which the sender counts as gone
)

// Worker is the heartbeat of a worker.
type Worker struct {
	Name     string    `json:"name"`
	Began    time.Time `json:"began"`    // start of its process
	Slots    int       `json:"slots"`    // number of jobs that it runs at the same time, at least 1
	Build    string    `json:"build"`    // description of the shatter build
	Platform string    `json:"platform"` // GOOS/GOARCH
	Profile  string    `json:"profile"`  // float profile
	Sandbox  string    `json:"sandbox"`  // description of the layers around its plugins
	Plugins  []string  `json:"plugins"`  // identities of its plugins

	// Environments describes the environments of the plugins that it has started, by identity.
	Environments map[string]string `json:"environments,omitempty"`

	Allows   []string  `json:"allows"`         // SHA-256 of plugin files that it may fetch; "any": all
	Until    time.Time `json:"until,omitzero"` // end of its time limit; zero: none
	Leaving  bool      `json:"leaving"`        // it accepts no more jobs
	Held     []Held    `json:"held"`           // its jobs, of all sweeps
	Refusals []Refusal `json:"refusals"`       // jobs that it cannot run, for reasons of its own
	Seconds  float64   `json:"seconds"`        // total time of its trials since it began
	Seen     time.Time `json:"-"`              // time of the heartbeat, if the reader sets it
}

// Busy returns the number of jobs that run.
func (w *Worker) Busy() (jobs int) {
	for _, h := range w.Held {
		if h.Running > 0 {
			jobs++
		}
	}
	return jobs
}

// Held is a job assigned to a worker.
type Held struct {
	Sweep   string  `json:"sweep"`
	Epoch   uint64  `json:"epoch"`
	ID      string  `json:"id"`
	Running float64 `json:"running"` // seconds since its start; 0: waiting
}

// Refusal is the reason why a worker accepts no jobs of a sweep.
type Refusal struct {
	Sweep  string    `json:"sweep"`
	What   string    `json:"what"`   // description of a plugin or a data file
	Never  bool      `json:"never"`  // the worker can never run the jobs; Until is unused
	Reason string    `json:"reason"` // one line
	Faults int       `json:"faults"` // number of consecutive failures
	Until  time.Time `json:"until"`  // time of the next attempt
}

// Backoff returns the time until a worker may retry after that many consecutive failures.
func Backoff(faults int) time.Duration {
	return min(Interval<<min(faults-1, 10), 5*time.Minute)
}

// Encode returns the heartbeat as the bytes of a message.
func (w *Worker) Encode() ([]byte, error) { return json.Marshal(w) }

// Holds reports whether the refusal is in effect at a time.
func (r *Refusal) Holds(now time.Time) bool { return r.Never || now.Before(r.Until) }

// Refuses returns the reason why the worker accepts no jobs of a sweep at a time, or nil if it
// accepts them.
func (w *Worker) Refuses(sweep string, now time.Time) *Refusal {
	for i := range w.Refusals {
		if r := &w.Refusals[i]; r.Sweep == sweep && r.Holds(now) {
			return r
		}
	}
	return nil
}

// Decode decodes the heartbeat of a worker, whose name the server has verified.
func Decode(name string, data []byte) (*Worker, error) {
	w := new(Worker)
	if err := json.Unmarshal(data, w); err != nil {
		return nil, fmt.Errorf("decode heartbeat of worker %q: %w", name, err)
	}
	if w.Slots < 1 {
		return nil, fmt.Errorf("decode heartbeat of worker %q: it has %d slots", name, w.Slots)
	}
	w.Name = name
	return w, nil
}

// Explain explains in one line why none of the workers can run a job, grouped by reason.
func Explain(reasons map[string]string) string {
	if len(reasons) == 0 {
		return "there are no workers"
	}
	byReason := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(reasons)) {
		byReason[reasons[name]] = append(byReason[reasons[name]], name)
	}
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		names := byReason[reason]
		who := "worker " + names[0]
		if more := len(names) - 1; more > 0 {
			who += fmt.Sprintf(" (and %d more)", more)
		}
		parts = append(parts, who+" "+reason)
	}
	return strings.Join(parts, "; ")
}

// Offer is the heartbeat of a leader: the requirements of its sweep on workers.
type Offer struct {
	Epoch    uint64   `json:"epoch"`
	Priority int      `json:"priority"`         // workers run jobs of higher priorities first
	Weight   float64  `json:"weight"`           // share of a worker's time among sweeps of one priority, above 0
	Profile  string   `json:"profile"`          // required float profile; "": any
	Needs    []Need   `json:"needs"`            // everything that its jobs need
	Barred   []string `json:"barred,omitempty"` // workers in quarantine, which get no jobs of the sweep
	Dropped  []string `json:"dropped"`          // jobs that are no longer needed; a worker that runs one stops it
	Over     bool     `json:"over"`             // no more jobs are needed
}

// Need is a plugin, or a built-in algorithm, that jobs need.
type Need struct {
	Plugin string `json:"plugin"` // identity
	Name   string `json:"name"`   // display name
	Own    bool   `json:"own"`    // the algorithm is built in
}

// Encode returns the offer as the bytes of a message.
func (o *Offer) Encode() ([]byte, error) { return json.Marshal(o) }

// DecodeOffer decodes an offer.
func DecodeOffer(data []byte) (*Offer, error) {
	o := new(Offer)
	if err := json.Unmarshal(data, o); err != nil {
		return nil, fmt.Errorf("decode offer: %w", err)
	}
	if o.Weight <= 0 || o.Weight > MaxWeight {
		return nil, fmt.Errorf("decode offer: the weight %v is not above 0 and up to %d", o.Weight, MaxWeight)
	}
	return o, nil
}

// MaxWeight is the maximum weight of a sweep.
const MaxWeight = 1_000_000
