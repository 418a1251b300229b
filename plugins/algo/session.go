package algo

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// service is the plugin protocol over a set of algorithms.
type service struct {
	pluginv1.UnimplementedPluginServer
	description *pluginv1.DescribeResponse
	plugins     map[string]Plugin
	places      *places
	turn        chan struct{} // full while the algorithms are in use: whoever calls into them takes turns
}

func newService(plugins []Plugin, places *places) (*service, error) {
	s := &service{
		description: &pluginv1.DescribeResponse{
			Sdk: sdkVersion(), ProtocolMin: pluginv1.Version, ProtocolMax: pluginv1.Version, Progress: true,
		},
		plugins: make(map[string]Plugin), places: places, turn: make(chan struct{}, 1),
	}
	if len(plugins) == 0 {
		return nil, errors.New("no algorithm to serve")
	}
	for _, p := range plugins {
		d, err := p.describe()
		if err != nil {
			return nil, err
		}
		if s.plugins[d.Name] != nil {
			return nil, fmt.Errorf("algorithm %q is served twice", d.Name)
		}
		s.plugins[d.Name] = p
		s.description.Algorithms = append(s.description.Algorithms, d)
	}
	return s, nil
}

func (s *service) Describe(context.Context, *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	return s.description, nil
}

// take waits until the algorithms are ours alone; give lets the next one in.
func (s *service) take(ctx context.Context) (give func(), err error) {
	select {
	case s.turn <- struct{}{}:
		return func() { <-s.turn }, nil
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

func (s *service) Check(ctx context.Context, w *pluginv1.Setting) (*pluginv1.CheckResponse, error) {
	give, err := s.take(ctx)
	if err != nil {
		return nil, err
	}
	defer give()
	p, err := s.plugin(w)
	if err != nil {
		return &pluginv1.CheckResponse{Refusal: refusalOf(err)}, nil
	}
	return p.check(w), nil
}

func (s *service) Bound(ctx context.Context, w *pluginv1.Setting) (*pluginv1.BoundResponse, error) {
	give, err := s.take(ctx)
	if err != nil {
		return nil, err
	}
	defer give()
	p, err := s.plugin(w)
	if err != nil {
		return &pluginv1.BoundResponse{Refusal: refusalOf(err)}, nil
	}
	return p.bound(w), nil
}

func (s *service) plugin(w *pluginv1.Setting) (Plugin, error) {
	if p := s.plugins[w.GetAlgorithm()]; p != nil {
		return p, nil
	}
	return nil, Invalid("this plugin has no algorithm %q", w.GetAlgorithm())
}

// Session runs the trials of one job: Open, Steps and Close, each answered before the next is read.
func (s *service) Session(stream grpc.BidiStreamingServer[pluginv1.SessionRequest, pluginv1.SessionResponse]) error {
	ctx := stream.Context()
	give, err := s.take(ctx)
	if err != nil {
		return err
	}
	defer give()
	// Shared memory is read-only: a write to it shall cost the one trial, not the process.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))

	t := &session{ctx: ctx, service: s}
	answers := &sender{stream: stream}
	stop := answers.progress(&t.begun, &t.done)
	defer stop()
	for {
		q, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		answers.work()
		r, err := t.answer(q)
		if err != nil {
			return status.Error(codes.InvalidArgument, text(err.Error()))
		}
		if ctx.Err() != nil {
			return status.FromContextError(ctx.Err()).Err()
		}
		if err := answers.send(r); err != nil {
			return err
		}
		if q.GetClose() != nil {
			return nil
		}
	}
}

// session is the state of one session: trials that end leave the others alone.
type session struct {
	ctx     context.Context
	service *service
	n       int
	online  bool
	game    game
	ended   []bool
	record  record
	faults  []fault
	out     []float64 // answers, reused
	marks   []byte    // of the answers to queries, reused
	sample  Data      // of the present trial, reused; empty once all have learned, so that a model that keeps it is found out
	queries Data      // revealed to the present trial, reused in the same way
	points  Data      // of the present trial, reused
	round   round     // of all trials, in the task online

	begun, done atomic.Uint32 // of the present request
}

type fault struct {
	trial int
	err   error
}

// answer answers one request. Its errors are of the host's making and end the session; faults of trials are in the response.
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
			Opened: &pluginv1.Opened{Faults: packFaults(t.faults)},
		}}, nil
	case *pluginv1.SessionRequest_Step:
		if err := t.step(r.Step); err != nil {
			return nil, fmt.Errorf("step: %w", err)
		}
		return &pluginv1.SessionResponse{Response: &pluginv1.SessionResponse_Answers{
			Answers: &pluginv1.Answers{Values: bytesOf(t.out), Marks: t.marks, Faults: packFaults(t.faults)},
		}}, nil
	case *pluginv1.SessionRequest_Close:
		if err := t.observe(r.Close.Truths); err != nil {
			return nil, fmt.Errorf("close: %w", err)
		}
		return &pluginv1.SessionResponse{Response: &pluginv1.SessionResponse_Closed{
			Closed: &pluginv1.Closed{Metrics: t.record.packed(), Faults: packFaults(t.faults)},
		}}, nil
	}
	return nil, errors.New("an empty request")
}

