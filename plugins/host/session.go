package host

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"unsafe"

	"google.golang.org/grpc"

	"github.com/shatterlab/shatter/pipeline/dataset"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// OpenRequest is what a session is made of. Its sample has Setting.N rows of Setting.Problem.Dim numbers for each trial.
type OpenRequest struct {
	Setting *pluginv1.Setting
	Seeds   []uint64 // two words per trial, of its PCG, high half first; at most 2*MaxTrials

	// Reveal draws the queries of all trials of an offline game, Setting.Queries of each, trial after trial, straight into shared memory.
	// Nil where Setting.Offline is not set.
	Reveal func(x []float64)
}

// Session is one job's trials inside a plugin, advancing in lock step. It is for one goroutine. An *ExitError of a method says that the
// process is gone, and the session with it; otherwise the process is free for another session after Close.
type Session struct {
	p        *Process
	stream   grpc.BidiStreamingClient[pluginv1.SessionRequest, pluginv1.SessionResponse]
	metrics  []*pluginv1.Metric
	trials   int
	dim      int
	online   bool
	ended    []bool
	rows     []int // rows that each trial has answered
	queries  []int // queries that each trial has answered
	answers  []float64
	marks    []byte // of the answers, where they are to queries
	messages int
	closed   bool
}

// Open starts a session: fill draws the samples of all trials, trial after trial, straight into shared memory (x row-major, y labels;
// both hold old data before and must be filled wholly), then the plugin learns. The faults are of trials that ended there. A
// *SizeError says that a process with more session memory is needed, and leaves this one as it is; so does an error about the
// request. An *ExitError says that the process is gone.
func (p *Process) Open(ctx context.Context, r OpenRequest, fill func(x, y []float64)) (*Session, []Fault, error) {
	if err := p.checkOpen(r); err != nil {
		return nil, nil, fmt.Errorf("open session: %w", err)
	}
	select {
	case p.session <- struct{}{}:
	default:
		return nil, nil, errors.New("open session: another one is open in this process")
	}
	s := &Session{
		p: p, trials: len(r.Seeds) / 2, dim: int(r.Setting.Problem.Dim),
		online: r.Setting.Task == pluginv1.Task_TASK_ONLINE,
	}
	s.ended, s.rows, s.queries = make([]bool, s.trials), make([]int, s.trials), make([]int, s.trials)
	for _, a := range p.description.Algorithms {
		if a.Name == r.Setting.Algorithm {
			s.metrics = a.Metrics
		}
	}
	sample, revealed, err := p.tables(r, s, fill)
	if err != nil {
		s.release()
		return nil, nil, err
	}
	const where = "learning"
	if s.stream, err = p.rpc.Session(p.life); err != nil {
		s.release()
		return nil, nil, p.explain(err, where)
	}
	a, err := s.exchange(ctx, where, s.trials, &pluginv1.SessionRequest{Request: &pluginv1.SessionRequest_Open{
		Open: &pluginv1.Open{Setting: r.Setting, Seeds: r.Seeds, Sample: sample, Revealed: revealed},
	}})
	if err != nil {
		return nil, nil, err
	}
	if a.GetOpened() == nil {
		return nil, nil, s.broken(where, unexpected(a, "opened"))
	}
	faults, err := s.faults(a.GetOpened().Faults)
	if err != nil {
		return nil, nil, s.broken(where, err)
	}
	return s, faults, nil
}

func (p *Process) checkOpen(r OpenRequest) error {
	trials, n, dim := int64(len(r.Seeds)/2), r.Setting.GetN(), int64(r.Setting.GetProblem().GetDim())
	online := r.Setting.GetTask() == pluginv1.Task_TASK_ONLINE
	switch {
	case online && (n != 0 || r.Setting.GetRounds() < 1):
		return fmt.Errorf("n = %d and %d rounds: an online game has rounds and no sample", n, r.Setting.GetRounds())
	case r.Setting.GetOffline() && (r.Setting.Queries < 1 || r.Setting.Queries > math.MaxInt64/16/(dim+1)/max(1, trials) || r.Reveal == nil):
		return fmt.Errorf("%d queries to reveal: at least 1 is needed, and a source of them", r.Setting.Queries)
	case trials < 1 || trials > MaxTrials || len(r.Seeds)%2 != 0:
		return fmt.Errorf("%d seeds: two for each of 1 to %d trials are needed", len(r.Seeds), MaxTrials)
	case n < 1 && !online || dim < 1:
		return fmt.Errorf("n = %d and dimension %d: must be at least 1", n, dim)
	case n > math.MaxInt64/8/(dim+1)/trials:
		return fmt.Errorf("n = %d of dimension %d: too large", n, dim)
	case trials > 1 && trials*n*(dim+1)*8 > MaxSample:
		return fmt.Errorf("%d trials of n = %d and dimension %d take more than %d bytes together: open fewer at once", trials, n, dim, MaxSample)
	}
	return nil
}

