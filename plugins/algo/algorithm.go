package algo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

var algorithmName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*/[a-z0-9]+(-[a-z0-9]+)*$`)

// maxMetrics keeps the metrics of the largest session inside one message.
const maxMetrics = 16

func (a Algorithm[P]) describe() (*pluginv1.Algorithm, error) {
	if !algorithmName.MatchString(a.Name) {
		return nil, fmt.Errorf("algorithm %q: the name must be family/name, of lower case letters, digits and hyphens", a.Name)
	}
	d, err := a.describeAll()
	if err != nil {
		return nil, fmt.Errorf("algorithm %q: %w", a.Name, err)
	}
	return d, nil
}

func (a Algorithm[P]) describeAll() (*pluginv1.Algorithm, error) {
	if a.Version == "" {
		return nil, errors.New("no Version is set")
	}
	tasks := a.tasks()
	if len(tasks) == 0 {
		return nil, errors.New("none of Learn, Predict and Online is set, so there is nothing that it can do")
	}
	ps, err := parametersOf(reflect.TypeFor[P]())
	if err != nil {
		return nil, err
	}
	described, err := ps.describe(reflect.ValueOf(a.Defaults))
	if err != nil {
		return nil, err
	}
	metrics, err := a.describeMetrics()
	if err != nil {
		return nil, err
	}
	return &pluginv1.Algorithm{
		Name: a.Name, Version: text(a.Version), Doc: text(a.Doc), Tasks: tasks,
		Parameters: described, Metrics: metrics, Private: a.Guarantee != nil,
	}, nil
}

func (a Algorithm[P]) tasks() (tasks []pluginv1.Task) {
	if a.Learn != nil {
		tasks = append(tasks, pluginv1.Task_TASK_LEARN)
	}
	if a.Predict != nil {
		tasks = append(tasks, pluginv1.Task_TASK_PREDICT)
	}
	if a.Online != nil {
		tasks = append(tasks, pluginv1.Task_TASK_ONLINE)
	}
	return tasks
}

func (a Algorithm[P]) describeMetrics() ([]*pluginv1.Metric, error) {
	if len(a.Metrics) > maxMetrics {
		return nil, fmt.Errorf("%d metrics: at most %d are possible", len(a.Metrics), maxMetrics)
	}
	var metrics []*pluginv1.Metric
	for _, name := range slices.Sorted(maps.Keys(a.Metrics)) {
		if !parameterName.MatchString(name) {
			return nil, fmt.Errorf("metric %q: use lower case letters, digits and underscores", name)
		}
		metrics = append(metrics, &pluginv1.Metric{Name: name, Doc: text(a.Metrics[name])})
	}
	return metrics, nil
}

// setting reads a setting off the wire, with the author's Check: its parameters are resolved.
func (a Algorithm[P]) setting(w *pluginv1.Setting) (*Setting[P], error) {
	p := w.GetProblem()
	s := &Setting[P]{
		Params: a.Defaults,
		Problem: Problem{
			Class: p.GetClass(), Domain: p.GetDomain(), Dim: int(p.GetDim()), Margin: p.GetMargin(),
			Noise: p.GetNoise(), NoiseRate: p.GetNoiseRate(),
			NoConstant: p.GetNoConstant(), Realizable: p.GetRealizable(), RealData: p.GetRealData(), Matrix: p.GetMatrix(),
		},
		N: int(w.GetN()), Alpha: w.GetAlpha(), Beta: w.GetBeta(), Epsilon: w.GetEpsilon(), Delta: w.GetDelta(),
		Queries: int(w.GetQueries()), Offline: w.GetOffline(), Rounds: int(w.GetRounds()),
	}
	s.Task = Task(strings.ToLower(strings.TrimPrefix(w.GetTask().String(), "TASK_")))
	if !slices.Contains(a.tasks(), w.GetTask()) {
		return nil, Invalid("%s does not do the task %q", a.Name, s.Task)
	}
	ps, err := parametersOf(reflect.TypeFor[P]())
	if err != nil {
		return nil, err
	}
	if err := ps.set(reflect.ValueOf(&s.Params).Elem(), w.GetParameters()); err != nil {
		return nil, err
	}
	if a.Check == nil {
		return s, nil
	}
	return s, a.Check(s)
}

func (a Algorithm[P]) check(w *pluginv1.Setting) (r *pluginv1.CheckResponse) {
	defer func() {
		if err := recovered(recover()); err != nil {
			r = &pluginv1.CheckResponse{Refusal: refusalOf(err)}
		}
	}()
	s, err := a.setting(w)
	if err != nil {
		return &pluginv1.CheckResponse{Refusal: refusalOf(err)}
	}
	g, err := a.guarantee(s)
	if err != nil {
		return &pluginv1.CheckResponse{Refusal: refusalOf(err)}
	}
	ps, _ := parametersOf(reflect.TypeFor[P]())
	return &pluginv1.CheckResponse{Parameters: ps.values(reflect.ValueOf(s.Params)), Guarantee: g}
}

func (a Algorithm[P]) guarantee(s *Setting[P]) (*pluginv1.Guarantee, error) {
	if a.Guarantee == nil {
		return nil, nil
	}
	g, err := a.Guarantee(s)
	if err != nil {
		return nil, fmt.Errorf("guarantee: %w", err)
	}
	return &pluginv1.Guarantee{Pure: g.Pure, Epsilon: g.Epsilon, Delta: g.Delta, Rho: g.Rho, Source: text(g.Source), Uncertified: g.Uncertified}, nil
}

func (a Algorithm[P]) bound(w *pluginv1.Setting) (r *pluginv1.BoundResponse) {
	defer func() {
		if err := recovered(recover()); err != nil {
			r = &pluginv1.BoundResponse{Refusal: refusalOf(err)}
		}
	}()
	if a.Bound == nil {
		return &pluginv1.BoundResponse{}
	}
	s, err := a.setting(w)
	if err != nil {
		return &pluginv1.BoundResponse{Refusal: refusalOf(err)}
	}
	bounds, err := a.Bound(s)
	if err != nil {
		return &pluginv1.BoundResponse{Refusal: refusalOf(fmt.Errorf("bound: %w", err))}
	}
	r = &pluginv1.BoundResponse{}
	for _, b := range bounds {
		if math.IsNaN(b.Value) {
			return &pluginv1.BoundResponse{Refusal: refusalOf(fmt.Errorf("bound %q is not a number", b.Name))}
		}
		r.Bounds = append(r.Bounds, &pluginv1.Bound{
			Name: text(b.Name), Source: text(b.Source), Value: b.Value, Proved: b.Proved, With: b.With,
		})
	}
	return r
}

// game is the trials of one session. Trial j is learned once, and may then answer queries and predict until it has ended.
type game interface {
	learn(ctx context.Context, j int, sample, revealed *Data) error
	answer(ctx context.Context, j int, x *Data, out []float64, marks []byte) error
	observe(ctx context.Context, j int, x *Data, y []float64) error
	predict(ctx context.Context, j int, x *Data, out []float64) error
}

func (a Algorithm[P]) open(w *pluginv1.Setting, seeds []uint64, r *record) (g game, err error) {
	defer func() {
		if e := recovered(recover()); e != nil {
			err = e
		}
	}()
	s, err := a.setting(w)
	if err != nil {
		return nil, err
	}
	r.names = slices.Sorted(maps.Keys(a.Metrics))
	return &trials[P]{algorithm: a, setting: *s, seeds: seeds, lanes: make([]lane[P], len(seeds)/2), record: r}, nil
}

// trials is the trials of a session. Everything that they need is made in one piece: a trial costs no allocation.
type trials[P any] struct {
	algorithm Algorithm[P]
	setting   Setting[P]
	seeds     []uint64
	lanes     []lane[P]
	record    *record
}

type lane[P any] struct {
	trial    Trial[P]
	rand     rand.Rand
	pcg      rand.PCG
	model    Model
	answerer Answerer // the model, in the task predict
	learner  Learner  // the model, in the task online
}

func (g *trials[P]) learn(ctx context.Context, j int, sample, revealed *Data) (err error) {
	l := &g.lanes[j]
	l.pcg.Seed(g.seeds[2*j], g.seeds[2*j+1])
	l.rand = *rand.New(&l.pcg)
	l.trial = Trial[P]{Setting: g.setting, Rand: &l.rand, Revealed: revealed, record: g.record, index: j}
	switch g.setting.Task {
	case Predict:
		if l.answerer, err = g.algorithm.Predict(ctx, &l.trial, sample); err == nil && l.answerer != nil {
			l.model = l.answerer
		}
	case Online:
		if l.learner, err = g.algorithm.Online(ctx, &l.trial); err == nil && l.learner != nil {
			l.model = l.learner
		}
	default:
		l.model, err = g.algorithm.Learn(ctx, &l.trial, sample)
	}
	l.trial.Revealed = nil
	if err != nil {
		return err
	}
	if l.model == nil {
		return fmt.Errorf("no model and no error came from the algorithm's %s function", g.setting.Task)
	}
	return g.record.take()
}

// answer puts the queries x to trial j, one by one.
func (g *trials[P]) answer(ctx context.Context, j int, x *Data, out []float64, marks []byte) error {
	answerer := g.lanes[j].answerer
	if answerer == nil {
		return fmt.Errorf("the task %s has no queries", g.setting.Task)
	}
	for i := range out {
		label, hard, err := answerer.Answer(ctx, x.X(i))
		if err != nil {
			return err
		}
		out[i] = label
		if hard {
			marks[i] = 1
		}
	}
	return g.record.take()
}

// observe tells trial j the truths of the points it played last.
func (g *trials[P]) observe(ctx context.Context, j int, x *Data, y []float64) error {
	learner := g.lanes[j].learner
	if learner == nil {
		return fmt.Errorf("the task %s has no truths", g.setting.Task)
	}
	if err := learner.Observe(ctx, x, y); err != nil {
		return err
	}
	return g.record.take()
}

func (g *trials[P]) predict(ctx context.Context, j int, x *Data, out []float64) error {
	if err := g.lanes[j].model.Predict(ctx, x, out); err != nil {
		return err
	}
	return g.record.take()
}

// thrown is a recovered panic.
type thrown struct {
	value any
	stack []byte
}

func (t *thrown) Error() string {
	what := fmt.Sprintf("panic: %v", t.value)
	if e, ok := t.value.(interface{ Addr() uintptr }); ok { // a memory fault
		what = fmt.Sprintf("panic: bad access to memory at %#x (samples and points are read-only)", e.Addr())
	}
	return what + "\n\n" + string(t.stack)
}

// recovered turns what recover gave into an error; nil for nil.
func recovered(value any) error {
	if value == nil {
		return nil
	}
	return &thrown{value: value, stack: authorStack(debug.Stack())}
}

// authorStack is the frames of the author's code: those of the recovery come before them, those that called it after.
func authorStack(stack []byte) []byte {
	lines := strings.Split(strings.TrimSpace(string(stack)), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "panic(") && i+2 < len(lines) {
			lines = lines[i+2:]
			break
		}
	}
	for i, line := range lines {
		if strings.Contains(line, "shatter/plugins/algo.(*trials[") || strings.Contains(line, "shatter/plugins/algo.Algorithm[") {
			lines = lines[:i]
			break
		}
	}
	return []byte(strings.Join(lines, "\n"))
}

func refusalOf(err error) *pluginv1.Refusal {
	r := &pluginv1.Refusal{Kind: pluginv1.Refusal_KIND_ERROR, Message: text(err.Error())}
	switch {
	case IsInvalid(err):
		r.Kind = pluginv1.Refusal_KIND_INVALID
	case IsInfeasible(err):
		r.Kind = pluginv1.Refusal_KIND_INFEASIBLE
	}
	return r
}

// maxText is the limit on a text that goes to the host, in bytes.
const maxText = 4096

func text(s string) string { return cut(s, maxText) }

// cut makes s at most limit bytes of valid UTF-8, as the protocol needs; limit is at least 3.
func cut(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit-3] + "..."
	}
	return strings.ToValidUTF8(s, "?")
}