// open learns all trials.
func (t *session) open(o *pluginv1.Open) error {
	trials, n := len(o.Seeds)/2, o.GetSetting().GetN()
	sample, err := t.sampleOf(o)
	if err != nil {
		return fmt.Errorf("sample: %w", err)
	}
	t.online = o.GetSetting().GetTask() == pluginv1.Task_TASK_ONLINE
	if trials == 0 || len(o.Seeds)%2 != 0 || n < 0 || n > int64(sample.rows) || int64(trials)*n != int64(sample.rows) {
		return fmt.Errorf("%d seeds and n = %d do not fit a sample of %d rows", len(o.Seeds), n, sample.rows)
	}
	revealed, err := t.revealed(o, trials)
	if err != nil {
		return err
	}
	t.n = int(n)
	t.ended = make([]bool, trials)
	t.record.trials = trials
	plugin, err := t.service.plugin(o.Setting)
	if err == nil {
		t.game, err = plugin.open(o.Setting, o.Seeds, &t.record)
	}
	if err != nil { // the same for all
		for j := range trials {
			t.end(j, err)
		}
		return nil
	}
	for j := range trials {
		if t.ctx.Err() != nil {
			break // nobody waits for the rest
		}
		t.begun.Store(uint32(j + 1))
		sample.slice(&t.sample, j*t.n, t.n)
		var queries *Data
		if revealed != nil {
			queries = &t.queries
			revealed.slice(queries, j*(revealed.rows/trials), revealed.rows/trials)
		}
		if err := t.learn(j, queries); err != nil {
			t.end(j, err)
		}
		t.done.Store(uint32(j + 1))
	}
	t.sample, t.queries = Data{}, Data{}
	return nil
}

// sampleOf is the sample of all trials; empty in the task online.
func (t *session) sampleOf(o *pluginv1.Open) (*table, error) {
	if o.GetSetting().GetTask() == pluginv1.Task_TASK_ONLINE {
		return &table{dim: 1}, nil
	}
	return t.service.places.open(o.GetSample(), true)
}

// revealed is the queries of all trials of an offline game; nil for another.
func (t *session) revealed(o *pluginv1.Open, trials int) (*table, error) {
	if !o.GetSetting().GetOffline() {
		return nil, nil
	}
	queries, err := t.service.places.open(o.GetRevealed(), false)
	if err != nil {
		return nil, fmt.Errorf("revealed: %w", err)
	}
	if per := o.GetSetting().GetQueries(); per < 1 || per > int64(queries.rows) || int64(trials)*per != int64(queries.rows) {
		return nil, fmt.Errorf("%d revealed queries are not %d for each of %d trials", queries.rows, per, trials)
	}
	return queries, nil
}

// step lets each trial answer its points.
func (t *session) step(s *pluginv1.Step) error {
	if len(s.Counts) != len(t.ended) {
		return fmt.Errorf("%d counts for %d trials", len(s.Counts), len(t.ended))
	}
	points, err := t.service.places.open(s.GetPoints(), false)
	if err != nil {
		return fmt.Errorf("points: %w", err)
	}
	total, err := rowsAsked(s, points)
	if err != nil {
		return err
	}
	if err := t.observe(s.Truths); err != nil {
		return err
	}
	if s.Play && t.online {
		t.round.keep(s, points)
	}
	if cap(t.out) < total {
		t.out = make([]float64, total)
	}
	t.out, t.marks = t.out[:total], t.marks[:0]
	fillNaN(t.out)
	if s.Play && !t.online {
		t.marks = append(t.marks, make([]byte, total)...)
	}
	at := 0
	for j, count := range s.Counts {
		c, from := int(count), at
		at += c
		if c == 0 || t.ended[j] {
			continue
		}
		if t.ctx.Err() != nil {
			break
		}
		t.begun.Store(uint32(j + 1))
		if s.Shared {
			points.slice(&t.points, int(s.FirstRow), c)
		} else {
			points.slice(&t.points, from, c)
		}
		var marks []byte
		if s.Play && !t.online {
			marks = t.marks[from:at]
		}
		if err := t.ask(j, t.out[from:at:at], marks); err != nil {
			t.end(j, err)
		}
		t.done.Store(uint32(j + 1))
	}
	return nil
}

// round is the points that were played last, copied because their memory is used again.
type round struct {
	counts []uint32
	x      []float64
	dim    int
}

func (r *round) keep(s *pluginv1.Step, points *table) {
	r.counts, r.x, r.dim = append(r.counts[:0], s.Counts...), append(r.x[:0], points.x...), points.dim
}

