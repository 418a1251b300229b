// Package fleet has what workers say of themselves, and the matching of jobs to workers.
//
// It promises that every announcement that [Decode] returns keeps the limits that its fields name,
// whatever the bytes were, and that [Worker.Cannot] says in words why a worker cannot run a job. It
// needs nothing. Start at [Worker].
package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shatterlab/shatter/pipeline/wording"
)

// The times by which workers and leaders of sweeps know of each other.
const (
	Interval = time.Second // between two announcements of a worker, at most
	Silence  = 10 * time.Second
	Whole    = 10 * time.Second // between two announcements that are not brief, about
)

// Worker is what a worker says of itself once in an Interval, and when somebody calls. After Silence
// without a word it is taken to be gone. Most of its words are brief: see [Worker.Brief].
type Worker struct {
	Name     string    `json:"name"`
	Began    time.Time `json:"began"`          // when its process began
	Slots    int       `json:"slots"`          // jobs that it runs at the same time, at least 1
	Build    string    `json:"build"`          // of shatter, in words
	Platform string    `json:"platform"`       // GOOS/GOARCH
	Profile  string    `json:"profile"`        // float profile
	Sandbox  string    `json:"sandbox"`        // layers around its plugins, in words, as they were found
	Plugins  []string  `json:"plugins"`        // identities of those that it has
	Allows   []string  `json:"allows"`         // SHA-256 of plugin files that it would fetch; "any": all
	Until    time.Time `json:"until,omitzero"` // when its time is over; zero: never
	Leaving  bool      `json:"leaving"`        // it takes no more jobs
	Held     []Held    `json:"held"`           // jobs that it has, of all sweeps
	Refusals []Refusal `json:"refusals"`       // what it cannot do, by its own fault
	Seconds  float64   `json:"seconds"`        // that its trials took since it began

	// Listed is the digest of Plugins in an announcement that leaves them out, until Complete puts them
	// in; empty: they are in it.
	Listed string `json:"listed,omitempty"`
}

// Held is a job that a worker holds.
type Held struct {
	Sweep   string  `json:"sweep"`
	Epoch   uint64  `json:"epoch"`
	ID      string  `json:"id"`
	Running float64 `json:"running"` // seconds since it was begun; 0: it waits
}

// Refusal is something that a worker could not do.
type Refusal struct {
	What   string    `json:"what"`   // a plugin or a data file, in words
	Reason string    `json:"reason"` // one line
	Faults int       `json:"faults"` // times in a row
	Until  time.Time `json:"until"`  // when it tries again
}

// Backoff returns the time for which a worker is kept from what it could not do so many times in a
// row.
func Backoff(faults int) time.Duration {
	return min(Interval<<min(faults-1, 10), 5*time.Minute)
}

// Limits of an announcement.
const (
	mostSlots = 1 << 12
	mostHeld  = 1 << 14
	mostList  = 1 << 10
	longest   = 1 << 10 // bytes of a text
)

// Encode returns the announcement as the bytes of a message.
func (w *Worker) Encode() ([]byte, error) { return json.Marshal(w) }

// Brief returns an announcement without the list of plugins, which is most of one and hardly ever
// changes: it has the list's digest. Who does not know the list asks for it, or waits for Whole.
func (w *Worker) Brief() *Worker {
	b := *w
	b.Plugins, b.Listed = nil, w.List()
	return &b
}

// List returns a digest of the list of plugins.
func (w *Worker) List() string {
	if w.Listed != "" {
		return w.Listed
	}
	sum := sha256.Sum256([]byte(strings.Join(w.Plugins, "\n")))
	return hex.EncodeToString(sum[:16])
}

// Complete puts in the list of plugins that a brief announcement leaves out, if the worker's last one,
// which may be nil, is complete and has that list. It reports whether the announcement is complete.
func (w *Worker) Complete(last *Worker) bool {
	if w.Listed != "" && last != nil && last.Listed == "" && last.List() == w.Listed {
		w.Plugins, w.Listed = last.Plugins, ""
	}
	return w.Listed == ""
}

