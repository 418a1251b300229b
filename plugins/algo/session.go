package algo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// A session is the state of one session. A trial that ends early does not affect the others.
type session struct {
	ctx     context.Context
	service *service
	online  bool
	trials  trials
	ended   []bool // whether each trial has ended; nil before the session is open
	metrics metrics
	faults  []fault // faults of the current request

	answers []float64 // answers to the current request, reused
	marks   []byte    // marks of the answers to queries, reused
	sample  Data      // sample of the current trial, reused; emptied after the last, to expose models that retain it
	queries Data      // queries revealed to the current trial, reused in the same way
	points  Data      // points of the current trial, reused
	round   round     // last round of all trials, in the task online

	begun, done atomic.Uint32 // trials of the current request
}

func newSession(ctx context.Context, s *service) *session {
	return &session{ctx: ctx, service: s}
}

// answer answers one request. Its errors are caused by the host and end the session; the errors of
// trials are in the response.
func (t *session) answer(q *pluginv1.SessionRequest) (*pluginv1.SessionResponse, error) {
	t.begun.Store(0)
	t.done.Store(0)
	t.faults = t.faults[:0]
	switch r := q.GetRequest().(type) {
	case *pluginv1.SessionRequest_Open:
		if t.ended != nil {
			return nil, errors.New("the session is open already")
		}
		if err := t.open(r.Open); err != nil {
			return nil, fmt.Errorf("open: %w", err)
		}
		return &pluginv1.SessionResponse{Response: &pluginv1.SessionResponse_Opened{
			Opened: &pluginv1.Opened{Faults: packFaults(t.faults), Declared: t.declared()},
		}}, nil
	case *pluginv1.SessionRequest_Step:
		if err := t.step(r.Step); err != nil {
			return nil, fmt.Errorf("step: %w", err)
		}
		return &pluginv1.SessionResponse{Response: &pluginv1.SessionResponse_Answers{Answers: &pluginv1.Answers{
			Values: bytesOf(t.answers), Marks: t.marks, Faults: packFaults(t.faults),
		}}}, nil
	case *pluginv1.SessionRequest_Close:
		if err := t.observe(r.Close.Truths); err != nil {
			return nil, fmt.Errorf("close: %w", err)
		}
		count, first := takeWarnings()
		return &pluginv1.SessionResponse{Response: &pluginv1.SessionResponse_Closed{Closed: &pluginv1.Closed{
			Metrics: t.metrics.packed(), Faults: packFaults(t.faults), Warnings: count, Warning: first,
		}}}, nil
	}
	return nil, errors.New("an empty request")
}

// open runs the learning of all trials.
func (t *session) open(o *pluginv1.Open) error {
	count, n := len(o.Seeds)/2, o.GetSetting().GetN()
	sample, err := t.sampleOf(o)
	if err != nil {
		return fmt.Errorf("sample: %w", err)
	}
	t.online = o.GetSetting().GetTask().Rounds()
	if count == 0 || len(o.Seeds)%2 != 0 || n < 0 || n > int64(sample.rows) || int64(count)*n != int64(sample.rows) {
		return fmt.Errorf("%d seeds and n = %d do not fit a sample of %d rows", len(o.Seeds), n, sample.rows)
	}
	revealed, err := t.revealed(o, count)
	if err != nil {
		return err
	}
	t.ended = make([]bool, count)
	t.metrics.trials = count
	plugin, err := t.service.plugin(o.Setting)
	if err == nil {
		err = guarded(func() (err error) {
			t.trials, err = plugin.open(o.Setting, o.Seeds, &t.metrics)
			return err
		})
	}
	for j := range count {
		if err != nil { // the same for all trials
			t.end(j, err)
			continue
		}
		if t.ctx.Err() != nil {
			break // the host has ended the session
		}
		sample.slice(&t.sample, j*int(n), int(n))
		var queries *Data
		if revealed != nil {
			queries = &t.queries
			revealed.slice(queries, j*(revealed.rows/count), revealed.rows/count)
		}
		t.run(j, func() error { return t.trials.learn(t.ctx, j, &t.sample, queries) })
	}
	t.sample, t.queries = Data{}, Data{}
	return nil
}

// declared returns the hypotheses that the models of active trials declare.
func (t *session) declared() (list []*pluginv1.Declared) {
	for j, ended := range t.ended {
		if ended || t.trials == nil {
			continue
		}
		if d := t.trials.declared(j); d != nil {
			list = d.appendTo(list, j)
		}
	}
	return list
}

// run calls f, which calls the author's code for trial j, and counts the trial as progress.
func (t *session) run(j int, f func() error) {
	t.begun.Store(uint32(j + 1))
	t.try(j, f)
	t.done.Store(uint32(j + 1))
}

// try calls f, which calls the author's code for trial j, and ends the trial if f fails.
func (t *session) try(j int, f func() error) {
	if err := guarded(f); err != nil {
		t.end(j, err)
	}
}

// end ends trial j because of err.
func (t *session) end(j int, err error) {
	t.ended[j] = true
	t.faults = append(t.faults, fault{j, err})
}