// tables lays out the sample of a session and, where there are some, its revealed queries.
func (p *Process) tables(r OpenRequest, s *Session, fill func(x, y []float64)) (sample, revealed *pluginv1.Table, err error) {
	if r.Setting.Task == pluginv1.Task_TASK_ONLINE {
		return nil, nil, nil
	}
	samples, queries := s.trials*int(r.Setting.N), s.trials*int(r.Setting.Queries)
	sample, err = p.fill(0, samples, s.dim, true, fill)
	if !r.Setting.Offline {
		return sample, nil, err
	}
	var small *SizeError
	if errors.As(err, &small) { // a process that holds the sample shall hold the queries too
		l, err := layOut(queries, s.dim, false)
		if err != nil {
			return nil, nil, err
		}
		return nil, nil, &SizeError{Need: int64(aligned(uint64(small.Need))) + int64(l.Size()), Have: small.Have}
	}
	if err != nil {
		return nil, nil, err
	}
	revealed, err = p.fill(aligned(sample.Length), queries, s.dim, false, func(x, _ []float64) { r.Reveal(x) })
	return sample, revealed, err
}

// aligned is the first offset from a given one on at which a table may lie.
func aligned(offset uint64) uint64 { return (offset + 63) / 64 * 64 }

// layOut is the layout of a table of points, with labels or without.
func layOut(rows, dim int, labelled bool) (*dataset.Layout, error) {
	s := dataset.Schema{Columns: []dataset.Column{{Name: "x", Type: dataset.List, Width: dim}}}
	if labelled {
		s.Columns = append(s.Columns, dataset.Column{Name: "y", Type: dataset.Float64})
	}
	l, err := dataset.Plan(s, rows, nil)
	if err != nil {
		return nil, fmt.Errorf("lay out %d rows: %w", rows, err)
	}
	return l, nil
}

// fill lays a table out in the session's memory, from an offset on, and lets the caller fill it.
func (p *Process) fill(offset uint64, rows, dim int, labelled bool, fill func(x, y []float64)) (*pluginv1.Table, error) {
	l, err := layOut(rows, dim, labelled)
	if err != nil {
		return nil, err
	}
	p.memUse.RLock()
	defer p.memUse.RUnlock()
	b := p.memory.Bytes()
	if b == nil {
		return nil, p.child.gone("idle")
	}
	if need := int64(offset) + int64(l.Size()); need > int64(len(b)) {
		return nil, &SizeError{Need: need, Have: int64(len(b))}
	}
	b = b[offset:]
	l.Init(b)
	t := &pluginv1.Table{
		Place: pluginv1.Table_PLACE_SESSION, Offset: offset, Length: uint64(l.Size()), Rows: uint64(rows), Dim: uint32(dim), XAt: l.At(0),
	}
	if !labelled {
		fill(l.List(b, 0), nil)
		return t, nil
	}
	t.YAt = l.At(1)
	fill(l.List(b, 0), l.Float64(b, 1))
	return t, nil
}

// sharedPoints is where the points of a dataset lie.
func sharedPoints(b []byte) (*pluginv1.Table, error) {
	t, err := dataset.Decode(b)
	if err != nil {
		return nil, err
	}
	x, dim, err := t.List("x")
	if err != nil {
		return nil, err
	}
	if t.Rows() == 0 {
		return nil, errors.New("it has no rows")
	}
	return &pluginv1.Table{
		Place: pluginv1.Table_PLACE_DATASET, Length: uint64(len(b)), Rows: uint64(t.Rows()), Dim: uint32(dim),
		XAt: uint64(uintptr(unsafe.Pointer(&x[0])) - uintptr(unsafe.Pointer(&b[0]))), // x is a view into b
	}, nil
}

// Step asks each trial j for answers to its next counts[j] points. fill is called once or more, in order, with room for the next
// points (row-major, trial after trial). The answers, of len sum(counts), are valid until the next call; a trial with one that is
// NaN or outside [-1, 1] gets a fault. Counts of trials that ended should be 0: their answers mean nothing. A *SizeError leaves the
// session as it is.
func (s *Session) Step(ctx context.Context, counts []uint32, fill func(x []float64)) (answers []float64, faults []Fault, err error) {
	return s.put(ctx, counts, fill, false)
}

