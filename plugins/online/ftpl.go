package online

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

// Follow-the-perturbed-leader plays, in each round, the hypothesis with the least cumulative loss
// plus eta times random noise. The algorithms differ in the noise and in the choice of eta; their
// guarantees are proved in ftpl_theory.go.
//
// Fresh noise in each round keeps these guarantees against adversaries that adapt to past plays, as
// long as they choose the truth of a round without having seen its answer: the answer is drawn
// already, and an adversary that contradicts it makes the learner lose every round. Noise that is
// drawn once keeps the guarantees only for sequences that were fixed beforehand, because past plays
// reveal the future noise to an adversary. An algorithm that answers the mean over the noise draws
// nothing that an adversary could see.

// ftplPlugins returns the follow-the-perturbed-leader algorithms.
func ftplPlugins() []algo.Plugin {
	known := new(sites)
	return []algo.Plugin{
		ftplGaussian(known), ftplIID(known), ftplUniform(known), ftplLaplace(known), ftplApproximable(known),
		ftplReal(known),
	}
}

// ftpl completes an algorithm whose settings resolve to plans.
func ftpl[P any](
	a algo.Algorithm[P], known *sites, resolve func(known *sites, s *algo.Setting[P]) (*plan, error),
) algo.Algorithm[P] {
	a = complete(a, func(s *algo.Setting[P]) (*plan, error) {
		return resolve(known, s)
	}, func(t *algo.Trial[P], p *plan) (algo.Learner, error) {
		l, err := p.start(t.Rand, t.Report)
		if err != nil {
			return nil, err
		}
		l.unproved = !p.holds(t.Sees)
		return l, nil
	}, func(_ *algo.Setting[P], p *plan) []algo.Bound {
		return p.bounds
	})
	a.Version = "1.2.0"
	return a
}

// Values of the parameter noise of most of these algorithms.
const (
	freshNoise = "fresh"
	onceNoise  = "once"
)

// A plan describes the games of one algorithm under one setting.
type plan struct {
	site     *site
	tuning   tuning
	noise    noise
	rounds   int
	lnF      float64                     // logarithm of the number of hypotheses
	schedule func() schedule             // makes the schedule of a new game
	printed  func(lstar float64) float64 // a paper's bound on the regret; nil if there is none
	bounds   []algo.Bound                // bounds at the parameter lstar
	premises []algo.Premise              // premises of all bounds
}

// holds reports whether the premises hold against an adversary that sees the given part of the
// answers.
func (p *plan) holds(sees algo.Sight) bool {
	return (sees == algo.SeesNothing || !slices.Contains(p.premises, algo.FixedBeforehand)) &&
		(sees != algo.SeesAnswers || !slices.Contains(p.premises, algo.UnseenAnswer))
}

// A chooser tracks the losses of the hypotheses and chooses the hypothesis to play.
type chooser interface {
	// observe counts a round. changed reports whether some hypotheses lost and others did not.
	// moved is the probability, given the known part of the noise, that the losses of this round
	// alone change the hypothesis played; see ftpl_stability.go.
	observe(x []float64, y float64) (changed bool, moved float64, err error)
	// restart discards the losses so far.
	restart()
	// least returns the least loss of a hypothesis since the last restart.
	least() (int, error)
	// overall returns the least loss of a hypothesis in all rounds.
	overall() (int, error)
	// draw draws noise, unless it is kept, and chooses the hypothesis that predict answers with.
	draw(scale float64, r *rand.Rand) error
	// predict writes the answers to the points x (row-major) to out.
	predict(x, out []float64)
}

func (p *plan) newChooser(r *rand.Rand) (chooser, error) {
	switch {
	case p.site.single:
		return &lone{h: p.site.class.Member(0)}, nil
	case p.site.listing != nil:
		return newTable(p.site, p.noise, r), nil
	}
	return newSearch(p.site, p.noise, r)
}

