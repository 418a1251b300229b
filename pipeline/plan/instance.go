package plan

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/problem/adversary"
	"github.com/shatterlab/shatter/pipeline/problem/blame"
	"github.com/shatterlab/shatter/pipeline/problem/prior"
	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// An instance is a draft with its open problem, and with adversary and reference error resolved for it.
type instance struct {
	*draft
	problem   *openedProblem
	adversary *schemas.Adversary // nil in task learn
	reference float64            // the reference error
	measured  *measuredProblem   // nil if the problem could not be opened
	invalid   bool               // a mistake was reported
}

// An openedProblem is a problem that instances share.
type openedProblem struct {
	resolved   schemas.Problem
	sampled    trial.Fragment // canonical form of the part that samples depend on
	public     *pluginv1.Problem
	population *trial.Population // nil without real data
	problem    *problem.Problem
	least      func() (float64, error) // least error of the class on the problem, computed once
	priors     map[prior.Goal]*trial.Prior
	measured   map[measurementKey]*measuredProblem
	err        error // failure to resolve or open the problem
}

// A measuredProblem is a problem with its number of evaluation points and its evaluation.
type measuredProblem struct {
	resolved   schemas.Problem
	canonical  trial.Fragment
	evaluation problem.Evaluation
}

// A measurementKey holds the values on which, with the problem, the evaluation depends.
type measurementKey struct {
	goal   prior.Goal
	states bool // errors of states before the final one count

	sequential bool // use the sequential rule if the problem permits it
	declared   bool // every model is a declared hypothesis of the class
}

// measure returns the problem with the evaluation for the draft, computed once per goal. If the
// algorithm declares a hypothesis of the class in every trial, the problem must have a formula for
// their errors.
func (p *openedProblem) measure(d *draft, reference float64, declared bool) (*measuredProblem, error) {
	goal := prior.Goal{Reference: reference, Alpha: d.setting.alpha}
	of := measurementKey{goal: goal, declared: declared}
	if !declared {
		of.states = trial.Probes(d.setting.states)
		of.sequential = d.entry.grid.Sequential() && d.setting.alpha > 0
	}
	if m, ok := p.measured[of]; ok {
		return m, nil
	}
	m := &measuredProblem{resolved: p.resolved, evaluation: problem.Computed}
	m.resolved.Test = 0
	if !declared {
		if !d.entry.grid.File.Task().Rounds() {
			m.resolved.Test = p.problem.Test(reference, d.setting.alpha)
		}
		m.evaluation = p.problem.Evaluation(reference, d.setting.alpha, m.resolved.Test, of.states)
	}
	if of.sequential {
		m.evaluation = p.problem.Sequential(m.evaluation)
	}
	var err error
	m.canonical, err = trial.Canonical(m.resolved)
	p.measured[of] = m
	return m, err
}

// prior returns the success of a learner without data; nil if unknown, or if trials are games.
func (x *instance) prior() *trial.Prior {
	if x.entry.grid.File.Task().Rounds() {
		return nil
	}
	return x.problem.prior(prior.Goal{Reference: x.reference, Alpha: x.setting.alpha})
}

// prior returns the success of a learner without data, computed once per goal. It is nil if unknown, or if alpha is
// 0, so that no trial succeeds.
func (p *openedProblem) prior(g prior.Goal) *trial.Prior {
	found, ok := p.priors[g]
	if ok || g.Alpha == 0 {
		return found
	}
	if share, known := prior.Success(&p.resolved, p.public.GetMatrix(), g); known {
		found = &trial.Prior{Success: share, Drawn: prior.Drawn(&p.resolved)}
		found.Limit, _ = prior.Limit(&p.resolved, p.public.GetMatrix(), g)
	}
	p.priors[g] = found
	return found
}

// An opener opens each distinct problem of a sweep once.
type opener struct {
	*sweep.Reporter
	options  Options
	pose     func(schemas.Problem) (schemas.Problem, error) // fills in the facts that a plugin declares of its problem
	opened   map[string]*openedProblem
	valid    map[*sweep.Block]validParts
	warnings []string
}

// validParts records which keys of a grid had no mistakes before its problems were opened.
type validParts struct{ problem, goal, adversary, n bool }

