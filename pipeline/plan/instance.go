package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/problem/adversary"
	"github.com/shatterlab/shatter/pipeline/problem/prior"
	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// instance is a draft whose problem has been opened, and whose adversary and reference error are
// resolved for that problem.
type instance struct {
	*draft
	problem   *opened
	adversary *schemas.Adversary // nil in task learn
	above     float64            // the reference error
	measured  *measured          // nil where the problem could not be opened
	wrong     bool               // a mistake was found
}

// opened is a problem that instances share.
type opened struct {
	resolved   schemas.Problem
	sampled    trial.Fragment // what samples depend on
	dataKey    trial.Key
	public     *pluginv1.Problem
	population *trial.Population // nil for a law
	problem    *problem.Problem
	best       *reference // nil: not asked for yet
	priors     map[prior.Goal]*trial.Prior
	measured   map[measurement]*measured
	err        error // that it cannot be resolved or opened
}

// measured is a problem with the number of its evaluation points, and what follows from that.
type measured struct {
	resolved   schemas.Problem
	canonical  trial.Fragment
	evaluation problem.Evaluation
}

// measurement is what the number of evaluation points depends on beside the problem.
type measurement struct {
	goal   prior.Goal
	states bool // those of states before the final one count

	sequential bool // not all points are read, if the problem is one for that
	declared   bool // each model is a declared hypothesis of the class
}

// measure returns the problem with the number of evaluation points that suits the draft, which is
// computed once for each goal.
func (p *opened) measure(d *draft, above float64) (*measured, error) {
	return p.measureBy(d, measurement{
		goal: prior.Goal{Above: above, Alpha: d.setting.alpha}, states: trial.Probes(d.setting.states),
		sequential: d.entry.grid.Sequential() && d.setting.alpha > 0,
	})
}

// measureDeclared does what measure does, for an algorithm that declares a hypothesis of the class in each trial. The
// problem has a formula for their errors.
func (p *opened) measureDeclared(d *draft, above float64) (*measured, error) {
	return p.measureBy(d, measurement{goal: prior.Goal{Above: above, Alpha: d.setting.alpha}, declared: true})
}

func (p *opened) measureBy(d *draft, of measurement) (*measured, error) {
	if m, ok := p.measured[of]; ok {
		return m, nil
	}
	m := &measured{resolved: p.resolved}
	m.resolved.Test = 0
	if !d.entry.grid.File.Task().Rounds() && !of.declared {
		m.resolved.Test = p.problem.Test(of.goal.Above, of.goal.Alpha)
	}
	if m.evaluation = problem.Computed; !of.declared {
		m.evaluation = p.problem.Evaluation(of.goal.Above+of.goal.Alpha, m.resolved.Test, of.states)
	}
	if of.sequential {
		m.evaluation = p.problem.Sequential(m.evaluation)
	}
	var err error
	if m.canonical, err = trial.Canonical(m.resolved); err != nil {
		return nil, err
	}
	if p.measured == nil {
		p.measured = map[measurement]*measured{}
	}
	p.measured[of] = m
	return m, nil
}

// prior returns what a learner without data reaches; nil if that is not known, or trials are games.
func (x *instance) prior() *trial.Prior {
	if x.entry.grid.File.Task().Rounds() {
		return nil
	}
	return x.problem.prior(prior.Goal{Above: x.above, Alpha: x.setting.alpha})
}

// prior returns what a learner without data reaches, which is computed once for each goal; nil where
// that is not known, or alpha is 0 because no trial succeeds.
func (p *opened) prior(g prior.Goal) *trial.Prior {
	found, ok := p.priors[g]
	if ok || g.Alpha == 0 {
		return found
	}
	if share, known := prior.Success(&p.resolved, p.public.GetMatrix(), g); known {
		found = &trial.Prior{Success: share, Drawn: prior.Drawn(&p.resolved)}
	}
	if p.priors == nil {
		p.priors = map[prior.Goal]*trial.Prior{}
	}
	p.priors[g] = found
	return found
}

// reference is the least error of a class on a problem.
type reference struct {
	value float64
	err   error
}