// Play is Step on the next queries of the game, for the task predict: the answers are labels, and marks, one for each answer, are 1 where the
// query was marked as hard. A trial with an answer that is neither -1 nor +1 gets a fault.
func (s *Session) Play(ctx context.Context, counts []uint32, fill func(x []float64)) (labels []float64, marks []byte, faults []Fault, err error) {
	labels, faults, err = s.put(ctx, counts, fill, true)
	return labels, s.marks, faults, err
}

// put asks about points that come from fill.
func (s *Session) put(ctx context.Context, counts []uint32, fill func(x []float64), play bool) ([]float64, []Fault, error) {
	limit := min(MaxAnswers, max(1, MaxPoints/(8*s.dim)))
	return s.step(ctx, counts, limit, func(c *piece) (*pluginv1.Step, error) {
		points, err := s.p.fill(0, c.rows, s.dim, false, func(x, _ []float64) { fill(x) })
		return &pluginv1.Step{Counts: c.counts, Points: points, Play: play}, err
	})
}

// Round is Step on the next points of online games, at most one of each trial; truths are the labels of the points of the round before, for
// the trials that had one, in order: nil in the first round. Close takes those of the last round.
func (s *Session) Round(ctx context.Context, counts []uint32, truths []float64, fill func(x []float64)) (answers []float64, faults []Fault, err error) {
	rows := 0
	for _, c := range counts {
		rows += int(c)
	}
	if limit := min(MaxAnswers, max(1, MaxPoints/(8*s.dim))); rows > limit {
		return nil, nil, fmt.Errorf("play a round of %d games: at most %d fit a message", rows, limit)
	}
	return s.step(ctx, counts, max(1, rows), func(c *piece) (*pluginv1.Step, error) {
		points, err := s.p.fill(0, c.rows, s.dim, false, func(x, _ []float64) { fill(x) })
		return &pluginv1.Step{Counts: c.counts, Points: points, Play: true, Truths: packed(truths)}, err
	})
}