// Decode reads the announcement of a worker, which may name no other one. The bytes may be anything.
func Decode(from string, data []byte) (*Worker, error) {
	w := new(Worker)
	if err := json.Unmarshal(data, w); err != nil {
		return nil, fmt.Errorf("decode announcement: %w", err)
	}
	switch {
	case w.Name == "" || strings.ContainsAny(w.Name, ". *>/\\\n\t"):
		return nil, fmt.Errorf("decode announcement: %.100q is no name of a worker", w.Name)
	case w.Name != from:
		return nil, fmt.Errorf("decode announcement of worker %.100q: it says that it is %.100q", from, w.Name)
	case w.Slots < 1 || w.Slots > mostSlots:
		return nil, fmt.Errorf("decode announcement of worker %.100q: %d slots are not between 1 and %d",
			w.Name, w.Slots, mostSlots)
	case len(w.Held) > mostHeld || max(len(w.Plugins), len(w.Allows), len(w.Refusals)) > mostList:
		return nil, fmt.Errorf("decode announcement of worker %.100q: a list in it is too long", w.Name)
	}
	texts := slices.Concat([]string{w.Name, w.Build, w.Platform, w.Profile, w.Sandbox, w.Listed}, w.Plugins, w.Allows)
	for _, r := range w.Refusals {
		texts = append(texts, r.What, r.Reason)
	}
	for _, h := range w.Held {
		texts = append(texts, h.Sweep, h.ID)
	}
	for _, s := range texts {
		if len(s) > longest {
			return nil, fmt.Errorf("decode announcement of worker %.100q: %.40q... has %d bytes, %d are the most",
				w.Name, s, len(s), longest)
		}
	}
	return w, nil
}

// brief returns what a worker says of itself as it stands in a sentence.
func brief(text string) string { return wording.OneLine(text, 60) }

// Need is what a job needs of the worker that runs it.
type Need struct {
	Plugin  string  // identity
	Name    string  // of the plugin, for people; "": built in
	Profile string  // float profile; "": any
	Seconds float64 // that the job will take, as far as is known
	What    string  // plugin and data, in words
}

// Cannot returns why a worker cannot run a job at this time, in words that follow its name; "" if
// it can.
func (w *Worker) Cannot(n Need, now time.Time) string {
	switch {
	case w.Leaving:
		return "is leaving"
	case n.Profile != "" && w.Profile != n.Profile:
		return fmt.Sprintf("has the float profile %s, the sweep's is %s", brief(w.Profile), brief(n.Profile))
	case !w.Until.IsZero() && now.Add(time.Duration(min(n.Seconds, 1e6)*float64(time.Second))).After(w.Until):
		return "has no time left for it"
	case slices.Contains(w.Plugins, n.Plugin):
		return ""
	case n.Name == "":
		return fmt.Sprintf("has other built-in algorithms (%s)", brief(w.Build))
	case slices.Contains(w.Allows, "any") || slices.Contains(w.Allows, n.Plugin):
		return ""
	}
	return fmt.Sprintf("has not the plugin %s for %s, and may not fetch it: start it with --plugin and the file, "+
		"or with --allow-plugins %s (or any)", n.Name, brief(w.Platform), n.Plugin)
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

// Why says why a worker hands a job back. It never says anything about the job's trials.
type Why struct {
	Kind   Kind   `json:"kind"`
	What   string `json:"what"`   // it is about, in words; "" where the kind says it
	Reason string `json:"reason"` // for people, one line
}

// Kind is a kind of reason.
type Kind string

// The reasons for which jobs are handed back.
const (
	Fault  Kind = "fault"  // of the worker, which may mend it: data, disk, memory, a plugin that does not start
	Cannot Kind = "cannot" // it will never run the job
	Drain  Kind = "drain"  // it leaves
)

// Encode returns the reason as the bytes of a message.
func (y Why) Encode() []byte {
	y.What, y.Reason = y.What[:min(len(y.What), longest/2)], y.Reason[:min(len(y.Reason), longest/2)]
	b, err := json.Marshal(y)
	if err != nil {
		panic(err) // strings only
	}
	return b
}

// DecodeWhy reads a reason. The bytes may be anything.
func DecodeWhy(data []byte) (y Why, err error) {
	if err := json.Unmarshal(data, &y); err != nil {
		return y, fmt.Errorf("decode why a job comes back: %w", err)
	}
	if max(len(y.What), len(y.Reason)) > longest || y.Kind != Fault && y.Kind != Cannot && y.Kind != Drain {
		return y, fmt.Errorf("decode why a job comes back: unknown kind %.20q, or too long", y.Kind)
	}
	return y, nil
}