// opener opens each distinct problem of a sweep once.
type opener struct {
	*sweep.Reporter
	options  Options
	known    map[string]*opened
	sound    map[*sweep.Block]soundness
	warnings []string
}

// soundness says what of a grid was right before its problems were opened.
type soundness struct{ problem, goal, adversary, n bool }

func soundnessOf(b *sweep.Block, r *sweep.Reporter) soundness {
	return soundness{
		problem: b.Sound(r, "problem", "zip", "exclude"), goal: b.Sound(r, "goal"),
		adversary: b.Sound(r, "adversary", "queries", "rounds"), n: b.Sound(r, "n"),
	}
}

// open resolves and opens the problems of the drafts whose grids have no mistake in theirs. It
// reports problems, adversaries and references that cannot be had.
func open(r *sweep.Reporter, opts Options, drafts []draft) (all []instance, warnings []string, err error) {
	o := &opener{Reporter: r, options: opts, known: map[string]*opened{}, sound: map[*sweep.Block]soundness{}}
	for _, d := range drafts {
		if _, ok := o.sound[d.entry.grid]; !ok {
			o.sound[d.entry.grid] = soundnessOf(d.entry.grid, r)
		}
	}
	all = make([]instance, 0, len(drafts))
	bySpec := map[*schemas.Problem]*opened{} // drafts of an entry share their specifications
	for i := range drafts {
		d := &drafts[i]
		sound, before := o.sound[d.entry.grid], r.Count()
		if !sound.problem {
			continue
		}
		p, ok := bySpec[d.setting.problem]
		if !ok {
			if p, err = o.once(*d.setting.problem); err != nil {
				return nil, nil, err
			}
			bySpec[d.setting.problem] = p
			if p.err != nil {
				o.blame(d, p.err)
			}
		}
		x := instance{draft: d, problem: p}
		if sound.goal {
			x.above = o.reference(d, p)
			o.checkReach(&x)
			o.checkFloor(&x)
		}
		if sound.adversary {
			if x.adversary, err = resolveAdversary(d, p); err != nil {
				o.blame(d, err)
			}
		}
		x.wrong = !sound.goal || !sound.adversary || p.err != nil || p.best != nil && p.best.err != nil || r.Count() > before
		if p.err == nil {
			if x.measured, err = p.measure(d, x.above); err != nil {
				return nil, nil, err
			}
		}
		all = append(all, x)
	}
	return all, o.warnings, nil
}

// once resolves and opens a problem, unless an equal one was before.
func (o *opener) once(written schemas.Problem) (*opened, error) {
	id, err := trial.Canonical(written)
	if err != nil {
		return nil, err
	}
	file, err := o.options.fileOf(&written)
	if err != nil {
		return nil, err
	}
	key := string(id) + file
	if p, ok := o.known[key]; ok {
		return p, nil
	}
	p := &opened{}
	o.known[key] = p
	if p.problem, p.err = o.options.Kept.Open(written, file); p.err != nil {
		return p, nil
	}
	p.resolved, p.public = p.problem.Resolved(), p.problem.Public()
	known := p.problem.Summary()
	if rows := known.Rows; rows > 0 {
		share := func(count int) float64 { return float64(count) / float64(rows) }
		p.population = &trial.Population{Positive: share(known.Positive), Pulled: share(known.Pulled)}
	}
	if known.Pulled > 0 {
		warning := fmt.Sprintf("%s: %d of %d rows lie beyond the stated scale and are pulled back onto it", file,
			known.Pulled, known.Rows)
		if !slices.Contains(o.warnings, warning) {
			o.warnings = append(o.warnings, warning)
		}
	}
	if p.sampled, err = trial.Canonical(p.resolved.Sampled()); err != nil {
		return nil, err
	}
	p.dataKey, err = seedOf(o.File).DataKey(p.sampled)
	return p, err
}

