package plugintest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shatterlab/shatter/pipeline/theory"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// A suite runs the checks on one algorithm.
type suite struct {
	ctx       context.Context
	command   host.Command
	algorithm *pluginv1.Algorithm
	options   Options
	report    func(Result)
	results   []Result
	process   *host.Process   // process that the checks share; nil if none runs, see running
	restarts  int             // restarts of process after it ended unexpectedly
	measured  map[string]bool // names of tasks, after "seeds" or "resources", that were measured
	repeated  int             // number of trials that were repeated since the last result
	warnings  int64           // number of warnings since the last result
	warning   string          // text of the first of them

	problem  algo.Problem      // problem of the current setting
	examples *examples         // examples of problem, if a plugin poses it
	setting  *pluginv1.Setting // the current setting

	posed func() []Setting // returns the settings for the problems of the plugin

	declares bool // whether the algorithm's Declares is true in this setting
}

// run runs all checks in the given settings whose parameters the algorithm has or, if none are
// given, in the suite's own settings that the algorithm accepts. There is at least one result.
func (s *suite) run() []Result {
	s.measured = make(map[string]bool)
	if s.wanted("description") {
		s.add("", "description", timed(func() (string, error) { return "", s.checkDescription() }))
	}
	settings, own := s.options.Settings, len(s.options.Settings) == 0
	generates := s.algorithm.IsProblem()
	test := s.runAlgorithm
	if generates {
		test = s.runGenerator
	}
	switch {
	case generates && own:
		settings = []Setting{{Problem: algo.Problem{Class: s.algorithm.Name}}}
	case own:
		settings = ownSettings(s.algorithm)
		if slices.Contains(s.algorithm.Tasks, pluginv1.Task_TASK_LEARN) {
			settings = append(settings, s.posed()...)
		}
	}
	var refusals []error
	accepted := false
	for _, setting := range settings {
		if !own && (!s.has(setting.Parameters) || generates && setting.Problem.Class != s.algorithm.Name) {
			continue
		}
		if err := test(setting); err != nil {
			var refused *refusalError
			if own && errors.As(err, &refused) {
				refusals = append(refusals, fmt.Errorf("%s: %w", setting.short(), err))
				s.add(setting.short(), "setting", Result{Skipped: err.Error()})
			} else {
				accepted = true
				s.add(setting.short(), "setting", Result{Err: err})
			}
			continue
		}
		accepted = true
	}
	if !accepted {
		none := errors.New("no setting to test it in: name one that it accepts (plugintest.Setting, or plugin test " +
			"--setting)")
		s.add("", "setting", Result{Err: errors.Join(append([]error{none}, refusals...)...)})
	}
	s.addUnmet()
	return s.results
}

// checkDescription checks the parts of a description that the host does not check; the host checks
// names and defaults.
func (s *suite) checkDescription() error {
	if s.algorithm.Doc == "" {
		return errors.New("the doc is empty: describe the algorithm for users")
	}
	for _, m := range s.algorithm.Metrics {
		if (m.Name == algo.ProvedRegret || m.Name == algo.PrintedRegret) &&
			!slices.ContainsFunc(s.algorithm.Tasks, pluginv1.Task.Rounds) {
			return fmt.Errorf("metric %q is reserved for regrets of the task online, which the algorithm does not have: "+
				"choose another name", m.Name)
		}
	}
	return nil
}

// runAlgorithm runs the checks of an algorithm in a setting. It returns the error of adopt.
func (s *suite) runAlgorithm(setting Setting) error {
	if err := s.adopt(setting); err != nil {
		return err
	}
	s.runChecks(setting.short())
	return nil
}

// runChecks runs the checks in the current setting.
func (s *suite) runChecks(setting string) {
	broken := false // the algorithm does not even answer
	for _, c := range allChecks {
		switch {
		case !s.wanted(c.name):
		case broken && c.plays:
			s.add(setting, c.name, Result{Skipped: "it fails the check answers"})
		default:
			s.options.Begin(Result{Algorithm: s.algorithm.Name, Setting: setting, Check: c.name})
			r := timed(func() (string, error) { return c.run(checks{s}) })
			s.add(setting, c.name, r)
			broken = broken || c.name == "answers" && r.Err != nil
		}
	}
}