// sampleOf returns the samples of all trials, which are empty in the task online.
func (t *session) sampleOf(o *pluginv1.Open) (*table, error) {
	if o.GetSetting().GetTask().Rounds() {
		return &table{dim: 1}, nil
	}
	return t.service.places.open(o.GetSample(), true)
}

// revealed returns the queries of all trials with an offline adversary, or nil for other
// adversaries.
func (t *session) revealed(o *pluginv1.Open, count int) (*table, error) {
	if !o.GetSetting().GetOffline() {
		return nil, nil
	}
	queries, err := t.service.places.open(o.GetRevealed(), false)
	if err != nil {
		return nil, fmt.Errorf("revealed: %w", err)
	}
	per := o.GetSetting().GetQueries()
	if per < 1 || per > int64(queries.rows) || int64(count)*per != int64(queries.rows) {
		return nil, fmt.Errorf("%d revealed queries are not %d for each of %d trials", queries.rows, per, count)
	}
	return queries, nil
}

// step runs each trial on its points: as queries in the task predict, and otherwise as a model.
func (t *session) step(s *pluginv1.Step) error {
	if len(s.Counts) != len(t.ended) {
		return fmt.Errorf("%d counts for %d trials", len(s.Counts), len(t.ended))
	}
	points, err := t.service.places.open(s.GetPoints(), false)
	if err != nil {
		return fmt.Errorf("points: %w", err)
	}
	total, err := t.rowsAsked(s, points)
	if err != nil {
		return err
	}
	if err := t.observe(s.Truths); err != nil {
		return err
	}
	if s.Play && t.online {
		t.round.keep(s, points)
	}
	queries := s.Play && !t.online
	t.makeRoom(total, queries)
	t.forEach(s.Counts, func(j, lo, hi int) {
		first := lo
		if s.Shared {
			first = int(s.FirstRow)
		}
		points.slice(&t.points, first, hi-lo)
		out := t.answers[lo:hi:hi]
		t.run(j, func() error {
			if queries {
				return t.trials.answer(t.ctx, j, &t.points, out, t.marks[lo:hi])
			}
			return t.trials.predict(t.ctx, j, &t.points, out)
		})
	})
	return nil
}

// makeRoom allocates the given number of answers, all unset, and their marks.
func (t *session) makeRoom(total int, marks bool) {
	t.answers, t.marks = slices.Grow(t.answers[:0], total)[:total], slices.Grow(t.marks[:0], total)[:total]
	fillNaN(t.answers)
	if clear(t.marks); !marks {
		t.marks = t.marks[:0]
	}
}

// forEach calls f for each active trial j with a count, until the session's context ends. The rows
// lo..hi-1 are those of the trial in the concatenated rows of all trials.
func (t *session) forEach(counts []uint32, f func(j, lo, hi int)) {
	hi := 0
	for j, count := range counts {
		lo := hi
		hi += int(count)
		if count == 0 || t.ended[j] {
			continue
		}
		if t.ctx.Err() != nil {
			return
		}
		f(j, lo, hi)
	}
}

// A round holds the points of the round played last, copied because their memory is reused.
type round struct {
	counts []uint32 // number of points by trial
	x, y   []float64
	dim    int
}

// keep copies the points of a step.
func (r *round) keep(s *pluginv1.Step, points *table) {
	r.counts, r.x, r.dim = append(r.counts[:0], s.Counts...), append(r.x[:0], points.x...), points.dim
}

// observe sends the active trials the truths of the round played last.
func (t *session) observe(packed []byte) error {
	if len(packed) == 0 {
		return nil
	}
	r := &t.round
	r.y = slices.Grow(r.y[:0], len(packed)/8)[:len(packed)/8]
	copy(bytesOf(r.y), packed)
	y := r.y
	if len(packed)%8 != 0 || len(y)*r.dim != len(r.x) || len(r.x) == 0 {
		return fmt.Errorf("%d bytes of truths do not fit the %d numbers of the points played last", len(packed), len(r.x))
	}
	t.forEach(r.counts, func(j, lo, hi int) {
		t.points = Data{x: r.x[lo*r.dim : hi*r.dim : hi*r.dim], dim: r.dim, n: hi - lo}
		t.try(j, func() error { return t.trials.observe(t.ctx, j, &t.points, y[lo:hi:hi]) })
	})
	r.counts, r.x = r.counts[:0], r.x[:0]
	return nil
}

// rowsAsked returns the sum of the counts, or an error if the table of points does not have those
// rows or the answers do not fit.
func (t *session) rowsAsked(s *pluginv1.Step, points *table) (int, error) {
	var total, most uint64
	for _, c := range s.Counts {
		total += uint64(c)
		most = max(most, uint64(c))
	}
	rows, room := uint64(points.rows), uint64(pluginv1.MaxMessage/8)
	switch {
	case total > room:
		return 0, fmt.Errorf("%d answers do not fit a message", total)
	case s.Shared && (s.FirstRow > rows || most > rows-s.FirstRow):
		return 0, fmt.Errorf("rows %d and %d more are not in a dataset of %d", s.FirstRow, most, rows)
	case !s.Shared && total != rows:
		return 0, fmt.Errorf("%d answers are asked for %d points", total, rows)
	}
	return int(total), nil
}
