package online

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

// Follow-the-perturbed-leader: in each round play the hypothesis with the least cumulative loss plus eta times random noise. The algorithms
// differ in the noise and in how eta is chosen; what they promise is in ftpl_theory.go.
//
// Noise that is drawn afresh in each round keeps these promises against adversaries that adapt to what was played. Noise that is drawn once
// keeps them only for sequences that were fixed beforehand: an adversary who finds it out makes the learner lose every round.

func ftplPlugins() []algo.Plugin {
	known := new(sites)
	return []algo.Plugin{ftplGaussian(known), ftplIID(known), ftplUniform(known), ftplLaplace(known), ftplApproximable(known)}
}

// Values of the parameter noise of most of these algorithms.
const (
	freshNoise = "fresh"
	onceNoise  = "once"
)

// ftplMetrics are those of all these algorithms.
func ftplMetrics(printed string) map[string]string {
	m := map[string]string{
		"proved_regret": "proved bound on the expected regret, at the least loss L* of a hypothesis in hindsight, or the rounds less L* where these are fewer",
		"eta":           "scale of the noise in the last round",
	}
	if printed != "" {
		m["printed_regret"] = printed
	}
	return m
}

// plan is one algorithm under one setting.
type plan struct {
	at       *site
	noise    noise
	rounds   int
	schedule func() schedule             // a new one
	printed  func(lstar float64) float64 // a paper's bound on the regret; nil: none
	bounds   []algo.Bound                // those at the parameter lstar
}

// field is where the losses and the noise meet.
type field interface {
	observe(x []float64, y float64) (changed bool, err error) // changed: hypotheses lost differently
	restart()                                                 // forgets the losses
	least() (int, error)                                      // of a hypothesis since the last restart
	overall() (int, error)                                    // in all rounds
	draw(scale float64, r *rand.Rand) error                   // chooses what predict answers
	predict(x, out []float64)
}

func (p *plan) newField(r *rand.Rand) (field, error) {
	switch {
	case p.at.single:
		return &lone{h: p.at.class.Member(0)}, nil
	case p.at.listing != nil:
		return newTable(p.at, p.noise, r), nil
	}
	return newSearch(p.at, p.noise, r)
}

// lone is the field of a single hypothesis.
type lone struct {
	h    concept.Hypothesis
	lost int
}

func (l *lone) observe(x []float64, y float64) (changed bool, err error) {
	var label [1]float64
	if l.h.Labels(x, label[:]); label[0] != y {
		l.lost++
	}
	return false, nil
}

func (l *lone) restart()                       {}
func (l *lone) least() (int, error)            { return l.lost, nil }
func (l *lone) overall() (int, error)          { return l.lost, nil }
func (l *lone) draw(float64, *rand.Rand) error { return nil }
func (l *lone) predict(x, out []float64)       { l.h.Labels(x, out) }

// perturbedLeader plays one game.
type perturbedLeader struct {
	*plan
	field
	schedule
	rand   *rand.Rand
	report func(name string, value float64)
	played int     // rounds
	drawn  float64 // the scale of the noise of the present round
}

func (p *plan) start(r *rand.Rand, report func(name string, value float64)) (*perturbedLeader, error) {
	f, err := p.newField(r)
	if err != nil {
		return nil, err
	}
	l := &perturbedLeader{plan: p, field: f, schedule: p.schedule(), rand: r, report: report}
	l.drawn = l.scale()
	return l, l.draw(l.drawn, r)
}

// Predict implements algo.Model.
func (l *perturbedLeader) Predict(_ context.Context, x *algo.Data, out []float64) error {
	for i := range x.Len() {
		if err := l.at.check(x.X(i)); err != nil {
			return fmt.Errorf("online: point of round %d: %w", l.played+i+1, err)
		}
	}
	l.predict(x.Xs(), out)
	return nil
}

// Observe implements algo.Learner.
func (l *perturbedLeader) Observe(_ context.Context, x *algo.Data, y []float64) error {
	for i, truth := range y {
		err := l.at.check(x.X(i))
		if err == nil {
			err = l.round(x.X(i), truth)
		}
		if err != nil {
			return fmt.Errorf("online: round %d: %w", l.played+1, err)
		}
	}
	return nil
}

func (l *perturbedLeader) round(x []float64, y float64) error {
	if y != 1 && y != -1 {
		return fmt.Errorf("label %v: neither -1 nor +1", y)
	}
	changed, err := l.observe(x, y)
	if err != nil {
		return err
	}
	l.played++
	if changed, err = l.learn(changed); err != nil {
		return err
	}
	if l.played == l.rounds {
		return l.tell()
	}
	if !changed && (l.noise.once || l.noise.exact) {
		return nil // the same noise or law, and the same differences
	}
	return l.draw(l.drawn, l.rand)
}

// learn tells the schedule of the round, and gives whether the next one may be played otherwise.
func (l *perturbedLeader) learn(changed bool) (bool, error) {
	restart, err := l.after(l.least)
	if err != nil {
		return false, err
	}
	if restart {
		l.restart()
		changed = true
	}
	if scale := l.scale(); scale != l.drawn {
		l.drawn, changed = scale, true
	}
	return changed, nil
}

// tell reports the bounds after the last round.
func (l *perturbedLeader) tell() error {
	proved, printed, err := l.promises()
	if err != nil {
		return err
	}
	for name, value := range map[string]float64{"proved_regret": proved, "printed_regret": printed, "eta": l.drawn} {
		if name == "printed_regret" && l.printed == nil || math.IsNaN(value) || math.IsInf(value, 0) {
			continue
		}
		l.report(name, value)
	}
	return nil
}

