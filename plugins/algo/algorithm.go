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
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/shatterlab/shatter/pipeline/theory"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

var algorithmName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*/[a-z0-9]+(-[a-z0-9]+)*$`)

// Describe returns the description of an algorithm that Serve sends to a host, or an error if the
// algorithm is not valid.
func Describe(p Plugin) (*pluginv1.Algorithm, error) { return p.describe() }

func (a Algorithm[P]) describe() (*pluginv1.Algorithm, error) {
	d := &pluginv1.Algorithm{
		Name: a.Name, Version: text(a.Version), Doc: text(a.Doc), Tasks: a.tasks(), Private: a.Guarantee != nil,
	}
	for _, name := range slices.Sorted(maps.Keys(a.Metrics)) {
		d.Metrics = append(d.Metrics, &pluginv1.Metric{Name: name, Doc: text(a.Metrics[name])})
	}
	if err := describe[P](d, a.Defaults); err != nil {
		return nil, fmt.Errorf("algorithm %q: %w", a.Name, err)
	}
	return d, nil
}

// describe completes a description with the parameters, and checks it.
func describe[P any](d *pluginv1.Algorithm, defaults P) error {
	ps, err := parametersOf(reflect.TypeFor[P]())
	if err != nil {
		return err
	}
	d.Parameters = ps.describe(reflect.ValueOf(defaults))
	return CheckDescription(d)
}

// maxName limits the names of algorithms and of versions, in bytes.
const maxName = 100

// CheckDescription returns an error if the description of an algorithm breaks a rule. Names are
// shown to people, as columns of results for example.
func CheckDescription(d *pluginv1.Algorithm) error {
	unprintable := func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }
	switch {
	case !algorithmName.MatchString(d.Name) || len(d.Name) > maxName:
		return fmt.Errorf("the name %.100q must be family/name, of at most %d lower case letters, digits and hyphens",
			d.Name, maxName)
	case d.Version == "" || len(d.Version) > maxName || strings.ContainsFunc(d.Version, unprintable):
		return fmt.Errorf("the version %.100q must have 1 to %d bytes, all printable", d.Version, maxName)
	case len(d.Tasks) == 0:
		return errors.New("it has no task (in Go: none of Learn, Predict and Online is set)")
	case len(d.Metrics) > pluginv1.MaxMetrics:
		return fmt.Errorf("%d metrics: at most %d are possible", len(d.Metrics), pluginv1.MaxMetrics)
	}
	problem := d.IsProblem()
	if problem && (len(d.Tasks) > 1 || len(d.Metrics) > 0 || d.Private) {
		return errors.New("a problem has no other tasks, no metrics and no guarantee")
	}
	reserved := reservedNames
	if problem {
		reserved = reservedOfProblems
	}
	seen := map[string]bool{}
	for _, p := range d.Parameters {
		if err := checkParameter(p, reserved); err != nil {
			return fmt.Errorf("parameter %.100q: %w", p.Name, err)
		}
		if seen[p.Name] {
			return fmt.Errorf("parameter %q is described twice", p.Name)
		}
		seen[p.Name] = true
	}
	clear(seen)
	for _, m := range d.Metrics {
		switch {
		case !parameterName.MatchString(m.Name):
			return fmt.Errorf("metric %.100q: %s", m.Name, nameRule)
		case seen[m.Name]:
			return fmt.Errorf("metric %q is described twice", m.Name)
		}
		seen[m.Name] = true
	}
	return nil
}

// nameRule describes the names of parameters and metrics.
const nameRule = "use at most 100 lower case letters, digits and underscores"

// checkParameter returns an error if the name of a parameter is not allowed in a sweep file, because
// of its form or because it is reserved, or if its default is outside its own limits.
func checkParameter(d *pluginv1.Parameter, reserved []string) error {
	switch {
	case !parameterName.MatchString(d.Name):
		return errors.New(nameRule)
	case slices.Contains(reserved, d.Name):
		return errors.New("it is a word of the sweep file: choose another name (in Go: with the tag `param`)")
	}
	p := parameter{min: d.Min, max: d.Max, choices: d.Choices, kind: kindOf(d.Default)}
	if p.kind == reflect.Invalid {
		return errors.New("it has no default, which would tell its type")
	}
	number := p.kind == reflect.Int || p.kind == reflect.Float64
	if !number && (d.Min != nil || d.Max != nil) || p.kind != reflect.String && len(d.Choices) > 0 {
		return errors.New("only numbers have limits, and only texts have choices")
	}
	for _, limit := range []*float64{d.Min, d.Max} {
		if limit != nil && math.IsNaN(*limit) {
			return errors.New("a limit is NaN: leave it out if there is none")
		}
	}
	if err := p.allow(d.Default); err != nil {
		return fmt.Errorf("its default: %w", err)
	}
	return nil
}

// tasks returns the tasks whose functions are set.
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

// setting decodes a setting of the protocol and calls the author's Check on it, which resolves its
// parameters.
func (a Algorithm[P]) setting(w *pluginv1.Setting) (*Setting[P], error) {
	p := w.GetProblem()
	s := &Setting[P]{
		Params: a.Defaults,
		Problem: Problem{
			Class: p.GetClass(), Domain: p.GetDomain(), Dim: int(p.GetDim()), Margin: p.GetMargin(),
			Noise: p.GetNoise(), NoiseRate: p.GetNoiseRate(),
			NoConstant: p.GetNoConstant(), Realizable: p.GetRealizable(), RealData: p.GetRealData(), Matrix: p.GetMatrix(),
			Target: p.GetTarget(), Literals: int(p.GetLiterals()),
		},
		N: int(w.GetN()), Alpha: w.GetAlpha(), Reference: w.GetReference(), Beta: w.GetBeta(),
		Epsilon: w.GetEpsilon(), Delta: w.GetDelta(),
		Queries: int(w.GetQueries()), Offline: w.GetOffline(), Rounds: int(w.GetRounds()), Means: w.GetMeans(),
		Test: int(w.GetTest()), Sees: Sight(w.GetSees()),
	}
	s.Task = Task(w.GetTask().Name())
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

func (a Algorithm[P]) check(w *pluginv1.Setting) (*pluginv1.CheckResponse, error) {
	s, err := a.setting(w)
	if err != nil {
		return nil, err
	}
	g, err := a.guarantee(s)
	if err != nil {
		return nil, err
	}
	ps, err := parametersOf(reflect.TypeFor[P]())
	if err != nil {
		return nil, err
	}
	return &pluginv1.CheckResponse{
		Parameters: ps.values(reflect.ValueOf(s.Params)), Guarantee: g,
		Declares: a.Declares != nil && s.Task == Learn && a.Declares(s),
	}, nil
}

// guarantee returns the guarantee for a resolved setting, or nil if the algorithm is not private.
func (a Algorithm[P]) guarantee(s *Setting[P]) (*pluginv1.Guarantee, error) {
	if a.Guarantee == nil {
		return nil, nil
	}
	g, err := a.Guarantee(s)
	if err != nil {
		return nil, fmt.Errorf("guarantee: %w", err)
	}
	wire := &pluginv1.Guarantee{
		Pure: g.Pure, Epsilon: g.Epsilon, Delta: g.Delta, Rho: g.Rho, Source: text(g.Source), Unproved: g.Unproved,
		RealValued: g.RealValued, Mu: g.Mu,
	}
	return wire, theory.CheckGuarantee(wire, s.Epsilon, s.Delta)
}

func (a Algorithm[P]) bound(w *pluginv1.Setting) (*pluginv1.BoundResponse, error) {
	r := &pluginv1.BoundResponse{}
	hasGoal := w.GetAlpha() > 0 || w.GetTask() == pluginv1.Task_TASK_ONLINE
	if a.Bound == nil || !hasGoal { // without a goal, there is no n to bound
		return r, nil
	}
	s, err := a.setting(w)
	if err != nil {
		return nil, err
	}
	bounds, err := a.Bound(s)
	if err != nil {
		return nil, fmt.Errorf("bound: %w", err)
	}
	for _, b := range bounds {
		wire := &pluginv1.Bound{
			Name: text(b.Name), Source: text(b.Source), Value: b.Value, Proved: b.Proved, With: b.With,
			Order: b.Order, Fails: text(b.Fails), Unit: text(string(b.Unit)),
		}
		for _, p := range b.Premises {
			wire.Premises = append(wire.Premises, text(string(p)))
		}
		if err := theory.Check(wire, w.GetTask()); err != nil {
			return nil, err
		}
		r.Bounds = append(r.Bounds, wire)
	}
	return r, nil
}

// trials runs the trials of one session by number. Trial j learns once, and may then answer
// queries, observe truths and predict until an error ends it.
type trials interface {
	learn(ctx context.Context, j int, sample, revealed *Data) error
	// answer sends the points of x to trial j as queries, one by one.
	answer(ctx context.Context, j int, x *Data, out []float64, marks []byte) error
	// observe sends trial j the truths y of the points that it played last.
	observe(ctx context.Context, j int, x *Data, y []float64) error
	predict(ctx context.Context, j int, x *Data, out []float64) error
	// declared returns the hypothesis that the model of trial j declares, or nil.
	declared(j int) *Declared
}

func (a Algorithm[P]) open(w *pluginv1.Setting, seeds []uint64, m *metrics) (trials, error) {
	s, err := a.setting(w)
	if err != nil {
		return nil, err
	}
	m.names = slices.Sorted(maps.Keys(a.Metrics))
	return &trialsOf[P]{
		algorithm: a, setting: *s, seeds: seeds, states: make([]trialState[P], len(seeds)/2), metrics: m,
	}, nil
}

// trialsOf implements trials for an algorithm with parameters of type P.
type trialsOf[P any] struct {
	algorithm Algorithm[P]
	setting   Setting[P]
	seeds     []uint64 // two for each trial
	states    []trialState[P]
	metrics   *metrics
}

// A trialState is a trial with the result of learning.
type trialState[P any] struct {
	trial    Trial[P]
	model    Model
	answerer Answerer // the model, in the task predict
	learner  Learner  // the model, in the task online
}

func (g *trialsOf[P]) learn(ctx context.Context, j int, sample, revealed *Data) (err error) {
	s := &g.states[j]
	s.trial.Setting, s.trial.Revealed, s.trial.metrics, s.trial.index = g.setting, revealed, g.metrics, j
	s.trial.Rand = rand.New(rand.NewPCG(g.seeds[2*j], g.seeds[2*j+1]))
	switch g.setting.Task {
	case Predict:
		if s.answerer, err = g.algorithm.Predict(ctx, &s.trial, sample); err == nil && s.answerer != nil {
			s.model = s.answerer
		}
	case Online:
		if s.learner, err = g.algorithm.Online(ctx, &s.trial); err == nil && s.learner != nil {
			s.model = s.learner
		}
	default:
		s.model, err = g.algorithm.Learn(ctx, &s.trial, sample)
	}
	s.trial.Revealed = nil
	if err != nil {
		return err
	}
	if s.model == nil {
		return fmt.Errorf("no model and no error came from the algorithm's %s function", g.setting.Task)
	}
	if d := declaredBy(s.model); d != nil {
		d.On(g.setting.Problem)
	}
	return g.metrics.takeError()
}

func (g *trialsOf[P]) declared(j int) *Declared { return declaredBy(g.states[j].model) }

func (g *trialsOf[P]) answer(ctx context.Context, j int, x *Data, out []float64, marks []byte) error {
	answerer := g.states[j].answerer
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
	return g.metrics.takeError()
}

func (g *trialsOf[P]) observe(ctx context.Context, j int, x *Data, y []float64) error {
	learner := g.states[j].learner
	if learner == nil {
		return fmt.Errorf("the task %s has no truths", g.setting.Task)
	}
	if err := learner.Observe(ctx, x, y); err != nil {
		return err
	}
	return g.metrics.takeError()
}

func (g *trialsOf[P]) predict(ctx context.Context, j int, x *Data, out []float64) error {
	if err := g.states[j].model.Predict(ctx, x, out); err != nil {
		return err
	}
	return g.metrics.takeError()
}
