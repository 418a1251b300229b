package plugintest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// suite tests one algorithm.
type suite struct {
	ctx       context.Context
	command   host.Command
	algorithm *pluginv1.Algorithm
	probed    bool          // the plugin serves the probe
	process   *host.Process // nil: none yet

	problem algo.Problem // of the present setting
	setting *pluginv1.Setting
}

// run does all checks in all settings.
func (s *suite) run(settings []Setting) (results []Result) {
	add := func(setting, check string, err error) {
		results = append(results, Result{Algorithm: s.algorithm.Name, Setting: setting, Check: check, Err: err})
	}
	own := len(settings) == 0
	if own {
		settings = s.own()
	}
	var refusals []error
	for _, setting := range settings {
		if !own && !s.has(setting.Parameters) {
			continue
		}
		if err := s.adopt(setting); err != nil {
			var refused *refusalError
			if own && errors.As(err, &refused) {
				refusals = append(refusals, fmt.Errorf("%s: %w", setting.short(), err))
			} else {
				add(setting.short(), "setting", err)
			}
			continue
		}
		for _, c := range checks {
			add(setting.short(), c.name, c.run(s))
		}
	}
	if len(results) == 0 {
		add("", "setting", fmt.Errorf("no setting to test it in: name one that it accepts (plugintest.Setting)\n%w", errors.Join(refusals...)))
	}
	return results
}

// own is the suite's own problems, in all tasks that the algorithm has.
func (s *suite) own() (settings []Setting) {
	for _, task := range s.algorithm.Tasks {
		list := problems
		if task == pluginv1.Task_TASK_ONLINE {
			list = slices.Concat(problems, endless)
		}
		for _, p := range list {
			switch task {
			case pluginv1.Task_TASK_LEARN:
				settings = append(settings, Setting{Task: algo.Learn, Problem: p})
			case pluginv1.Task_TASK_PREDICT:
				// a budget for which a small sample is enough: private votes need many blocks
				easy := Setting{Task: algo.Predict, Problem: p, Epsilon: 8, Delta: 0.01}
				settings = append(settings, easy)
				easy.Offline = true
				settings = append(settings, easy)
			case pluginv1.Task_TASK_ONLINE:
				settings = append(settings, Setting{Task: algo.Online, Problem: p})
			}
		}
	}
	return settings
}

// has reports whether the algorithm has parameters of these names.
func (s *suite) has(parameters map[string]any) bool {
	for name := range parameters {
		if !slices.ContainsFunc(s.algorithm.Parameters, func(p *pluginv1.Parameter) bool { return p.Name == name }) {
			return false
		}
	}
	return true
}

type refusalError struct{ *pluginv1.Refusal }

func (r *refusalError) Error() string { return "it refuses: " + r.Message }

// adopt makes a setting the present one, with the smallest sample that the algorithm accepts.
func (s *suite) adopt(setting Setting) error {
	wire, err := s.wire(setting)
	if err != nil {
		return err
	}
	s.problem, s.setting = setting.Problem, wire
	if wire.Rounds > 0 {
		return s.accepts()
	}
	sizes := []int64{50, 1000, 20_000}
	if setting.N > 0 {
		sizes = []int64{int64(setting.N)}
	}
	for _, n := range sizes {
		s.setting.N = n
		if err = s.accepts(); err == nil {
			return nil
		}
		var refused *refusalError
		if !errors.As(err, &refused) || refused.Kind != pluginv1.Refusal_KIND_INFEASIBLE {
			return err
		}
	}
	return err
}

// accepts asks Check, and learns once, about the present setting.
func (s *suite) accepts() error {
	p, err := s.running()
	if err != nil {
		return err
	}
	r, err := p.Check(s.ctx, s.setting)
	if err != nil {
		return err
	}
	if r.Refusal != nil {
		return &refusalError{r.Refusal}
	}
	o, err := s.play(p, game{trials: []uint64{0}})
	if err != nil {
		return err
	}
	for _, f := range o.faults {
		if f.Kind == host.Infeasible {
			return &refusalError{&pluginv1.Refusal{Kind: pluginv1.Refusal_KIND_INFEASIBLE, Message: f.Message}}
		}
	}
	return nil
}