// observe tells the truths of the points played last to the trials that are alive.
func (t *session) observe(packed []byte) error {
	if len(packed) == 0 {
		return nil
	}
	y := make([]float64, len(packed)/8)
	for i := range y {
		y[i] = math.Float64frombits(binary.LittleEndian.Uint64(packed[8*i:]))
	}
	if r := &t.round; len(packed)%8 != 0 || len(y)*r.dim != len(r.x) || len(r.x) == 0 {
		return fmt.Errorf("%d bytes of truths do not fit the %d numbers of the points played last", len(packed), len(r.x))
	}
	at := 0
	for j, count := range t.round.counts {
		from := at
		at += int(count)
		if count == 0 || t.ended[j] {
			continue
		}
		if t.ctx.Err() != nil {
			break
		}
		d := t.round.dim
		t.points = Data{x: t.round.x[from*d : at*d : at*d], dim: d, n: int(count)}
		if err := t.tell(j, y[from:at:at]); err != nil {
			t.end(j, err)
		}
	}
	t.round.counts, t.round.x = t.round.counts[:0], t.round.x[:0]
	return nil
}

func (t *session) tell(j int, y []float64) (err error) {
	defer func() {
		if e := recovered(recover()); e != nil {
			err = e
		}
	}()
	return t.game.observe(t.ctx, j, &t.points, y)
}

// rowsAsked is the sum of the counts, checked against the table.
func rowsAsked(s *pluginv1.Step, points *table) (int, error) {
	var total, most uint64
	for _, c := range s.Counts {
		total += uint64(c)
		most = max(most, uint64(c))
	}
	rows := uint64(points.rows)
	switch {
	case total > pluginv1.MaxMessage/8:
		return 0, fmt.Errorf("%d answers do not fit a message", total)
	case s.Shared && (s.FirstRow > rows || most > rows-s.FirstRow):
		return 0, fmt.Errorf("rows %d and %d more are not in a dataset of %d", s.FirstRow, most, rows)
	case !s.Shared && total != rows:
		return 0, fmt.Errorf("%d answers are asked for %d points", total, rows)
	}
	return int(total), nil
}

func (t *session) end(j int, err error) {
	t.ended[j] = true
	t.faults = append(t.faults, fault{j, err})
}

func (t *session) learn(j int, queries *Data) (err error) {
	defer func() {
		if e := recovered(recover()); e != nil {
			err = e
		}
	}()
	return t.game.learn(t.ctx, j, &t.sample, queries)
}

// ask lets trial j answer its points: as queries of the game where there are marks to fill.
func (t *session) ask(j int, out []float64, marks []byte) (err error) {
	defer func() {
		if e := recovered(recover()); e != nil {
			err = e
		}
	}()
	if marks != nil {
		return t.game.answer(t.ctx, j, &t.points, out, marks)
	}
	return t.game.predict(t.ctx, j, &t.points, out)
}

// maxFaultText is the limit on the texts of all faults of one message, in bytes.
const maxFaultText = 256 << 10

// packFaults makes messages of faults: equal texts in a row are sent once, and all are shortened alike where they are too long.
func packFaults(faults []fault) []*pluginv1.Fault {
	if len(faults) == 0 {
		return nil
	}
	packed := make([]*pluginv1.Fault, len(faults))
	total, last := 0, ""
	for i, f := range faults {
		message := text(f.err.Error())
		if message == "" {
			message = fmt.Sprintf("an error without a text, of type %T", f.err)
		}
		packed[i] = &pluginv1.Fault{Trial: uint32(f.trial), Kind: faultKind(f.err)}
		if message != last {
			packed[i].Message = message
			total += len(message)
		}
		last = message
	}
	if total > maxFaultText {
		for _, f := range packed {
			f.Message = cut(f.Message, max(3, maxFaultText/len(packed)))
		}
	}
	return packed
}

func faultKind(err error) pluginv1.Fault_Kind {
	var panicked *thrown
	switch {
	case errors.As(err, &panicked):
		return pluginv1.Fault_KIND_PANIC
	case IsInvalid(err):
		return pluginv1.Fault_KIND_INVALID
	case IsInfeasible(err):
		return pluginv1.Fault_KIND_INFEASIBLE
	}
	return pluginv1.Fault_KIND_ERROR
}

// sender sends responses, and progress while a request is worked on.
type sender struct {
	stream grpc.ServerStreamingServer[pluginv1.SessionResponse]
	mu     sync.Mutex
	since  time.Time // when the present request came; zero between requests
}

func (s *sender) work() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = time.Now()
}

func (s *sender) send(r *pluginv1.SessionResponse) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = time.Time{}
	return s.stream.Send(r)
}

// progress reports once a second, until stop, how far a request that takes longer than that has come.
func (s *sender) progress(begun, done *atomic.Uint32) (stop func()) {
	const every = time.Second
	ticker := time.NewTicker(every)
	ctx := s.stream.Context()
	over := make(chan struct{})
	go func() {
		defer ticker.Stop()
		for {
			select {
			case <-over:
				return
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			s.mu.Lock()
			if !s.since.IsZero() && time.Since(s.since) >= every {
				// A failed send ends the stream, and with it the session.
				_ = s.stream.Send(&pluginv1.SessionResponse{Response: &pluginv1.SessionResponse_Progress{
					Progress: &pluginv1.Progress{Begun: begun.Load(), Done: done.Load()},
				}})
			}
			s.mu.Unlock()
		}
	}()
	return func() {
		close(over)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.since = time.Time{} // nothing is sent from here on
	}
}