// lone is the chooser of a class with a single hypothesis.
type lone struct {
	h    concept.Hypothesis
	lost int
}

func (l *lone) observe(x []float64, y float64) (changed bool, moved float64, err error) {
	if !agrees(l.h, x, y) {
		l.lost++
	}
	return false, 0, nil
}

func (l *lone) restart()                       {}
func (l *lone) least() (int, error)            { return l.lost, nil }
func (l *lone) overall() (int, error)          { return l.lost, nil }
func (l *lone) draw(float64, *rand.Rand) error { return nil }
func (l *lone) predict(x, out []float64)       { l.h.Labels(x, out) }

// perturbedLeader plays one game of a plan.
type perturbedLeader struct {
	*plan
	chooser
	schedule
	rand     *rand.Rand
	report   func(name string, value float64)
	unproved bool    // the premises of the bounds do not hold, so no bound is reported
	played   int     // rounds so far
	kept     int     // rounds since the last restart
	drawn    float64 // scale of the noise of the current round
	moved    float64 // sum of moved, as returned by observe, over the rounds so far
	oracle   oracle
}

// start begins a game, with the noise of the first round.
func (p *plan) start(r *rand.Rand, report func(name string, value float64)) (*perturbedLeader, error) {
	c, err := p.newChooser(r)
	if err != nil {
		return nil, err
	}
	l := &perturbedLeader{plan: p, chooser: c, schedule: p.schedule(), rand: r, report: report}
	l.drawn = l.scale()
	return l, l.choose()
}

func (l *perturbedLeader) choose() error {
	l.oracle.call(l.kept + l.points())
	return l.draw(l.drawn, l.rand)
}

// Predict implements algo.Model.
func (l *perturbedLeader) Predict(_ context.Context, x *algo.Data, out []float64) error {
	for i := range x.Len() {
		if err := l.site.domain.Check(x.X(i)); err != nil {
			return fmt.Errorf("online: point of round %d: %w", l.played+i+1, err)
		}
	}
	l.predict(x.Xs(), out)
	return nil
}

// Observe implements algo.Learner.
func (l *perturbedLeader) Observe(_ context.Context, x *algo.Data, y []float64) error {
	for i, truth := range y {
		err := l.site.domain.Check(x.X(i))
		if err == nil {
			err = l.round(x.X(i), truth)
		}
		if err != nil {
			return fmt.Errorf("online: round %d: %w", l.played+1, err)
		}
	}
	return nil
}

// round counts a round and chooses the hypothesis of the next one.
func (l *perturbedLeader) round(x []float64, y float64) error {
	if y != 1 && y != -1 {
		return fmt.Errorf("label %v: neither -1 nor +1", y)
	}
	changed, moved, err := l.observe(x, y)
	if err != nil {
		return err
	}
	l.moved += moved
	l.played++
	l.kept++
	if changed, err = l.reschedule(changed); err != nil {
		return err
	}
	if l.played == l.rounds {
		return l.reportBounds()
	}
	if !changed && (l.noise.once || l.noise.exact) {
		return nil // the noise or its distribution is the same, and so are the differences of the losses
	}
	return l.choose()
}

// reschedule passes a round to the schedule, restarts if the schedule requires it, and reports
// whether the next round may be played differently. changed reports whether the losses alone allow
// that.
func (l *perturbedLeader) reschedule(changed bool) (bool, error) {
	restart, err := l.after(func() (int, error) {
		l.oracle.call(l.kept)
		return l.least()
	})
	if err != nil {
		return false, err
	}
	if restart {
		l.restart()
		l.kept, changed = 0, true
	}
	if scale := l.scale(); scale != l.drawn {
		l.drawn, changed = scale, true
	}
	return changed, nil
}

// reportBounds reports the scale of the noise, the measurements and the bounds after the last
// round.
func (l *perturbedLeader) reportBounds() error {
	l.report("eta", l.drawn)
	l.reportStability()
	if l.unproved {
		return nil
	}
	proved, printed, err := l.promises()
	if err != nil {
		return err
	}
	l.report(algo.ProvedRegret, proved)
	if l.printed != nil {
		l.report(algo.PrintedRegret, printed)
	}
	return l.reportProvedStability()
}