// wire is a setting as the protocol has it.
func (s *suite) wire(setting Setting) (*pluginv1.Setting, error) {
	or := func(v, otherwise float64) float64 {
		if v == 0 {
			return otherwise
		}
		return v
	}
	p := setting.Problem
	w := &pluginv1.Setting{
		Algorithm: s.algorithm.Name, Task: s.algorithm.Tasks[0], Parameters: make(map[string]*pluginv1.Value),
		Problem: &pluginv1.Problem{
			Class: p.Class, Domain: p.Domain, Dim: uint32(p.Dim), Margin: p.Margin, Noise: p.Noise, NoiseRate: p.NoiseRate,
			NoConstant: p.NoConstant, Realizable: p.Realizable, RealData: p.RealData, Matrix: p.Matrix,
		},
		Alpha: or(setting.Alpha, 0.1), Beta: or(setting.Beta, 0.1),
	}
	switch setting.Task {
	case algo.Learn:
		w.Task = pluginv1.Task_TASK_LEARN
	case algo.Predict:
		w.Task = pluginv1.Task_TASK_PREDICT
	case algo.Online:
		w.Task = pluginv1.Task_TASK_ONLINE
	}
	if w.Task == pluginv1.Task_TASK_ONLINE {
		w.Rounds = int64(or(float64(setting.Rounds), testPoints))
	}
	if w.Task == pluginv1.Task_TASK_PREDICT {
		w.Queries, w.Offline = int64(or(float64(setting.Queries), testPoints)), setting.Offline
	}
	if s.algorithm.Private {
		w.Epsilon, w.Delta = or(setting.Epsilon, 1), or(setting.Delta, 1e-6)
	}
	for name, v := range setting.Parameters {
		value, err := valueOf(v)
		if err != nil {
			return nil, fmt.Errorf("parameter %q: %w", name, err)
		}
		w.Parameters[name] = value
	}
	return w, nil
}

func valueOf(v any) (*pluginv1.Value, error) {
	switch v := v.(type) {
	case int:
		return &pluginv1.Value{Kind: &pluginv1.Value_Int{Int: int64(v)}}, nil
	case float64:
		return &pluginv1.Value{Kind: &pluginv1.Value_Float{Float: v}}, nil
	case bool:
		return &pluginv1.Value{Kind: &pluginv1.Value_Bool{Bool: v}}, nil
	case string:
		return &pluginv1.Value{Kind: &pluginv1.Value_String_{String_: v}}, nil
	}
	return nil, fmt.Errorf("%v is of type %T: int, float64, bool or string is needed", v, v)
}

// running is the process that checks share, started anew when it has ended.
func (s *suite) running() (*host.Process, error) {
	if s.process != nil {
		select {
		case <-s.process.Done():
			s.stop()
		default:
			return s.process, nil
		}
	}
	var err error
	s.process, err = host.Start(s.ctx, s.command)
	return s.process, err
}

func (s *suite) stop() {
	if s.process != nil {
		s.process.Stop()
		s.process = nil
	}
}

// testPoints is how many points each trial is asked about.
const testPoints = 30

// game is a session to play.
type game struct {
	trials  []uint64 // keys of their seeds, samples and points
	n       int64    // 0: that of the setting
	points  int      // per trial; 0: testPoints
	pieces  []int    // points per step, the same for all trials; nil: one step
	twice   bool     // ask everything a second time
	distort bool     // first ask so much else that the sample's memory is written over

	chunk int // queries per step; 0: one
	same  int // predict: this many queries are the usual ones, those behind them are others; 0: all are
}

// outcome is what a session gave.
type outcome struct {
	labels  [][]float64 // of the queries, by trial; marks likewise
	marks   [][]float64
	answers [][]float64 // by trial; asked twice, the second time behind the first
	metrics map[string][]float64
	faults  []host.Fault
}