// packed is v as little-endian bytes.
func packed(v []float64) []byte {
	b := make([]byte, 0, 8*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

// StepShared is Step on rows first..first+counts[j]-1 of the shared dataset, the same rows for all trials.
func (s *Session) StepShared(ctx context.Context, counts []uint32, first uint64) (answers []float64, faults []Fault, err error) {
	points := s.p.points
	if points == nil || int(points.Dim) != s.dim {
		return nil, nil, fmt.Errorf("step: the process has no dataset of dimension %d", s.dim)
	}
	for _, count := range counts {
		if first > points.Rows || uint64(count) > points.Rows-first {
			return nil, nil, fmt.Errorf("step: rows %d and %d more are not in a dataset of %d", first, count, points.Rows)
		}
	}
	return s.step(ctx, counts, MaxAnswers, func(c *piece) (*pluginv1.Step, error) {
		return &pluginv1.Step{Counts: c.counts, Points: points, Shared: true, FirstRow: first + uint64(c.offset)}, nil
	})
}

// step asks in pieces of at most limit rows.
func (s *Session) step(ctx context.Context, counts []uint32, limit int, make func(*piece) (*pluginv1.Step, error)) ([]float64, []Fault, error) {
	if s.closed || len(counts) != s.trials {
		return nil, nil, fmt.Errorf("step: %d counts for %d trials of a session (closed: %v)", len(counts), s.trials, s.closed)
	}
	var faults []Fault
	s.answers, s.marks = s.answers[:0], s.marks[:0]
	for c := cut(counts, limit); c.next(); {
		q, err := make(c)
		if err != nil {
			return nil, nil, err
		}
		found, err := s.ask(ctx, q, c)
		if err != nil {
			return nil, nil, err
		}
		faults = append(faults, found...)
	}
	return s.answers, faults, nil
}

// ask sends one piece of a step and appends its answers.
func (s *Session) ask(ctx context.Context, q *pluginv1.Step, c *piece) ([]Fault, error) {
	const where = "answering"
	r, err := s.exchange(ctx, where, c.trials, &pluginv1.SessionRequest{Request: &pluginv1.SessionRequest_Step{Step: q}})
	if err != nil {
		return nil, err
	}
	a := r.GetAnswers()
	if a == nil {
		return nil, s.broken(where, unexpected(r, "answers"))
	}
	if len(a.Values) != 8*c.rows {
		return nil, s.broken(where, fmt.Errorf("it gave %d bytes of answers where %d points need %d", len(a.Values), c.rows, 8*c.rows))
	}
	queries := q.Play && !s.online
	if queries && len(a.Marks) != c.rows {
		return nil, s.broken(where, fmt.Errorf("it gave %d marks of %d queries", len(a.Marks), c.rows))
	}
	faults, err := s.faults(a.Faults)
	if err != nil {
		return nil, s.broken(where, err)
	}
	from := len(s.answers)
	s.answers = appendFloats(s.answers, a.Values)
	if queries {
		s.marks = append(s.marks, a.Marks...)
	}
	return append(faults, s.check(s.answers[from:], c, queries)...), nil
}

// check finds the trials of a piece that gave an answer which is none.
func (s *Session) check(answers []float64, c *piece, play bool) (faults []Fault) {
	at, done := 0, s.rows
	if play {
		done = s.queries
	}
	for j := c.from; j < c.to; j++ {
		for i, a := range answers[at : at+int(c.counts[j])] {
			if s.ended[j] {
				continue
			}
			var message string
			switch {
			case !(a >= -1 && a <= 1):
				message = badAnswer(a, done[j]+i)
			case play && a != -1 && a != 1:
				message = fmt.Sprintf("the answer to query %d is %v, neither -1 nor +1", done[j]+i, a)
			default:
				continue
			}
			s.ended[j] = true
			faults = append(faults, Fault{Trial: j, Kind: Answer, Message: message})
		}
		at += int(c.counts[j])
		done[j] += int(c.counts[j])
	}
	return faults
}

func badAnswer(a float64, row int) string {
	if math.IsNaN(a) {
		return fmt.Sprintf("the answer in row %d is not a number, or was not filled", row)
	}
	return fmt.Sprintf("the answer in row %d is %v, outside [-1, 1]", row, a)
}

// Close ends the session and gives the reported metrics: for each declared name one number per trial, NaN where none was reported.
func (s *Session) Close(ctx context.Context) (metrics map[string][]float64, faults []Fault, err error) {
	return s.CloseRound(ctx, nil)
}

// CloseRound is Close with the truths of the last round of online games.
func (s *Session) CloseRound(ctx context.Context, truths []float64) (metrics map[string][]float64, faults []Fault, err error) {
	if s.closed {
		return nil, nil, errors.New("close session: it is closed already")
	}
	const where = "closing a session"
	r, err := s.exchange(ctx, where, max(1, len(truths)), &pluginv1.SessionRequest{Request: &pluginv1.SessionRequest_Close{
		Close: &pluginv1.Close{Truths: packed(truths)},
	}})
	if err != nil {
		return nil, nil, err
	}
	if r.GetClosed() == nil {
		return nil, nil, s.broken(where, unexpected(r, "closed"))
	}
	if metrics, err = s.readMetrics(r.GetClosed().Metrics); err != nil {
		return nil, nil, s.broken(where, err)
	}
	if faults, err = s.faults(r.GetClosed().Faults); err != nil {
		return nil, nil, s.broken(where, err)
	}
	for _, m := range s.metrics {
		for j, v := range metrics[m.Name] {
			if math.IsInf(v, 0) && !s.ended[j] {
				s.ended[j] = true
				faults = append(faults, Fault{Trial: j, Kind: Error, Message: fmt.Sprintf("metric %q is %v", m.Name, v)})
			}
		}
	}
	s.release()
	return metrics, faults, nil
}

func (s *Session) readMetrics(packed map[string][]byte) (map[string][]float64, error) {
	metrics := make(map[string][]float64, len(s.metrics))
	for _, m := range s.metrics {
		b, ok := packed[m.Name]
		delete(packed, m.Name)
		if !ok {
			metrics[m.Name] = notReported(s.trials)
			continue
		}
		if len(b) != 8*s.trials {
			return nil, fmt.Errorf("it gave %d bytes of metric %q where %s need %d", len(b), m.Name, plural(s.trials, "trial"), 8*s.trials)
		}
		metrics[m.Name] = appendFloats(nil, b)
	}
	for name := range packed {
		return nil, fmt.Errorf("it gave metric %s, which it did not declare", shorten(name))
	}
	return metrics, nil
}

func notReported(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.NaN()
	}
	return v
}

// Messages is the number of messages sent and received so far.
func (s *Session) Messages() int { return s.messages }

// exchange sends a request, and gives its answer; on the way there may be reports of progress. trials is how many the plugin works on.
func (s *Session) exchange(ctx context.Context, where string, trials int, q *pluginv1.SessionRequest) (*pluginv1.SessionResponse, error) {
	w := s.p.watch(ctx, &watch{
		where: where, trials: trials, total: s.trials, limit: s.p.child.command.Trial, progress: s.p.description.Progress,
	})
	defer w.stop()
	s.messages++
	if err := s.stream.Send(q); err != nil && !errors.Is(err, io.EOF) { // at io.EOF the reason is to be received
		return nil, s.broken(where, err)
	}
	r, err := s.receive(w)
	if err != nil {
		return nil, s.broken(w.place(), err)
	}
	if q.GetClose() == nil {
		return r, nil
	}
	_ = s.stream.CloseSend()
	if extra, err := s.receive(w); !errors.Is(err, io.EOF) {
		if err == nil {
			err = unexpected(extra, "the end")
		}
		return nil, s.broken(where, err)
	}
	return r, nil
}

func (s *Session) receive(w *watch) (*pluginv1.SessionResponse, error) {
	for {
		r, err := s.stream.Recv()
		if err != nil {
			return nil, err
		}
		s.messages++
		t := r.GetProgress()
		if t == nil {
			return r, nil
		}
		if err := w.tell(t.Begun, t.Done); err != nil {
			return nil, err
		}
	}
}

// broken ends the session, and the process with it.
func (s *Session) broken(where string, err error) error {
	s.release()
	return s.p.explain(err, where)
}

func (s *Session) release() {
	if !s.closed {
		s.closed = true
		<-s.p.session
	}
}

func unexpected(r *pluginv1.SessionResponse, want string) error {
	got := "nothing"
	switch r.GetResponse().(type) {
	case *pluginv1.SessionResponse_Opened:
		got = "opened"
	case *pluginv1.SessionResponse_Answers:
		got = "answers"
	case *pluginv1.SessionResponse_Closed:
		got = "closed"
	}
	return fmt.Errorf("it sent %q where %q was due", got, want)
}

var kinds = map[pluginv1.Fault_Kind]Kind{
	pluginv1.Fault_KIND_ERROR: Error, pluginv1.Fault_KIND_PANIC: Panic,
	pluginv1.Fault_KIND_INVALID: Invalid, pluginv1.Fault_KIND_INFEASIBLE: Infeasible,
}

// faults reads the plugin's faults. A second one of the same trial is dropped.
func (s *Session) faults(packed []*pluginv1.Fault) (faults []Fault, err error) {
	message := ""
	for _, f := range packed {
		j, kind := int(f.Trial), kinds[f.Kind]
		if j >= s.trials || kind == "" {
			return nil, fmt.Errorf("it reported a fault of kind %d in trial %d of %d", f.Kind, j, s.trials)
		}
		if f.Message != "" {
			message = limited(f.Message)
		}
		if !s.ended[j] {
			s.ended[j] = true
			faults = append(faults, Fault{Trial: j, Kind: kind, Message: message})
		}
	}
	return faults, nil
}

// appendFloats appends packed little-endian numbers.
func appendFloats(to []float64, packed []byte) []float64 {
	from := len(to)
	to = slices.Grow(to, len(packed)/8)[:from+len(packed)/8]
	for i := range to[from:] {
		to[from+i] = math.Float64frombits(binary.LittleEndian.Uint64(packed[8*i:]))
	}
	return to
}

// piece is a part of a step that fits one message: some trials as a whole, or a part of a single one.
type piece struct {
	all   []uint32
	limit int
	trial int // the next to be asked
	given int // its rows that earlier pieces had

	counts   []uint32 // of this piece
	from, to int      // the trials with points lie in from..to-1
	trials   int      // how many they are
	rows     int
	offset   int // rows of the single trial that earlier pieces had
}

// cut cuts a step into pieces of at most limit rows: call next before each.
func cut(counts []uint32, limit int) *piece {
	return &piece{all: counts, limit: limit, counts: make([]uint32, len(counts))}
}

// next goes to the next piece, if there is one.
func (c *piece) next() bool {
	clear(c.counts[c.from:c.to])
	c.from, c.offset, c.rows, c.trials = c.trial, c.given, 0, 0
	for c.trial < len(c.all) {
		left := int(c.all[c.trial]) - c.given
		if c.rows > 0 && c.rows+left > c.limit {
			break
		}
		part := min(left, c.limit)
		c.counts[c.trial] = uint32(part)
		c.rows += part
		if part > 0 {
			c.trials++
		}
		if part < left { // a part, alone
			c.to = c.trial + 1
			c.given += part
			return true
		}
		last := c.given > 0 // the end of a trial that was cut, alone too
		c.trial, c.given = c.trial+1, 0
		if last {
			break
		}
	}
	c.to = c.trial
	return c.rows > 0
}
