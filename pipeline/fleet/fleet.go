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

// The times by which workers and leaders of sweeps know of each other.
const (
	Interval = time.Second      // between two heartbeats, at most
	Silence  = 10 * time.Second // after which the sender is taken to be gone
)

// Worker is the heartbeat of a worker.
type Worker struct {
	Name     string    `json:"name"`
	Began    time.Time `json:"began"`    // when its process began
	Slots    int       `json:"slots"`    // jobs that it runs at the same time, at least 1
	Build    string    `json:"build"`    // of shatter, in words
	Platform string    `json:"platform"` // GOOS/GOARCH
	Profile  string    `json:"profile"`  // float profile
	Sandbox  string    `json:"sandbox"`  // layers around its plugins, in words, as they were found
	Plugins  []string  `json:"plugins"`  // identities of those that it has

	// Environments holds, by identity, what the plugins that it has started run with, in words.
	Environments map[string]string `json:"environments,omitempty"`

	Allows   []string  `json:"allows"`         // SHA-256 of plugin files that it would fetch; "any": all
	Until    time.Time `json:"until,omitzero"` // when its time is over; zero: never
	Leaving  bool      `json:"leaving"`        // it takes no more jobs
	Held     []Held    `json:"held"`           // jobs that it has, of all sweeps
	Refusals []Refusal `json:"refusals"`       // what it cannot do, by its own fault
	Seconds  float64   `json:"seconds"`        // that its trials took since it began
}

// Held is a job that a worker holds.
type Held struct {
	Sweep   string  `json:"sweep"`
	Epoch   uint64  `json:"epoch"`
	ID      string  `json:"id"`
	Running float64 `json:"running"` // seconds since it was begun; 0: it waits
}

// Refusal is the reason why a worker takes no jobs of a sweep.
type Refusal struct {
	Sweep  string    `json:"sweep"`
	What   string    `json:"what"`   // a plugin or a data file, in words
	Never  bool      `json:"never"`  // it will not be able to run them, whatever happens; Until is of no use
	Reason string    `json:"reason"` // one line
	Faults int       `json:"faults"` // times in a row
	Until  time.Time `json:"until"`  // when it tries again
}

// Backoff returns the time for which a worker is kept from what it could not do so many times in a
// row.
func Backoff(faults int) time.Duration {
	return min(Interval<<min(faults-1, 10), 5*time.Minute)
}

// Encode returns the heartbeat as the bytes of a message.
func (w *Worker) Encode() ([]byte, error) { return json.Marshal(w) }

// Holds reports whether the refusal still counts at a time.
func (r *Refusal) Holds(now time.Time) bool { return r.Never || now.Before(r.Until) }

// Refuses returns why the worker takes no jobs of a sweep at a time; nil if it takes them.
func (w *Worker) Refuses(sweep string, now time.Time) *Refusal {
	for i := range w.Refusals {
		if r := &w.Refusals[i]; r.Sweep == sweep && r.Holds(now) {
			return r
		}
	}
	return nil
}

// Decode reads the heartbeat of a worker, whose name the server has checked.
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

// Explain says in one line why none of the workers can run a job, by reasons.
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

// Offer is the heartbeat of a leader: what its sweep needs and wants of workers.
type Offer struct {
	Epoch    uint64   `json:"epoch"`
	Priority int      `json:"priority"`         // workers run jobs of higher priorities first
	Weight   float64  `json:"weight"`           // share of a worker's time among sweeps of one priority, above 0
	Profile  string   `json:"profile"`          // float profile that has to run the jobs; "": any
	Needs    []Need   `json:"needs"`            // all that its jobs need
	Barred   []string `json:"barred,omitempty"` // workers in quarantine, which take no jobs of the sweep
	Dropped  []string `json:"dropped"`          // jobs that are not needed any more; who runs one ends it
	Over     bool     `json:"over"`             // no job is needed any more
}

// Need is a plugin, or a built-in algorithm, that jobs need.
type Need struct {
	Plugin string `json:"plugin"` // identity
	Name   string `json:"name"`   // in words
	Own    bool   `json:"own"`    // it is built in
}

// Encode returns the offer as the bytes of a message.
func (o *Offer) Encode() ([]byte, error) { return json.Marshal(o) }

// DecodeOffer reads an offer.
func DecodeOffer(data []byte) (*Offer, error) {
	o := new(Offer)
	if err := json.Unmarshal(data, o); err != nil {
		return nil, fmt.Errorf("decode offer: %w", err)
	}
	if o.Weight <= 0 || o.Weight > MostWeight {
		return nil, fmt.Errorf("decode offer: the weight %v is not above 0 and up to %d", o.Weight, MostWeight)
	}
	return o, nil
}

// MostWeight bounds the weight of a sweep.
const MostWeight = 1_000_000
