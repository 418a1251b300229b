package plugintest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/pipeline/theory"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// checkBounds checks that theory's bounds can be had, that each says where it comes from, and that
// they state as premises what they take for granted: they are asked for again in settings that
// differ from the present one in one fact.
func (s checks) checkBounds() error {
	list, err := s.bounds(s.setting)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return skipped("it states none here")
	}
	for _, b := range list {
		if err := s.checkBound(b); err != nil {
			return err
		}
	}
	for _, check := range []func(checks) error{
		checks.checkTargetInClass, checks.checkNoise, checks.checkExactError, checks.checkSight,
	} {
		if err := check(s); err != nil {
			return err
		}
	}
	return nil
}

// bounds returns the bounds of a setting, with its parameters as Check resolves them. There are none
// where the setting is refused.
func (s checks) bounds(setting *pluginv1.Setting) ([]*pluginv1.Bound, error) {
	p, err := s.running()
	if err != nil {
		return nil, err
	}
	setting = proto.CloneOf(setting)
	setting.N = 0
	checked, err := p.Check(s.ctx, setting)
	if err != nil || checked.Refusal != nil {
		return nil, err
	}
	setting.Parameters = checked.Parameters
	r, err := p.Bound(s.ctx, setting)
	if err == nil && r.Refusal.GetKind() == pluginv1.Refusal_KIND_ERROR {
		err = errors.New(r.Refusal.Message)
	}
	return r.GetBounds(), err
}

// with returns the present setting with one change.
func (s checks) with(change func(w *pluginv1.Setting)) *pluginv1.Setting {
	w := proto.CloneOf(s.setting)
	change(w)
	return w
}

// checkBound checks what can be seen of one bound alone.
func (s checks) checkBound(b *pluginv1.Bound) error {
	if err := theory.Check(b, s.setting.Task); err != nil {
		return err
	}
	games := s.setting.Rounds > 0
	switch {
	case b.Source == "" || b.Value == 0 && !games:
		return fmt.Errorf("bound %q of source %q is %v: a source and a positive number (or +Inf) are needed",
			b.Name, b.Source, b.Value)
	case b.Proved && !games && b.Fails == "" && !states(b, theory.TargetInClass, theory.BestReference):
		return fmt.Errorf("bound %q does not say what it takes the labels to be: state the premise %s, or %s where it is on "+
			"the excess over the best hypothesis", b.Name, theory.TargetInClass, theory.BestReference)
	}
	return nil
}

// states reports whether a bound has one of the premises.
func states(b *pluginv1.Bound, premises ...string) bool {
	return slices.ContainsFunc(premises, func(p string) bool { return slices.Contains(b.GetPremises(), p) })
}

// sameBound returns the bound of a list that has the name of b and does not fail; nil if there is
// none.
func sameBound(b *pluginv1.Bound, list []*pluginv1.Bound) *pluginv1.Bound {
	for _, c := range list {
		if c.Name == b.Name && c.Fails == "" {
			return c
		}
	}
	return nil
}

// checkTargetInClass checks that bounds that are others where the target is in the class state that
// it is.
func (s checks) checkTargetInClass() error {
	realizable := func(v bool) *pluginv1.Setting {
		return s.with(func(w *pluginv1.Setting) { w.Problem.Realizable = v })
	}
	return s.checkUse(realizable(true), realizable(false), "where problem.realizable is set", "where it is not",
		theory.TargetInClass)
}

// checkSight checks that bounds that depend on what the adversary sees state a premise about that.
func (s checks) checkSight() error {
	sights := []string{theory.SeesNothing, theory.SeesPast}
	switch {
	case s.setting.Rounds > 0:
		sights = append(sights, theory.SeesAnswers)
	case s.setting.Queries == 0:
		return nil
	}
	seeing := func(what string) *pluginv1.Setting {
		return s.with(func(w *pluginv1.Setting) { w.Sees = what })
	}
	for i, more := range sights[1:] {
		less := sights[i]
		err := s.checkUse(seeing(less), seeing(more), fmt.Sprintf("where Setting.sees is %q", less),
			fmt.Sprintf("where it is %q", more), theory.FixedBeforehand, theory.UnseenAnswer)
		if err != nil {
			return err
		}
	}
	return nil
}