// promises returns the bounds on the expected regret of the rounds so far; printed is NaN if there
// is none. No regret is above T - L*.
func (l *perturbedLeader) promises() (proved, printed float64, err error) {
	least, err := l.least()
	if err != nil {
		return 0, 0, err
	}
	lstar, err := l.overall()
	if err != nil {
		return 0, 0, err
	}
	proved, printed = float64(l.played-lstar), math.NaN()
	if r := l.regret(least, lstar); r < proved { // r may be 0 times infinity, with almost no noise
		proved = r
	}
	if l.printed != nil {
		printed = l.printed(float64(lstar))
	}
	return proved, printed, nil
}

// newPlan makes the plan of an algorithm for a setting with the given problem and rounds. It calls
// finish to set the noise, the schedule and the bounds, except for a single hypothesis, which needs
// no noise.
func newPlan(known *sites, problem algo.Problem, rounds int, t tuning, finish func(p *plan) error) (*plan, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	s, err := known.at(finite.PlaceOf(problem, t.separator, t.codeSeed))
	if err != nil {
		return nil, err
	}
	p := &plan{site: s, tuning: t, rounds: rounds, lnF: s.class.LogSize(), premises: t.premises()}
	p.noise.once, p.noise.exact = t.noise == onceNoise, t.exact
	if !s.single {
		err := finish(p)
		for i := range p.bounds {
			p.bounds[i].Premises = p.premises
		}
		return p, err
	}
	p.premises = nil
	free := price{stability: func(float64) float64 { return 0 }}
	p.schedule = func() schedule { return &constant{free, 1} }
	p.bounds = []algo.Bound{{Name: "single", Source: "a single hypothesis has no regret", Proved: true}}
	return p, nil
}

// maxExact limits the number of hypotheses whose probabilities are computed in each round.
const maxExact = 128

// checkExact returns an Invalid error if exact is set and the hypotheses do not have independent
// noise, or are too many.
func (p *plan) checkExact() error {
	switch {
	case !p.noise.exact:
		return nil
	case p.noise.distribution == nil || !p.noise.distribution.normal:
		return algo.Invalid("online: exact requires Gaussian noise that is independent for all hypotheses: " +
			"use online/ftpl-iid, or parities with separator cube")
	case p.site.listing == nil || p.site.listing.size > maxExact:
		return algo.Invalid("online: exact with %v hypotheses: the limit is %d", p.site.class.Size(), maxExact)
	case p.noise.once:
		return algo.Invalid("online: exact is not allowed with noise %s: there is nothing to average", onceNoise)
	}
	return nil
}

// setSchedule sets the schedule and the proved bound: that on games in which some hypothesis loses
// at most lstar, or +Inf if the schedule has no bound before L* is known. cost returns the price of
// noise that may fail with total probability share in all rounds. paper returns the scale of
// paperSchedule at lstar; it is nil for algorithms without this schedule.
func (p *plan) setSchedule(cost func(share float64) price, paper func(lstar float64) float64, source string) {
	full, lstar, eta := cost(1), p.lstar(), p.tuning.eta
	switch p.tuning.schedule {
	case confidentSchedule:
		half := cost(0.5) // each round may fail with probability 1/(2T)
		p.schedule = func() schedule { return newConfident(half, p.lnF, p.tuning.floor, p.tuning.factor) }
		p.setProved(source+"; known only after the game", math.Inf(1))
		return
	case doublingSchedule:
		p.schedule = func() schedule { return newDoubling(full, p.lnF) }
		p.setProved(source+"; known only after the game", math.Inf(1))
		return
	case paperSchedule:
		eta = paper(lstar)
	case provedSchedule:
		eta = full.least(lstar)
	}
	p.schedule = func() schedule { return &constant{full, eta} }
	p.setProved(source+"; its value beforehand is that at L* = lstar", full.bound(eta, lstar))
}