func validPartsOf(b *sweep.Block, r *sweep.Reporter) validParts {
	return validParts{
		problem: b.Sound(r, "problem", "zip", "exclude"), goal: b.Sound(r, "goal"),
		adversary: b.Sound(r, "adversary", "queries", "rounds"), n: b.Sound(r, "n"),
	}
}

// open resolves and opens the problems of the drafts, except in grids with mistakes in their problem. It reports
// invalid problems, adversaries and references.
func open(
	ctx context.Context, r *sweep.Reporter, algorithms Algorithms, opts Options, drafts []draft,
) (all []instance, warnings []string, err error) {
	o := &opener{Reporter: r, options: opts, opened: map[string]*openedProblem{}, valid: map[*sweep.Block]validParts{}}
	o.pose = func(p schemas.Problem) (schemas.Problem, error) { return pose(ctx, algorithms, p) }
	for _, d := range drafts {
		if _, ok := o.valid[d.entry.grid]; !ok {
			o.valid[d.entry.grid] = validPartsOf(d.entry.grid, r)
		}
	}
	all = make([]instance, 0, len(drafts))
	for i := range drafts {
		d := &drafts[i]
		sound, before := o.valid[d.entry.grid], r.Count()
		if !sound.problem {
			o.checkFile(d)
			continue
		}
		p, err := o.openProblem(*d.setting.problem)
		if err != nil {
			return nil, nil, err
		}
		if p.err != nil {
			o.reportAt(d, p.err)
		}
		o.warnBare(d)
		x := instance{draft: d, problem: p}
		if sound.goal {
			x.reference = o.reference(d, p)
			o.checkReach(&x)
			o.checkFloor(&x)
		}
		if sound.adversary {
			if x.adversary, err = resolveAdversary(d, p); err != nil {
				o.reportAt(d, err)
			}
		}
		x.invalid = !sound.goal || !sound.adversary || r.Count() > before
		if p.err == nil {
			if x.measured, err = p.measure(d, x.reference, false); err != nil {
				return nil, nil, err
			}
		}
		all = append(all, x)
	}
	return all, o.warnings, nil
}

// checkFile reports a missing data file of a problem that has other mistakes.
func (o *opener) checkFile(d *draft) {
	at := d.entry.grid.Path("problem", "data", "file")
	if d.setting.problem.Data == nil || !o.Sound(at) {
		return
	}
	file, err := o.options.fileOf(d.setting.problem)
	if err == nil {
		_, err = os.Stat(file)
	}
	if err != nil {
		o.At(at, "%v", err)
	}
}

// openProblem resolves and opens a problem, or returns an equal one that was opened before.
func (o *opener) openProblem(written schemas.Problem) (*openedProblem, error) {
	id, err := trial.Canonical(written)
	if err != nil {
		return nil, err
	}
	file, err := o.options.fileOf(&written)
	if err != nil {
		return nil, err
	}
	key := string(id) + file
	if p, ok := o.opened[key]; ok {
		return p, nil
	}
	p := &openedProblem{priors: map[prior.Goal]*trial.Prior{},
		measured: map[measurementKey]*measuredProblem{}}
	o.opened[key] = p
	if written.Plugin != nil {
		var refused *problem.Error
		if written, err = o.pose(written); errors.As(err, &refused) {
			p.err = err
			return p, nil
		} else if err != nil {
			return nil, err
		}
	}
	if p.problem, p.err = o.options.Problems.Open(written, file); p.err != nil {
		return p, nil
	}
	p.resolved, p.public, p.least = p.problem.Resolved(), p.problem.Public(), sync.OnceValues(p.problem.Best)
	known := p.problem.Summary()
	if rows := known.Rows; rows > 0 {
		share := func(count int) float64 { return float64(count) / float64(rows) }
		p.population = &trial.Population{Positive: share(known.Positive), Pulled: share(known.Pulled),
			Missing: known.Missing, Report: known.Report.Lines}
		o.warn(known.Report.Warnings...)
	}
	if known.Pulled > 0 {
		o.warn(fmt.Sprintf("%s: %d of %d rows are outside the stated scale and are scaled back onto it", file,
			known.Pulled, known.Rows))
	}
	p.sampled, err = trial.Canonical(p.resolved.Sampled())
	return p, err
}