// promises are the bounds on the expected regret of the rounds so far; NaN where there is none. No regret is above T - L*.
func (l *perturbedLeader) promises() (proved, printed float64, err error) {
	least, err := l.least()
	if err != nil {
		return 0, 0, err
	}
	lstar, err := l.overall()
	if err != nil {
		return 0, 0, err
	}
	proved, printed = min(l.regret(least, lstar), float64(l.played-lstar)), math.NaN()
	if l.printed != nil {
		printed = l.printed(float64(lstar))
	}
	return proved, printed, nil
}

// newPlan has what does not depend on the noise, and the whole plan for a single hypothesis: it needs none.
func newPlan(known *sites, at finite.Place, rounds int, c *choice) (*plan, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	s, err := known.at(at)
	if err != nil {
		return nil, err
	}
	c.rounds, c.lnF = rounds, s.class.LogSize()
	p := &plan{at: s, rounds: rounds}
	if s.single {
		free := price{stability: func(float64) float64 { return 0 }}
		p.schedule = func() schedule { return &constant{free, 1} }
		p.bounds = []algo.Bound{{Name: "single", Source: "a single hypothesis has no regret", Proved: true}}
	}
	return p, nil
}

// maxExact is the most hypotheses whose probabilities are computed in each round.
const maxExact = 128

// checkExact refuses exact where there is no law of each hypothesis, or too many.
func (p *plan) checkExact() error {
	switch {
	case !p.noise.exact:
		return nil
	case p.noise.law == nil || !p.noise.law.normal:
		return algo.Invalid("online: exact needs Gaussian noise that is independent for all hypotheses: take online/ftpl-iid, or parities with separator cube")
	case p.at.listing == nil || p.at.listing.size > maxExact:
		return algo.Invalid("online: exact for %v hypotheses: at most %d", p.at.class.Size(), maxExact)
	case p.noise.once:
		return algo.Invalid("online: exact has no meaning with noise %s: there is nothing to average", onceNoise)
	}
	return nil
}

// choose sets the schedule, and the bound at lstar where it has one beforehand. cost is the price of noise that may fail with probability
// share in all rounds together.
func (p *plan) choose(c *choice, cost func(share float64) price, source string) {
	full := cost(1)
	p.schedule = c.schedules(full, cost(0.5))
	if c.schedule == confidentSchedule || c.schedule == doublingSchedule {
		return
	}
	value := full.bound(p.schedule().scale(), expected(c.lstar, c.rounds))
	p.bounds = append(p.bounds, algo.Bound{Name: "explicit", Source: source, Value: value, Proved: true, With: p.values(c)})
}

// print adds a paper's bound.
func (p *plan) print(c *choice, name, source string, bound func(lstar float64) float64) {
	p.printed = bound
	p.bounds = append(p.bounds, algo.Bound{Name: name, Source: source, Value: bound(expected(c.lstar, c.rounds)), With: p.values(c)})
}

// values are what the bounds rest on.
func (p *plan) values(c *choice) map[string]float64 {
	with := map[string]float64{"ln_f": c.lnF, "lstar": expected(c.lstar, c.rounds), "eta": p.schedule().scale()}
	if z := p.at.separator; z != nil {
		with["m"], with["h"] = float64(z.Len()), float64(z.Hamming)
		with["rho_01"], with["rho_pm"] = z.Rho01(), z.RhoPM()
	}
	return with
}

// choice is the parameters that choose a schedule, and what it depends on.
type choice struct {
	schedule      string
	eta, lstar    float64
	floor, factor float64
	paper         func(lstar float64) float64 // the scale of paperSchedule
	rounds        int
	lnF           float64
}

// maxScale keeps the objective finite.
const maxScale = 1e100

// check refuses values that do not go together.
func (c *choice) check() error {
	adaptive := c.schedule == confidentSchedule || c.schedule == doublingSchedule
	switch {
	case c.schedule != fixedSchedule && c.eta != 0:
		return algo.Invalid("online: eta %g has no meaning with schedule %s: leave it out, or take schedule %s", c.eta, c.schedule, fixedSchedule)
	case !(c.eta <= maxScale && c.floor <= maxScale && c.factor <= maxScale):
		return algo.Invalid("online: noise of scale %g: at most %g", max(c.eta, c.floor, c.factor), maxScale)
	case c.lstar != -1 && !(c.lstar >= 0 && c.lstar <= math.MaxInt32):
		return algo.Invalid("online: lstar %g: use a number of mistakes from 0 on, or -1 for the number of rounds", c.lstar)
	case c.lstar != -1 && adaptive:
		return algo.Invalid("online: lstar has no meaning with schedule %s, which finds it out: leave it out", c.schedule)
	case c.schedule == confidentSchedule && !(c.floor > 0 || c.factor > 0):
		return algo.Invalid("online: schedule %s without noise: use eta_min or factor above 0, or schedule %s", confidentSchedule, fixedSchedule)
	}
	return nil
}

// expected is the parameter lstar with its default: T is always enough.
func expected(lstar float64, rounds int) float64 {
	if lstar == -1 {
		return float64(rounds)
	}
	return lstar
}

// schedules makes schedules for noise with this price. half has half of its slack: self-confident may fail in each round with probability
// 1/(2T).
func (c *choice) schedules(full, half price) func() schedule {
	lstar, eta := expected(c.lstar, c.rounds), c.eta
	switch c.schedule {
	case confidentSchedule:
		return func() schedule { return newConfident(half, c.lnF, c.floor, c.factor) }
	case doublingSchedule:
		return func() schedule { return newDoubling(full, c.lnF) }
	case paperSchedule:
		eta = c.paper(lstar)
	case provedSchedule:
		eta = full.least(lstar)
	}
	return func() schedule { return &constant{full, eta} }
}