// setProved sets the proved bound. The schedule must be set.
func (p *plan) setProved(source string, value float64) {
	p.bounds = append(p.bounds, algo.Bound{
		Name: "explicit", Source: source, Value: value, Proved: true, With: p.values(),
	})
}

// setPrinted sets a paper's bound on games in which some hypothesis loses at most lstar.
func (p *plan) setPrinted(name, source string, bound func(lstar float64) float64) {
	p.printed = bound
	p.bounds = append(p.bounds, algo.Bound{Name: name, Source: source, Value: bound(p.lstar()), With: p.values()})
}

// setRate sets a paper's bound of which only the order is printed, with all constants set to 1.
func (p *plan) setRate(name, source string, bound func(lstar float64) float64) {
	p.setPrinted(name, source+", constants 1", bound)
	p.bounds[len(p.bounds)-1].Order = true
}

// values returns the quantities that the bounds use.
func (p *plan) values() map[string]float64 {
	with := map[string]float64{"ln_f": p.lnF, "lstar": p.lstar(), "eta": p.schedule().scale()}
	if z := p.site.separator; z != nil {
		with["m"], with["h"] = float64(z.Len()), float64(z.Hamming)
		with["rho_01"], with["rho_pm"] = z.Rho01(), z.RhoPM()
	}
	return with
}

// lstar resolves the parameter lstar: its default is the number of rounds, which is always enough.
func (p *plan) lstar() float64 {
	if p.tuning.lstar == -1 {
		return float64(p.rounds)
	}
	return p.tuning.lstar
}

// A tuning holds the parameters that several of the algorithms share. The zero value represents a
// parameter that an algorithm does not have, except that lstar is -1 then.
type tuning struct {
	schedule      string
	eta, lstar    float64
	floor, factor float64 // eta_min and factor of schedule self-confident
	noise         string
	exact         bool
	separator     string // "": noise that is independent for all hypotheses
	codeSeed      int
}

// premises returns the premises of the bounds. The bounds are on the expected loss given the past
// truths and the truth of the round, which must not depend on the noise of that round; noise that
// is drawn once was visible in earlier rounds. A mean is not a draw.
func (t *tuning) premises() []algo.Premise {
	switch {
	case t.exact:
		return nil
	case t.noise == onceNoise:
		return []algo.Premise{algo.FixedBeforehand}
	}
	return []algo.Premise{algo.UnseenAnswer}
}

// maxScale keeps the objective finite.
const maxScale = 1e100

// check returns an Invalid error if the parameters contradict each other.
func (t *tuning) check() error {
	adaptive := t.schedule == confidentSchedule || t.schedule == doublingSchedule
	switch {
	case t.schedule != fixedSchedule && t.eta != 0:
		return algo.Invalid("online: eta %g is not used by schedule %s: omit it, or use schedule %s",
			t.eta, t.schedule, fixedSchedule)
	case !(t.eta <= maxScale && t.floor <= maxScale && t.factor <= maxScale):
		return algo.Invalid("online: noise of scale %g exceeds the limit %g", max(t.eta, t.floor, t.factor), maxScale)
	case t.lstar != -1 && !(t.lstar >= 0 && t.lstar <= math.MaxInt32):
		return algo.Invalid("online: lstar %g: use a nonnegative number of mistakes, or -1 for the number of rounds", t.lstar)
	case t.lstar != -1 && adaptive:
		return algo.Invalid("online: lstar is not used by schedule %s, which estimates it: omit it", t.schedule)
	case t.schedule == confidentSchedule && !(t.floor > 0 || t.factor > 0):
		return algo.Invalid("online: schedule %s without noise: use eta_min or factor above 0, or schedule %s",
			confidentSchedule, fixedSchedule)
	}
	return nil
}