// blame reports a problem's error at the value of the draft that caused it.
func (o *opener) blame(d *draft, err error) {
	e := d.entry
	var keyed *problem.Error
	if !errors.As(err, &keyed) {
		o.At(e.grid.Path("problem"), "%v", err)
		return
	}
	root, _, _ := strings.Cut(keyed.Key, ".")
	path := e.grid.Path(root) + strings.TrimPrefix(keyed.Key, root)
	options := d.options()
	for i := range e.axes {
		if inner, ok := strings.CutPrefix(path, e.axes[i].path); ok && (inner == "" || inner[0] == '.') {
			path = e.axes[i].options[options[i]].path + inner
			break
		}
	}
	o.At(path, "%s", keyed.Reason)
}

// reference returns the draft's reference error: a number, or the least error of the class.
func (o *opener) reference(d *draft, p *opened) float64 {
	if !d.setting.above.Best || p.err != nil {
		return d.setting.above.Value
	}
	known := p.best != nil
	value, err := p.least()
	if err != nil && !known {
		var keyed *problem.Error
		message := err.Error()
		if errors.As(err, &keyed) {
			message = keyed.Reason
		}
		o.At(d.entry.grid.Path("goal", "above"), "%s", message)
	}
	return value
}

// least returns the least error of the class on the problem, which is computed once.
func (p *opened) least() (float64, error) {
	if p.best == nil {
		value, err := p.problem.Best()
		p.best = &reference{value, err}
	}
	return p.best.value, p.best.err
}

// checkReach reports a goal that coins reach: an error of 1/2.
func (o *opener) checkReach(x *instance) {
	alpha := x.setting.alpha
	if x.entry.grid.Goal == nil || !numeric.Within(0.5, x.above, alpha) {
		return
	}
	path := x.entry.grid.Path("goal", "above")
	if !o.File.Has(path) {
		path = x.entry.grid.Path("goal", "alpha")
	}
	o.At(path, "alpha %v above the reference %v allows an error of %v, and coins reach 1/2 without data: "+
		"their sum has to be below 1/2", alpha, x.above, x.above+alpha)
}

// checkFloor reports a search for a goal that noise puts out of reach at every sample size.
func (o *opener) checkFloor(x *instance) {
	if x.problem.err != nil || !o.sound[x.entry.grid].n || searchOf(x.entry.grid) == nil {
		return
	}
	most := x.setting.alpha + x.above
	if floor := x.problem.problem.Floor(); floor > 0 && most <= floor {
		o.blame(x.draft, &problem.Error{Key: "goal.alpha", Reason: fmt.Sprintf("an error of at most %v is at or below the "+
			"rate %v of %s noise, under which samples of any size look as if a target at that distance had labelled "+
			"them: no learner can be promised to reach it, so there is no n to find; raise alpha, lower noise.rate, or list "+
			"sample sizes", most, floor, x.setting.problem.Noise.Kind)})
	}
}

// resolveAdversary returns the draft's adversary as it is for the problem, nil where the task has
// none or the problem could not be opened.
func resolveAdversary(d *draft, p *opened) (*schemas.Adversary, error) {
	if d.setting.adversary == nil || p.err != nil {
		return d.setting.adversary, nil
	}
	a := *d.setting.adversary
	rounds := d.entry.grid.File.Task().Rounds()
	if rounds {
		if err := checkComparator(p); err != nil {
			return &a, err
		}
	}
	if err := adversary.Resolve(rounds, &p.resolved, &a); err != nil {
		return &a, err
	}
	return &a, adversary.CheckRounds(&p.resolved, d.entry.grid.MostRounds())
}

// checkComparator refuses a class whose least loss in hindsight has no exact method, and noise,
// which the adversary of an online game makes itself.
func checkComparator(p *opened) error {
	if p.resolved.Noise.Rate > 0 {
		return &problem.Error{Key: "problem.noise", Reason: "does not apply to task online, where the adversary says the " +
			"truths; leave it out, or set adversary: {kind: planted, rate: ...}"}
	}
	class, err := concept.New(concept.SpecOf(p.public))
	if err == nil && !concept.InfiniteThresholds(class.Name()) { // of these the best one is known without a profile
		_, err = class.NewProfile()
	}
	if err != nil {
		return &problem.Error{Key: "problem.class", Reason: fmt.Sprintf(
			"regret needs the least loss of the class in hindsight, and there is: %v; choose another class", err)}
	}
	return nil
}
