package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"google.golang.org/grpc"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// OpenRequest describes a session. Its sample has Setting.N rows of Setting.Problem.Dim numbers for
// each trial.
type OpenRequest struct {
	Setting *pluginv1.Setting
	Seeds   []uint64 // two words for each trial, of its PCG, high half first; at most 2*MaxTrials

	// Reveal draws the queries of all trials of an offline adversary, Setting.Queries of each, trial
	// after trial, straight into shared memory. Nil where Setting.Offline is not set.
	Reveal func(x []float64)

	// Name names trial j in the lines for Command.Output. Another goroutine may call it at any time. Nil: no names.
	Name func(j int) string
}

// Session is one job's trials inside a plugin, which advance in lock step. It is for one goroutine.
// If a method returns an *ExitError, the process is gone, and the session with it. Otherwise the
// process is free for another session after Close.
type Session struct {
	p        *Process
	stream   stream
	metrics  []*pluginv1.Metric
	messages int // number of messages, sent and received
	closed   bool
	warnings int64 // number of warnings that Close received
	warning  string

	declared []concept.Hypothesis // models by trial; nil if the model answers points
	replies
}

// replies checks the replies of a session's trials.
type replies struct {
	setting *pluginv1.Setting
	hint    func(message string) string // remedy for an error of the author's code; "": none
	trials  int
	ended   []bool    // failed trials
	rows    []int     // numbers of answered points by trial
	queries []int     // numbers of answered queries by trial
	answers []float64 // answers of the present step
	marks   []byte    // marks of these answers
}

// Open starts a session. It calls fill to draw the samples of all trials, trial after trial,
// straight into shared memory (x row-major, y labels; it must overwrite all old data), and then the plugin learns. It
// returns the faults of trials that failed there. After a *SizeError, which asks for a process with more session
// memory, or an error about the request, the process is unchanged. After an *ExitError it has ended.
func (p *Process) Open(ctx context.Context, r OpenRequest, fill func(x, y []float64)) (*Session, []Fault, error) {
	if err := r.check(); err != nil {
		return nil, nil, fmt.Errorf("open session: %w", err)
	}
	select {
	case p.session <- struct{}{}:
	default:
		return nil, nil, errors.New("open session: another one is open in this process")
	}
	trials := len(r.Seeds) / 2
	s := &Session{p: p, replies: replies{
		setting: r.Setting, hint: p.child.command.hint, trials: trials,
		ended: make([]bool, trials), rows: make([]int, trials),
		queries: make([]int, trials),
	}}
	for _, a := range p.description.Algorithms {
		if a.Name == r.Setting.Algorithm {
			s.metrics = a.Metrics
		}
	}
	sample, revealed, err := s.tables(r, fill)
	if err != nil {
		s.release()
		return nil, nil, err
	}
	p.child.tail.name(namer(s.trials, r.Name))
	const where = "learning"
	if s.stream = p.child.pipes; !p.description.Pipes {
		if s.stream, err = p.rpc.Session(p.life); err != nil {
			return nil, nil, s.broken(where, err)
		}
	}
	open := &pluginv1.Open{Setting: r.Setting, Seeds: r.Seeds, Sample: sample, Revealed: revealed}
	a, err := s.exchange(ctx, where, s.trials, &pluginv1.SessionRequest{
		Request: &pluginv1.SessionRequest_Open{Open: open},
	})
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
	bad, err := s.readDeclared(a.GetOpened().Declared)
	if err != nil {
		return nil, nil, s.broken(where, err)
	}
	return s, append(faults, bad...), nil
}

// Declared returns the hypothesis that the model of trial j is; nil if the model answers points.
func (s *Session) Declared(j int) concept.Hypothesis {
	if s.declared == nil {
		return nil
	}
	return s.declared[j]
}

// readDeclared takes over the declared hypotheses. A trial whose hypothesis is malformed fails.
func (s *Session) readDeclared(all []*pluginv1.Declared) (faults []Fault, err error) {
	if len(all) > 0 && s.setting.Queries+s.setting.Rounds > 0 {
		return nil, fmt.Errorf("it declared hypotheses in the task %s", s.setting.Task.Name())
	}
	spec := concept.SpecOf(s.setting.Problem)
	for _, d := range all {
		if s.declared == nil {
			s.declared = make([]concept.Hypothesis, s.trials)
		}
		size := 0 // bytes of a trial
		if n := len(d.Trials); n > 0 && len(d.Numbers)%(8*n) == 0 {
			size = len(d.Numbers) / n
		}
		for i, trial := range d.Trials {
			j := int(trial)
			if j >= s.trials || s.declared[j] != nil {
				return nil, fmt.Errorf("it declared the hypothesis of trial %d of %d, or declared it twice", j, s.trials)
			}
			h, err := concept.Declare(spec, d.Kind, appendFloats(nil, d.Numbers[i*size:(i+1)*size]))
			if err != nil && !s.ended[j] {
				s.ended[j] = true
				faults = append(faults, Fault{Trial: j, Kind: Answer, Message: "declared hypothesis: " + err.Error()})
			}
			s.declared[j] = h
		}
	}
	return faults, nil
}