// skipped is the error of a check that cannot be made. Its text is the reason.
type skipped string

func (s skipped) Error() string { return string(s) }

// timed runs a check, which returns the measured values as text.
func timed(check func() (string, error)) (r Result) {
	start := time.Now()
	found, err := check()
	r = Result{Err: err, Found: found, Took: time.Since(start)}
	var skip skipped
	if errors.As(err, &skip) {
		r.Err, r.Skipped = nil, string(skip)
	}
	return r
}

// wanted reports whether the options select a check.
func (s *suite) wanted(check string) bool {
	return s.options.wants(s.algorithm.Name, check)
}

func (s *suite) add(setting, check string, r Result) {
	r.Algorithm, r.Setting, r.Check = s.algorithm.Name, setting, check
	r.Warnings, r.Warning, s.warnings = s.warnings, s.warning, 0
	r.Repeated, s.repeated = s.repeated, 0
	if r.Err != nil {
		r.Expected = s.options.Expect[check]
	}
	s.results = append(s.results, r)
	s.report(r)
}

// addUnmet reports the checks that the algorithm was expected to fail but passes.
func (s *suite) addUnmet() {
	for _, check := range slices.Sorted(maps.Keys(s.options.Expect)) {
		met := slices.ContainsFunc(s.results, func(r Result) bool { return r.Check == check && r.Expected != "" })
		if !met && s.wanted(check) {
			s.add("", "expected: "+check, Result{Err: fmt.Errorf("it was expected to fail the check %q (%s), and passes: "+
				"remove the expectation", check, s.options.Expect[check])})
		}
	}
}

// Examples returns the settings, without a sample size yet, in which the suite tries an algorithm
// if the author names none: those of the examples of all classes, in all tasks of the algorithm.
func Examples(a *pluginv1.Algorithm) []*pluginv1.Setting {
	var settings []*pluginv1.Setting
	for _, own := range ownSettings(a) {
		if w, err := wire(a, own); err == nil { // the setting has no parameters, so no wrong types
			settings = append(settings, w)
		}
	}
	return settings
}

// ownSettings returns settings with the suite's own problems, in all tasks of the algorithm.
func ownSettings(a *pluginv1.Algorithm) (settings []Setting) {
	for _, task := range a.Tasks {
		list := problems
		if task.Rounds() {
			list = slices.Concat(problems, endless)
		}
		for _, p := range list {
			own := Setting{Task: algo.Task(task.Name()), Problem: p}
			if own.Task != algo.Predict {
				settings = append(settings, own)
				continue
			}
			// At this budget a small sample suffices for private votes, which need many blocks.
			own.Epsilon, own.Delta = 8, 0.01
			settings = append(settings, own)
			own.Offline = true
			settings = append(settings, own)
		}
	}
	return settings
}

// has reports whether the algorithm has parameters of these names.
func (s *suite) has(parameters map[string]any) bool {
	for name := range parameters {
		named := func(p *pluginv1.Parameter) bool { return p.Name == name }
		if !slices.ContainsFunc(s.algorithm.Parameters, named) {
			return false
		}
	}
	return true
}

// refusalError is the error of a setting that the algorithm rejects.
type refusalError struct{ *pluginv1.Refusal }

func (r *refusalError) Error() string { return "it refuses: " + r.Message }

// adopt makes a setting the current one, with the smallest sample that the algorithm accepts unless
// the setting fixes N. Its error wraps a *refusalError if the algorithm rejects the setting.
func (s *suite) adopt(setting Setting) error {
	w, err := wire(s.algorithm, setting)
	if err != nil {
		return err
	}
	s.problem, s.examples, s.setting = setting.Problem, setting.examples, w
	if w.Rounds > 0 {
		return s.tryOut()
	}
	sizes := []int64{50, 1000, 20_000}
	if setting.N > 0 {
		sizes = []int64{int64(setting.N)}
	}
	for _, n := range sizes {
		s.setting.N = n
		if err = s.tryOut(); err == nil {
			return nil
		}
		var refused *refusalError
		if !errors.As(err, &refused) || refused.Kind != pluginv1.Refusal_KIND_INFEASIBLE {
			return err
		}
	}
	return err
}