// play plays a game in a process.
func (s *suite) play(p *host.Process, g game) (*outcome, error) {
	setting := s.setting
	if g.n > 0 && setting.Rounds == 0 {
		setting = proto.CloneOf(setting)
		setting.N = g.n
	}
	if g.points == 0 {
		g.points = testPoints
	}
	r := host.OpenRequest{Setting: setting}
	for _, key := range g.trials {
		r.Seeds = append(r.Seeds, 2*key+1, key^0x5bd1e995)
	}
	n, dim := int(setting.N), s.problem.Dim
	if setting.Offline {
		r.Reveal = func(x []float64) {
			for _, key := range g.trials {
				x = x[copy(x, s.queries(g, key)):]
			}
		}
	}
	session, faults, err := p.Open(s.ctx, r, func(x, y []float64) {
		for j, key := range g.trials {
			draw(s.problem, key, x[j*n*dim:(j+1)*n*dim], y[j*n:(j+1)*n])
		}
	})
	if err != nil {
		return nil, err
	}
	trials := len(g.trials)
	o := &outcome{labels: make([][]float64, trials), marks: make([][]float64, trials), answers: make([][]float64, trials), faults: faults}
	truths, err := s.rounds(session, g, o)
	if err != nil {
		return nil, err
	}
	if err := s.ask(session, g, o); err != nil {
		return nil, err
	}
	o.metrics, faults, err = session.CloseRound(s.ctx, truths)
	o.faults = append(o.faults, faults...)
	return o, err
}

// queries are those of one trial of a game.
func (s *suite) queries(g game, key uint64) []float64 {
	x, _ := s.sequence(g, key, int(s.setting.Queries))
	return x
}

// sequence is the points of one trial of a game, with labels.
func (s *suite) sequence(g game, key uint64, length int) (x, y []float64) {
	dim := s.problem.Dim
	x, y = make([]float64, length*dim), make([]float64, length)
	draw(s.problem, key+3<<30, x, y)
	if g.same > 0 {
		otherX, otherY := make([]float64, len(x)), make([]float64, len(y))
		draw(s.problem, key+5<<30, otherX, otherY)
		copy(x[g.same*dim:], otherX)
		copy(y[g.same:], otherY)
	}
	return x, y
}

// rounds plays the rounds of online games, and gives the truths of the last one.
func (s *suite) rounds(session *host.Session, g game, o *outcome) (truths []float64, err error) {
	total, dim := int(s.setting.Rounds), s.problem.Dim
	if total == 0 {
		return nil, nil
	}
	x, y := make([][]float64, len(g.trials)), make([][]float64, len(g.trials))
	counts := make([]uint32, len(g.trials))
	for j, key := range g.trials {
		x[j], y[j] = s.sequence(g, key, total)
		counts[j] = 1
	}
	for t := range total {
		next := 0
		answers, faults, err := session.Round(s.ctx, counts, truths, func(points []float64) {
			for ; len(points) > 0; points = points[dim:] {
				copy(points[:dim], x[next][t*dim:])
				next++
			}
		})
		if err != nil {
			return nil, err
		}
		o.faults = append(o.faults, faults...)
		truths = truths[:0]
		for j := range counts {
			o.labels[j] = append(o.labels[j], answers[j])
			truths = append(truths, y[j][t])
		}
	}
	return truths, nil
}

// query puts the queries to all trials.
func (s *suite) query(session *host.Session, g game, o *outcome) error {
	if s.setting.Queries == 0 {
		return nil
	}
	total, dim := int(s.setting.Queries), s.problem.Dim
	lists := make([][]float64, len(g.trials))
	for j, key := range g.trials {
		lists[j] = s.queries(g, key)
	}
	for at := 0; at < total; at += max(1, g.chunk) {
		rows := min(max(1, g.chunk), total-at)
		counts := make([]uint32, len(g.trials))
		var all []float64
		for j := range counts {
			counts[j] = uint32(rows)
			all = append(all, lists[j][at*dim:(at+rows)*dim]...)
		}
		labels, marks, faults, err := session.Play(s.ctx, counts, func(x []float64) { all = all[copy(x, all):] })
		if err != nil {
			return err
		}
		o.faults = append(o.faults, faults...)
		for j := range counts {
			o.labels[j] = append(o.labels[j], labels[j*rows:(j+1)*rows]...)
			for _, m := range marks[j*rows : (j+1)*rows] {
				o.marks[j] = append(o.marks[j], float64(m))
			}
		}
	}
	return nil
}

