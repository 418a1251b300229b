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

// checkBounds checks that the bounds can be computed, that each has a source, and that their
// premises include everything that they assume. To find missing premises it requests the bounds
// again in settings that differ from the current one in one fact.
func (s checks) checkBounds() error {
	list, err := s.bounds(s.setting)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return skipped("it has none in this setting")
	}
	for _, b := range list {
		if err := s.checkBound(b); err != nil {
			return err
		}
	}
	for _, u := range s.uses() {
		if !u.applies {
			continue
		}
		if err := s.checkUse(u); err != nil {
			return err
		}
	}
	for _, d := range s.difficulties() {
		if !d.applies {
			continue
		}
		if err := s.checkIgnored(d); err != nil {
			return err
		}
	}
	return nil
}

// bounds returns the bounds of a setting, with its parameters as Check resolves them. It returns
// none if the setting is rejected.
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

// with returns the current setting with one change.
func (s checks) with(change func(w *pluginv1.Setting)) *pluginv1.Setting {
	w := proto.CloneOf(s.setting)
	change(w)
	return w
}

// checkBound checks the properties of a single bound.
func (s checks) checkBound(b *pluginv1.Bound) error {
	if err := theory.Check(b, s.setting.Task); err != nil {
		return err
	}
	games := s.setting.Rounds > 0
	switch {
	case b.Source == "" || b.Value == 0 && !games:
		return fmt.Errorf("bound %q of source %q is %v: give a source and a positive number (or +Inf)",
			b.Name, b.Source, b.Value)
	case b.Proved && !games && b.Fails == "" && !states(b, theory.TargetInClass, theory.BestReference):
		return fmt.Errorf("bound %q has no premise about the labels: state the premise %s, or %s if it bounds "+
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

// A usedFact is a fact that bounds may depend on: a bound that has another value without it must
// have one of the premises for the fact.
type usedFact struct {
	applies   bool
	with      func(w *pluginv1.Setting) // changes a setting to one with the fact
	without   func(w *pluginv1.Setting)
	here      string // description of the setting with the fact
	elsewhere string
	premises  []string
}

func (s checks) uses() []usedFact {
	target := func(in bool) func(*pluginv1.Setting) {
		return func(w *pluginv1.Setting) { w.Problem.Realizable = in }
	}
	sees := func(what string) func(*pluginv1.Setting) { return func(w *pluginv1.Setting) { w.Sees = what } }
	sight := func(applies bool, less, more string) usedFact {
		return usedFact{
			applies, sees(less), sees(more), fmt.Sprintf("if Setting.sees is %q", less), fmt.Sprintf("if it is %q", more),
			[]string{theory.FixedBeforehand, theory.UnseenAnswer},
		}
	}
	return []usedFact{
		{
			true, target(true), target(false), "if problem.realizable is set", "if it is not",
			[]string{theory.TargetInClass},
		},
		sight(s.setting.Queries+s.setting.Rounds > 0, theory.SeesNothing, theory.SeesPast),
		sight(s.setting.Rounds > 0, theory.SeesPast, theory.SeesAnswers),
	}
}

// checkUse checks that the bounds that depend on a fact have a premise for it.
func (s checks) checkUse(u usedFact) error {
	using, err := s.bounds(s.with(u.with))
	if err != nil {
		return err
	}
	lacking, err := s.bounds(s.with(u.without))
	if err != nil {
		return err
	}
	for _, b := range using {
		other := sameBound(b, lacking)
		if b.Fails == "" && other != nil && other.Value != b.Value && !states(b, u.premises...) {
			return fmt.Errorf("bound %q is %v %s and %v %s: state the premise %s", b.Name, b.Value, u.here, other.Value,
				u.elsewhere, strings.Join(u.premises, " or "))
		}
	}
	return nil
}

// A difficulty is a change that makes a goal harder to reach: proved sample sizes must increase
// with it, or have one of the premises that exclude it.
type difficulty struct {
	applies  bool
	change   func(w *pluginv1.Setting)
	whether  string // description of the settings without it and with it
	remedy   string // alternative to stating a premise
	premises []string
}

func (s checks) difficulties() []difficulty {
	const randomRate, adversarialRate, points = 0.1, 0.05, 200
	noisy := func(kind string, rate float64, premises ...string) difficulty {
		return difficulty{
			s.setting.Rounds == 0 && s.setting.Problem.NoiseRate == 0,
			func(w *pluginv1.Setting) { w.Problem.Noise, w.Problem.NoiseRate = kind, rate },
			fmt.Sprintf("labels are clean or have %s noise at rate %v", kind, rate), "compute it from the noise", premises,
		}
	}
	sampled := func(w *pluginv1.Setting) { w.Test = points }
	_, _, safe := theory.GoalOf(s.finer(sampled)).Safe() // otherwise no bound can account for so few points
	return []difficulty{
		noisy("random", randomRate, theory.CleanLabels),
		noisy("adversarial", adversarialRate, theory.CleanLabels, theory.IndependentNoise),
		noisy("malicious", adversarialRate, theory.CleanLabels, theory.IndependentNoise),
		{
			s.setting.Rounds == 0 && s.setting.Test == 0 && safe, sampled,
			fmt.Sprintf("errors are computed exactly or measured on %d points", points), "compute it at Setting.Proof",
			[]string{theory.ExactError},
		},
	}
}

// finer returns the current setting with a change and a quarter of alpha.
func (s checks) finer(change func(w *pluginv1.Setting)) *pluginv1.Setting {
	return s.with(func(w *pluginv1.Setting) {
		w.Alpha /= 4
		change(w)
	})
}

// checkIgnored checks that the proved sample sizes that a difficulty leaves unchanged have one of
// its premises.
//
// If a bound is the maximum of several numbers, a change may rightly leave it unchanged. So
// checkIgnored makes the change at a quarter of alpha, and considers only bounds that the change of
// alpha has changed: their dominant term depends on the error to be reached, which noise and
// measurement make harder.
func (s checks) checkIgnored(d difficulty) error {
	coarse, err := s.bounds(s.setting)
	if err != nil {
		return err
	}
	fine, err := s.bounds(s.finer(func(*pluginv1.Setting) {}))
	if err != nil {
		return err
	}
	changed, err := s.bounds(s.finer(d.change))
	if err != nil {
		return err
	}
	for _, b := range changed {
		before, start := sameBound(b, fine), sameBound(b, coarse)
		if !b.Proved || b.Fails != "" || math.IsInf(b.Value, 1) || before == nil || before.Value != b.Value ||
			start == nil || start.Value >= b.Value || states(b, d.premises...) {
			continue
		}
		return fmt.Errorf("bound %q is %v at alpha = %v whether %s: %s, or state the premise %s", b.Name, b.Value,
			s.setting.Alpha/4, d.whether, d.remedy, strings.Join(d.premises, " or "))
	}
	return nil
}