// check returns an error if the request is not valid.
func (r *OpenRequest) check() error {
	trials, n, dim := int64(len(r.Seeds)/2), r.Setting.GetN(), int64(r.Setting.GetProblem().GetDim())
	online := r.Setting.GetTask().Rounds()
	switch {
	case online && (n != 0 || r.Setting.GetRounds() < 1):
		return fmt.Errorf("n = %d and %d rounds: an online game has rounds and no sample", n, r.Setting.GetRounds())
	case r.Setting.GetOffline() && (r.Reveal == nil || r.Setting.Queries < 1 ||
		r.Setting.Queries > math.MaxInt64/16/(dim+1)/max(1, trials)):
		return fmt.Errorf("%d queries to reveal: at least 1 is needed, and a source of them", r.Setting.Queries)
	case trials < 1 || trials > MaxTrials || len(r.Seeds)%2 != 0:
		return fmt.Errorf("%d seeds: two for each of 1 to %d trials are needed", len(r.Seeds), MaxTrials)
	case n < 1 && !online || dim < 1:
		return fmt.Errorf("n = %d and dimension %d: must be at least 1", n, dim)
	case n > math.MaxInt64/8/(dim+1)/trials:
		return fmt.Errorf("n = %d of dimension %d: too large", n, dim)
	case trials > 1 && trials*n*(dim+1)*8 > MaxSample:
		return fmt.Errorf("%d trials of n = %d and dimension %d take more than %d bytes together: open fewer at once",
			trials, n, dim, MaxSample)
	}
	return nil
}

// Close ends the session and returns the reported metrics: for each declared name one number for each trial, NaN for
// trials without it. It sends the truths of the last round of online games; nil in other tasks.
func (s *Session) Close(ctx context.Context, truths []float64) (
	metrics map[string][]float64, faults []Fault, err error,
) {
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
	s.warnings = int64(min(r.GetClosed().Warnings, maxWarnings))
	s.warning = wording.OneLine(r.GetClosed().Warning, maxWarning)
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

const (
	maxWarnings = 1 << 40 // per session, so that sums do not overflow
	maxWarning  = 300     // letters of the first one's text
)

// Warnings returns the number of the plugin's warnings during a closed session, and the text of the first one.
func (s *Session) Warnings() (count int64, first string) { return s.warnings, s.warning }

// readMetrics unpacks the metrics of a plugin and checks that they are those that it declared.
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
			return nil, fmt.Errorf("it gave %d bytes of metric %q where %s need %d",
				len(b), m.Name, wording.Count(s.trials, "trial"), 8*s.trials)
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

// exchange sends a request and returns its answer. where is the plugin's activity for messages, trials the number of
// trials in the request. The plugin may send reports of progress before the answer.
func (s *Session) exchange(ctx context.Context, where string, trials int, q *pluginv1.SessionRequest) (
	*pluginv1.SessionResponse, error,
) {
	w := s.p.watch(ctx, call{
		where: where, trials: trials, total: s.trials, limit: s.p.child.command.Trial, progress: s.p.description.Progress,
	})
	defer w.stop()
	s.messages++
	r, err := s.answer(w, q)
	if err != nil {
		return nil, s.broken(w.place(), err)
	}
	return r, nil
}

func (s *Session) answer(w *watch, q *pluginv1.SessionRequest) (*pluginv1.SessionResponse, error) {
	if err := s.stream.Send(q); err != nil && !errors.Is(err, io.EOF) { // io.EOF: Recv returns the reason
		return nil, err
	}
	r, err := s.receive(w)
	if err != nil {
		return nil, err
	}
	if f, failed := r.GetResponse().(*pluginv1.SessionResponse_Failure); failed {
		return nil, fmt.Errorf("it answered with an error: %s", limited(f.Failure))
	}
	if call, ok := s.stream.(grpc.ClientStream); ok && q.GetClose() != nil {
		_ = call.CloseSend()
		if extra, err := s.receive(w); !errors.Is(err, io.EOF) {
			return nil, cmp.Or(err, unexpected(extra, "the end"))
		}
	}
	return r, nil
}

// receive returns the next message that is no report of progress.
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
		if err := w.report(t.Begun, t.Done); err != nil {
			return nil, err
		}
	}
}

// broken ends the session and the process.
func (s *Session) broken(where string, err error) error {
	s.release()
	return s.p.explain(err, where)
}

// release makes the process free for another session.
func (s *Session) release() {
	if !s.closed {
		s.closed = true
		<-s.p.session
	}
}

// namer returns a function for the prefix of lines that the plugin prints during the session: the trial, or the first
// and the last trial, because the plugin may have advanced since it printed the line.
func namer(trials int, name func(int) string) func() string {
	return func() string {
		switch {
		case name == nil:
			return ""
		case trials == 1:
			return fmt.Sprintf("[%s] ", name(0))
		}
		return fmt.Sprintf("[%s to %s] ", name(0), name(trials-1))
	}
}

// unexpected describes an answer of the wrong kind.
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

// kinds maps kinds of the protocol to a Kind.
var kinds = map[pluginv1.Fault_Kind]Kind{
	pluginv1.Fault_KIND_ERROR: Error, pluginv1.Fault_KIND_PANIC: Panic,
	pluginv1.Fault_KIND_INVALID: Invalid, pluginv1.Fault_KIND_INFEASIBLE: Infeasible,
}

// faults decodes the plugin's faults. A second fault of a trial is dropped. A fault without a message has that of the
// fault before it.
func (s *replies) faults(packed []*pluginv1.Fault) (faults []Fault, err error) {
	message := ""
	for _, f := range packed {
		j, kind := int(f.Trial), kinds[f.Kind]
		if j >= s.trials || kind == "" {
			return nil, fmt.Errorf("it reported a fault of kind %d in trial %d of %d", f.Kind, j, s.trials)
		}
		if f.Message != "" {
			message = limited(f.Message)
			if kind == Panic || kind == Error {
				message += s.hint(message)
			}
		}
		if !s.ended[j] {
			s.ended[j] = true
			faults = append(faults, Fault{Trial: j, Kind: kind, Message: message})
		}
	}
	return faults, nil
}