// tryOut calls Check with the current setting, and plays one trial of it. Its error wraps a
// *refusalError if either is rejected.
func (s *suite) tryOut() error {
	r, err := s.check(s.setting)
	if err != nil {
		return err
	}
	if r.Refusal != nil {
		return &refusalError{r.Refusal}
	}
	s.declares = r.Declares
	t, err := s.play(s.process, script{trials: []uint64{0}})
	if err != nil {
		return err
	}
	for _, f := range t.faults {
		if f.Kind == host.Infeasible {
			return &refusalError{&pluginv1.Refusal{Kind: pluginv1.Refusal_KIND_INFEASIBLE, Message: f.Message}}
		}
	}
	return nil
}

// check calls Check with a setting. A refusal because of an error of the algorithm is an error.
func (s *suite) check(setting *pluginv1.Setting) (*pluginv1.CheckResponse, error) {
	p, err := s.running()
	if err != nil {
		return nil, err
	}
	r, err := p.Check(s.ctx, setting)
	if err == nil && r.Refusal.GetKind() == pluginv1.Refusal_KIND_ERROR {
		err = errors.New(r.Refusal.Message)
	}
	return r, err
}

// wire encodes a setting of an algorithm for the protocol, with the documented defaults of Setting
// except for N.
func wire(a *pluginv1.Algorithm, setting Setting) (*pluginv1.Setting, error) {
	p := setting.Problem
	w := &pluginv1.Setting{
		Algorithm: a.Name, Task: a.Tasks[0], Parameters: make(map[string]*pluginv1.Value),
		Problem: &pluginv1.Problem{
			Class: p.Class, Domain: p.Domain, Dim: uint32(p.Dim), Margin: p.Margin,
			Noise: p.Noise, NoiseRate: p.NoiseRate, NoConstant: p.NoConstant,
			Realizable: p.Realizable, RealData: p.RealData, Matrix: p.Matrix,
			Target: p.Target, Literals: uint32(p.Literals),
		},
		Alpha: cmp.Or(setting.Alpha, 0.1), Beta: cmp.Or(setting.Beta, 0.1),
	}
	if setting.Task != "" {
		w.Task = pluginv1.TaskNamed(string(setting.Task))
	}
	if w.Task.Rounds() {
		w.Rounds = int64(cmp.Or(setting.Rounds, testPoints))
	}
	if algo.Task(w.Task.Name()) == algo.Predict {
		w.Queries, w.Offline = int64(cmp.Or(setting.Queries, testPoints)), setting.Offline
	}
	if w.Queries+w.Rounds > 0 {
		w.Sees = theory.SeesNothing // scripts do not depend on answers
	}
	w.Means = !a.Private && w.Rounds == 0 // a private algorithm must answer labels
	if a.Private {
		w.Epsilon, w.Delta = cmp.Or(setting.Epsilon, 1), cmp.Or(setting.Delta, 1e-6)
	}
	for name, v := range setting.Parameters {
		switch v.(type) {
		case int, float64, bool, string:
			w.Parameters[name] = pluginv1.ValueOf(v)
		default:
			return nil, fmt.Errorf("parameter %q: %v is of type %T: use int, float64, bool or string", name, v, v)
		}
	}
	return w, nil
}

// running returns the process that the checks share, and starts it if necessary.
func (s *suite) running() (*host.Process, error) {
	if s.process != nil {
		select {
		case <-s.process.Done():
			s.restarts++
			s.stop()
		default:
			return s.process, nil
		}
	}
	var err error
	s.process, err = host.Start(s.ctx, s.command)
	return s.process, err
}

// stop ends the process that the checks share.
func (s *suite) stop() {
	if s.process != nil {
		s.process.Stop()
		s.process = nil
	}
}

// why prefixes an error with its meaning for the author. It returns nil for nil.
func why(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", strings.TrimSuffix(fmt.Sprintf(format, args...), ":"), err)
}