// checkUse checks that the bounds of a setting that are others in a second one, which lacks a fact,
// have one of the premises that stand for the fact. here and there name the settings.
func (s checks) checkUse(first, second *pluginv1.Setting, here, there string, premises ...string) error {
	using, err := s.bounds(first)
	if err != nil {
		return err
	}
	lacking, err := s.bounds(second)
	if err != nil {
		return err
	}
	for _, b := range using {
		other := sameBound(b, lacking)
		if b.Fails == "" && other != nil && other.Value != b.Value && !states(b, premises...) {
			return fmt.Errorf("bound %q is %v %s and %v %s: state the premise %s", b.Name, b.Value, here, other.Value, there,
				strings.Join(premises, " or "))
		}
	}
	return nil
}

// Label noise and evaluation samples that bounds are asked about.
const (
	randomRate, adversarialRate = 0.1, 0.05
	evaluationPoints            = 200
)

// checkNoise checks that proved sample sizes for clean labels state that labels are clean, or grow
// with the noise.
func (s checks) checkNoise() error {
	if s.setting.Problem.NoiseRate > 0 {
		return nil
	}
	noisy := func(kind string, rate float64) func(w *pluginv1.Setting) {
		return func(w *pluginv1.Setting) { w.Problem.Noise, w.Problem.NoiseRate = kind, rate }
	}
	const whether, remedy = "labels are clean or have %s noise at rate %v", "compute it from the noise"
	err := s.checkIgnored(noisy("random", randomRate), fmt.Sprintf(whether, "random", randomRate), remedy,
		theory.CleanLabels)
	for _, kind := range []string{"adversarial", "malicious"} {
		if err != nil {
			return err
		}
		err = s.checkIgnored(noisy(kind, adversarialRate), fmt.Sprintf(whether, kind, adversarialRate), remedy,
			theory.CleanLabels, theory.IndependentNoise)
	}
	return err
}

// checkExactError checks that proved sample sizes for true errors state that these are what is
// measured, or allow for an evaluation sample.
func (s checks) checkExactError() error {
	sampled := func(w *pluginv1.Setting) { w.Test = evaluationPoints }
	if _, _, ok := theory.GoalOf(s.finer(sampled)).Safe(); !ok || s.setting.Test > 0 {
		return nil // no bound can allow for so few points
	}
	return s.checkIgnored(sampled, fmt.Sprintf("errors are computed exactly or measured on %d points", evaluationPoints),
		"compute it at Setting.Proof", theory.ExactError)
}

// finer returns the present setting with a change, and with a fourth of alpha.
func (s checks) finer(change func(w *pluginv1.Setting)) *pluginv1.Setting {
	return s.with(func(w *pluginv1.Setting) {
		w.Alpha /= 4
		change(w)
	})
}

// checkIgnored checks that the proved sample sizes that a change leaves as they are have one of the
// premises that rule it out. whether names both cases, and remedy another way out.
//
// Where a bound is the largest of several numbers, a change may leave it as it is for good reason.
// So the change is made at a fourth of alpha, and only bounds that alpha has changed count: what
// rules them there depends on the error to be reached, which noise and measuring make harder.
func (s checks) checkIgnored(change func(w *pluginv1.Setting), whether, remedy string, premises ...string) error {
	if s.setting.Rounds > 0 {
		return nil
	}
	coarse, err := s.bounds(s.setting)
	if err != nil {
		return err
	}
	fine, err := s.bounds(s.finer(func(*pluginv1.Setting) {}))
	if err != nil {
		return err
	}
	changed, err := s.bounds(s.finer(change))
	if err != nil {
		return err
	}
	for _, b := range changed {
		before, start := sameBound(b, fine), sameBound(b, coarse)
		if !b.Proved || b.Fails != "" || math.IsInf(b.Value, 1) || before == nil || before.Value != b.Value ||
			start == nil || start.Value >= b.Value || states(b, premises...) {
			continue
		}
		return fmt.Errorf("bound %q is %v at alpha = %v whether %s: %s, or state the premise %s", b.Name, b.Value,
			s.setting.Alpha/4, whether, remedy, strings.Join(premises, " or "))
	}
	return nil
}
