package pool

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// A Request is a set of trials of one cell and sample size. The pool publishes it as a job, and
// publishes trials that do not return as further jobs.
type Request struct {
	Cell    *trial.Cell
	N       int64
	Again   bool          // the trials have outcomes already: results are compared with these and not recorded
	Recheck trial.Recheck // how trials are run again; "": as the first time
	Seconds float64       // predicted run time; 0: unknown
	Origin  string        // worker that sent the recorded outcomes, for rechecks on another worker; "": any
	Avoid   []string      // workers that leave the trials to others if there are any

	repetitions []int64        // ascending
	returned    numeric.BitSet // indices in repetitions of trials that have returned
	missing     int            // number of trials that have not returned
	canceled    bool
	state       delivery
}

// A delivery is the state of a request's jobs.
type delivery struct {
	attempts []*attempt // jobs on the server; more than one if the first is late
	failures int        // consecutive jobs from which no trial returned
	waiting  bool       // the request is in Pool.waiting
	after    time.Time  // earliest time of the next attempt
}

// An attempt is a published job that the server presumably still has.
type attempt struct {
	id        string
	request   *Request
	published time.Time
	held      time.Time // arrival of the last heartbeat that lists the job; zero: none
	seconds   float64   // predicted run time; 0: unknown
	worker    string    // worker whose last heartbeat lists the job as running; "": none
	running   float64   // run time in seconds, by that heartbeat
	absent    int       // consecutive checks in which the server did not have the job
	avoid     []string  // workers that leave the job to others
}

// Range returns the repetitions first..first+count-1.
func Range(first, count int) []int64 {
	list := make([]int64, count)
	for i := range list {
		list[i] = int64(first + i)
	}
	return list
}

// NewRequest returns a request for repetitions, at least one, in ascending order.
func NewRequest(c *trial.Cell, n int64, repetitions ...int64) *Request {
	return &Request{Cell: c, N: n, repetitions: repetitions, missing: len(repetitions)}
}

// Add adds a repetition, larger than all present ones, to a request that is not published yet.
func (r *Request) Add(repetition int64) {
	r.repetitions = append(r.repetitions, repetition)
	r.missing++
}

// Len returns the number of trials.
func (r *Request) Len() int { return len(r.repetitions) }

// Missing returns the number of trials that have not returned.
func (r *Request) Missing() int { return r.missing }

// Failures returns the number of consecutive jobs from which no trial returned.
func (r *Request) Failures() int { return r.state.failures }

// Return records that a trial has returned. It reports whether the trial was missing.
func (r *Request) Return(repetition int64) bool {
	i, found := slices.BinarySearch(r.repetitions, repetition)
	if !found || r.returned.Has(int64(i)) {
		return false
	}
	r.returned.Set(int64(i))
	r.missing--
	return true
}

// Open returns the repetitions that have not returned.
func (r *Request) Open() (list []int64) {
	for i, repetition := range r.repetitions {
		if !r.returned.Has(int64(i)) {
			list = append(list, repetition)
		}
	}
	return list
}

// Cancel marks the trials as no longer needed.
func (r *Request) Cancel() { r.canceled = true }

// needed reports whether missing trials are still needed.
func (r *Request) needed() bool { return !r.canceled && r.missing > 0 }

// againPrefix begins the ids of jobs whose results are compared and not recorded.
const againPrefix = "recheck-"

// IsAgain reports whether a job id belongs to a job that repeats trials with known outcomes.
func IsAgain(id string) bool { return strings.HasPrefix(id, againPrefix) }

// job returns the job of the missing trials, without the fields that the pool adds. serial
// distinguishes jobs with the same trials.
func (r *Request) job(serial int) *trial.Job {
	open := r.Open()
	first, last := open[0], open[len(open)-1]
	j := &trial.Job{
		Cell: r.Cell, N: r.N, First: first, Count: int64(len(open)), Recheck: r.Recheck,
		Seconds: r.Seconds * float64(len(open)) / float64(len(r.repetitions)),
	}
	if last-first+1 != j.Count {
		j.Picked = open
	}
	j.ID = fmt.Sprintf("%s-%d-%d-%d-%d", r.Cell.Key.Short(), r.N, first, last+1, serial)
	if r.Again {
		j.ID = againPrefix + j.ID
	}
	return j
}