// ask asks for all answers of a game.
func (s *suite) ask(session *host.Session, g game, o *outcome) error {
	dim := s.problem.Dim
	if g.distort {
		other := &outcome{answers: make([][]float64, len(g.trials))}
		rows := int(s.setting.N)*(dim+1)/dim + 1024
		if err := s.step(session, g, other, 1<<32, 0, rows); err != nil {
			return err
		}
		o.faults = append(o.faults, other.faults...)
	}
	if err := s.query(session, g, o); err != nil {
		return err
	}
	times := 1
	if g.twice {
		times = 2
	}
	for range times {
		at := 0
		for _, rows := range append(g.pieces, g.points) {
			rows = min(rows, g.points-at)
			if err := s.step(session, g, o, 1<<31, at, rows); err != nil {
				return err
			}
			at += rows
		}
	}
	return nil
}

// step asks every trial about points at..at+rows-1 of its own, drawn with its key plus salt.
func (s *suite) step(session *host.Session, g game, o *outcome, salt uint64, at, rows int) error {
	dim := s.problem.Dim
	counts := make([]uint32, len(g.trials))
	var all []float64
	for j, key := range g.trials {
		counts[j] = uint32(rows)
		x := make([]float64, (at+rows)*dim)
		draw(s.problem, key+salt, x, nil)
		all = append(all, x[at*dim:]...)
	}
	answers, faults, err := session.Step(s.ctx, counts, func(x []float64) {
		copy(x, all)
		all = all[len(x):]
	})
	if err != nil {
		return err
	}
	o.faults = append(o.faults, faults...)
	for j := range o.answers {
		o.answers[j] = append(o.answers[j], answers[j*rows:(j+1)*rows]...)
	}
	return nil
}

// clean is the outcome of a game in which no trial may end early.
func (s *suite) clean(p *host.Process, g game) (*outcome, error) {
	o, err := s.play(p, g)
	if err != nil {
		return nil, err
	}
	return o, faultsError(o.faults)
}

func faultsError(faults []host.Fault) error {
	var all []error
	for i, f := range faults {
		if i == 3 {
			all = append(all, fmt.Errorf("and %d more", len(faults)-i))
			break
		}
		all = append(all, faultError(f))
	}
	return errors.Join(all...)
}

func faultError(f host.Fault) error {
	if f.Kind == host.Error || f.Kind == host.Panic || f.Kind == host.Answer { // their texts say what they are
		return fmt.Errorf("trial %d: %s", f.Trial, f.Message)
	}
	return fmt.Errorf("trial %d: %s: %s", f.Trial, f.Kind, f.Message)
}

// sameAnswers compares answers bit for bit.
func sameAnswers(want, got []float64) error {
	if len(want) != len(got) {
		return fmt.Errorf("%d answers instead of %d", len(got), len(want))
	}
	for i := range want {
		if math.Float64bits(want[i]) != math.Float64bits(got[i]) {
			return fmt.Errorf("point %d is answered with %v, and the first time with %v", i, got[i], want[i])
		}
	}
	return nil
}

// sameLabels compares the labels and marks of the first queries of two trials.
func sameLabels(want *outcome, j int, got *outcome, k, queries int) error {
	if err := sameAnswers(want.labels[j][:queries], got.labels[k][:queries]); err != nil {
		return why(err, "queries or rounds")
	}
	if len(want.marks[j]) == 0 {
		return nil
	}
	return why(sameAnswers(want.marks[j][:queries], got.marks[k][:queries]), "marks of queries")
}

// sameTrial compares trial j of one outcome with trial k of another, bit for bit.
func sameTrial(want *outcome, j int, got *outcome, k int) error {
	if err := sameLabels(want, j, got, k, len(want.labels[j])); err != nil {
		return err
	}
	if err := sameAnswers(want.answers[j], got.answers[k]); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(want.metrics)) {
		if a, b := want.metrics[name][j], got.metrics[name][k]; math.Float64bits(a) != math.Float64bits(b) {
			return fmt.Errorf("metric %q is %v, and the first time %v", name, b, a)
		}
	}
	return nil
}

func sortedNames(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// why prefixes an error with what it means for the author.
func why(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", strings.TrimSuffix(fmt.Sprintf(format, args...), ":"), err)
}