// warnBare warns of an algorithm of a plugin that gets data for halfspaces as they are.
func (o *opener) warnBare(d *draft) {
	if p := d.setting.problem; d.entry.algorithm.Plugin != "" && problem.CanDisguise(p) && !p.Disguise {
		o.warn(fmt.Sprintf("disguise: false: %s gets the rows of %s as they are; if it knows this data from elsewhere, "+
			"it needs fewer examples than a learner that does not", d.entry.algorithm.GetName(), p.Data.File))
	}
}

// warn adds warnings, each once.
func (o *opener) warn(warnings ...string) {
	for _, w := range warnings {
		if !slices.Contains(o.warnings, w) {
			o.warnings = append(o.warnings, w)
		}
	}
}

// reportAt reports a problem's errors at the values of the draft that caused them.
func (o *opener) reportAt(d *draft, err error) {
	all := blame.All(err)
	if len(all) == 0 {
		o.At(d.entry.grid.Path("problem"), "%v", err)
	}
	for _, one := range all {
		o.reportKey(d, one)
	}
}

// reportKey reports an invalid value of the draft.
func (o *opener) reportKey(d *draft, keyed *problem.Error) {
	e := d.entry
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

// reference returns the draft's reference error: a number, or the least error of the class. Without
// a goal, it is 0 if that error is unknown.
func (o *opener) reference(d *draft, p *openedProblem) float64 {
	lacksGoal := d.entry.grid.LacksGoal()
	if !d.setting.reference.Best && !lacksGoal || p.err != nil {
		return d.setting.reference.Value
	}
	value, err := p.least()
	if err != nil && !lacksGoal {
		message := err.Error()
		if keyed, ok := errors.AsType[*problem.Error](err); ok {
			message = keyed.Reason
		}
		o.At(d.entry.grid.Path("goal", "reference"), "%s", message)
	}
	return value
}

// checkReach reports a goal of 1/2 or more, which random answers reach.
func (o *opener) checkReach(x *instance) {
	alpha := x.setting.alpha
	if x.entry.grid.Goal == nil || !numeric.Within(0.5, x.reference, alpha) {
		return
	}
	path := x.entry.grid.Path("goal", "reference")
	if !o.File.Has(path) {
		path = x.entry.grid.Path("goal", "alpha")
	}
	o.At(path, "alpha %v above the reference %v allows an error of %v, and random answers reach 1/2 without "+
		"data: their sum must be below 1/2", alpha, x.reference, x.reference+alpha)
}

// checkFloor reports a search whose goal the noise makes impossible at every sample size.
func (o *opener) checkFloor(x *instance) {
	if x.problem.err != nil || !o.valid[x.entry.grid].n || searchOf(x.entry.grid) == nil {
		return
	}
	most := x.setting.alpha + x.reference
	if floor := x.problem.problem.Floor(); floor > 0 && most <= floor {
		o.reportAt(x.draft, &problem.Error{Key: "goal.alpha", Reason: fmt.Sprintf("an error of at most %v is not above the "+
			"rate %v of %s noise, under which samples of any size may look as if another target at that distance had labeled "+
			"them: no learner reaches it reliably, so there is no n to find; raise alpha, lower noise.rate, or list "+
			"sample sizes", most, floor, x.setting.problem.Noise.Kind)})
	}
}

// resolveAdversary returns the draft's adversary, resolved for the problem unless that could not be opened; nil if the
// task has none.
func resolveAdversary(d *draft, p *openedProblem) (*schemas.Adversary, error) {
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

// checkComparator returns an error for a class without an exact method for the least loss in hindsight, and for noise,
// which the adversary of an online game controls.
func checkComparator(p *openedProblem) error {
	if p.resolved.Noise.Rate > 0 {
		return &problem.Error{Key: "problem.noise", Reason: "does not apply to task online, where the adversary chooses " +
			"the labels; leave it out, or set adversary: {kind: planted, rate: ...}"}
	}
	class, err := concept.New(concept.SpecOf(p.public))
	if err == nil && !concept.InfiniteThresholds(class.Name()) { // their best one needs no profile
		_, err = class.NewProfile()
	}
	if err != nil {
		return &problem.Error{Key: "problem.class", Reason: fmt.Sprintf(
			"regret requires the least loss of the class in hindsight, which fails: %v; choose another class", err)}
	}
	return nil
}
