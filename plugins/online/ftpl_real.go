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

// Follow-the-perturbed-leader over functions with real values, the class [finite.Real] of the
// hypotheses, with any of its losses. The proofs in ftpl_theory.go only require losses in [0, 1]
// and unit vectors at squared distances of rho^2 or more. The lifted vectors (c s_f, sqrt(1-c^2))
// of the functions satisfy that. Without the lift, a vector c s_f can be in the convex hull of
// others; then Lemma 1 of Block and Shetty 2025 is false and nothing is proved.

// Values of the parameter perturbation of online/ftpl-real.
const (
	liftedPerturbation = "lifted"
	plainPerturbation  = "plain"
)

// ftplRealParams holds the parameters of online/ftpl-real.
type ftplRealParams struct {
	Loss         string  `doc:"loss of a value a for the truth y: squared is (a-y)^2/4, absolute is |a-y|/2, the probability of a mistake" choices:"squared,absolute"`
	Levels       int     `doc:"the functions are c f for the hypotheses f and c = 1/levels, 2/levels, ..., 1" min:"1" max:"100"`
	Perturbation string  `doc:"Gaussian noise: lifted: on the values at the separator and on sqrt(1-c^2), with proved stability; plain: on the values alone, as in the paper, without proved stability" choices:"lifted,plain"`
	Schedule     string  `doc:"choice of eta: proved minimizes the proved bound at lstar (lifted only), paper is the printed choice at lstar, fixed is the parameter eta" choices:"proved,paper,fixed"`
	LStar        float64 `param:"lstar" doc:"schedules proved and paper: expected least loss of a function; -1: the number of rounds, which is always enough" min:"-1"`
	Eta          float64 `doc:"schedule fixed: argmin of losses + eta times the perturbation of unit vectors; 0 follows the leader" min:"0"`
	finite.SeparatorParams
}

// Metrics of online/ftpl-real for its own class and loss.
const (
	classLossMetric    = "class_loss"
	classRegretMetric  = "class_regret"
	provedClassMetric  = "proved_class_regret"
	printedClassMetric = "printed_class_regret"
	changedMetric      = "changed"
)

// ftplReal returns Algorithm 1 of Block and Shetty 2025 for a class of real-valued functions.
func ftplReal(known *sites) algo.Algorithm[ftplRealParams] {
	return complete(algo.Algorithm[ftplRealParams]{
		Name: "online/ftpl-real",
		Doc: "Follow the perturbed leader over real-valued functions, hypotheses times confidences, with squared or " +
			"absolute loss (Block and Shetty 2025, Algorithm 1).",
		Defaults: ftplRealParams{
			Loss: finite.SquaredLoss, Levels: 2, Perturbation: liftedPerturbation,
			Schedule: provedSchedule, LStar: -1,
			SeparatorParams: finite.SeparatorParams{Separator: "standard"},
		},
		Metrics: map[string]string{
			"eta":              "scale of the noise [loss]",
			classLossMetric:    "least loss L* of a function of the real-valued class in hindsight [loss]",
			classRegretMetric:  "loss minus that of the best function of the real-valued class, by the parameter loss [loss]",
			provedClassMetric:  "proved bound on the expected class_regret, at L* [loss]",
			algo.ProvedRegret:  "loss absolute: proved_class_regret, which also bounds the regret against hypotheses [mistakes]",
			algo.PrintedRegret: "loss absolute: printed_class_regret [mistakes]",
			printedClassMetric: "Theorem 1 of Block and Shetty 2025 as printed, (2), at L*; not proved [loss]",
			stabilityMetric: "mean over the rounds of the loss of the function played minus that of the function that " +
				"would be played, " +
				"with the same noise, if the round already counted: the second sum of (8) in Block and Shetty 2025 " +
				"[loss per round]",
			provedStabilityMetric: "proved bound on the mean of stability at L* [loss per round]",
			changedMetric:         "rounds whose loss changes the function played with the same noise [share of the rounds]",
			oracleCallsMetric:     "searches for the hypothesis with the least loss plus linear term [calls per round]",
			oracleInputsMetric:    "rounds and noisy points in such a search, on average [examples per call]",
		},
	}, func(s *algo.Setting[ftplRealParams]) (*realPlan, error) {
		return planReal(known, s)
	}, func(t *algo.Trial[ftplRealParams], p *realPlan) (algo.Learner, error) {
		return p.start(t.Rand, t.Report, t.Sees != algo.SeesAnswers)
	}, func(_ *algo.Setting[ftplRealParams], p *realPlan) []algo.Bound {
		return p.bounds()
	})
}

// A realPlan describes the games of online/ftpl-real under one setting.
type realPlan struct {
	site   *site
	real   finite.Real
	lifted bool
	rounds int
	lnG    float64 // logarithm of the number of functions
	rho2   float64 // least squared distance of the vectors that carry the noise
	cost   price   // price of lifted noise
	lstar  float64
	eta    float64
}

// planReal returns the plan of a setting. Its errors name the parameter to change.
func planReal(known *sites, s *algo.Setting[ftplRealParams]) (*realPlan, error) {
	p := s.Params
	t := tuning{schedule: p.Schedule, eta: p.Eta, lstar: p.LStar, separator: p.Separator, codeSeed: p.CodeSeed}
	if err := t.check(); err != nil {
		return nil, err
	}
	g := &realPlan{
		real: finite.Real{Loss: p.Loss, Levels: p.Levels}, lifted: p.Perturbation == liftedPerturbation,
		rounds: s.Rounds, lstar: p.LStar, eta: p.Eta,
	}
	if err := g.real.Check("online/ftpl-real"); err != nil {
		return nil, err
	}
	if !g.lifted && p.Schedule == provedSchedule {
		return nil, algo.Invalid("online/ftpl-real: no eta is proved with perturbation %s: "+
			"use schedule %s or %s, or perturbation %s", plainPerturbation, paperSchedule, fixedSchedule, liftedPerturbation)
	}
	var err error
	if g.site, err = known.at(p.PlaceOf(s.Problem)); err != nil {
		return nil, err
	}
	z := g.site.separator
	switch {
	case g.site.single:
		return nil, algo.Invalid("online/ftpl-real: class %q has a single hypothesis: use a larger class", s.Problem.Class)
	case z.Points == nil:
		return nil, algo.Invalid("online/ftpl-real: separator %s has %d points, too many to list: "+
			"use separator standard or code, or a smaller dimension", p.Separator, z.Len())
	}
	if g.lstar == -1 {
		g.lstar = float64(s.Rounds)
	}
	lifted, plain := g.real.Separation(z.Hamming, z.Len())
	g.lnG, g.rho2 = g.real.LogSize(g.site.class.LogSize()), plain
	if g.lifted {
		g.rho2 = lifted
		g.cost = unitPrice(lifted, g.lnG, s.Rounds, 1)
	}
	switch p.Schedule {
	case provedSchedule:
		g.eta = g.cost.least(g.lstar)
	case paperSchedule:
		g.eta = printedScale(math.Sqrt(g.rho2), g.lnG, g.lstar, s.Rounds)
	}
	return g, nil
}

// printed returns Theorem 1 as printed for a least loss of lstar.
func (p *realPlan) printed(lstar float64) float64 {
	return printedRegret(math.Sqrt(p.rho2), p.lnG, lstar, p.rounds)
}

// bounds returns the bounds on the regret. The regret of labels is at most the regret of absolute
// loss, whose best function is a hypothesis or has less loss than any hypothesis.
func (p *realPlan) bounds() []algo.Bound {
	fails := ""
	if p.real.Loss != finite.AbsoluteLoss {
		fails = "it bounds the regret of loss " + p.real.Loss + ": see the metric " + classRegretMetric
	}
	with := map[string]float64{
		"ln_g": p.lnG, "lstar": p.lstar, "eta": p.eta, "rho2": p.rho2,
		"m": float64(p.site.separator.Len()), "h": float64(p.site.separator.Hamming),
	}
	premises := []algo.Premise{algo.UnseenAnswer}
	list := []algo.Bound{{
		Name: "theorem-1", Source: "Block and Shetty 2025, Theorem 1, (2); its lemma does not hold for real values",
		Value: p.printed(p.lstar), With: with, Premises: premises, Fails: fails,
	}}
	if p.lifted {
		list = append(list, algo.Bound{
			Name: "explicit", Source: "be-the-leader and translation of the noise by a unit vector " +
				"(plugins/online, ftpl_theory); its value beforehand is that at L* = lstar",
			Value: p.cost.bound(p.eta, p.lstar), Proved: true, With: with, Premises: premises, Fails: fails,
		})
	}
	return list
}

// realGame plays one game of online/ftpl-real.
type realGame struct {
	*realPlan
	search *search
	rand   *rand.Rand
	report func(name string, value float64)
	proven bool // whether the premises of the bounds hold

	play    function
	tilt    float64 // noise of sqrt(1-c^2)
	round   int
	loss    float64 // loss in the rounds so far
	moved   float64 // sum of the stability of the rounds so far
	changed int     // number of rounds that changed the function played
	oracle  oracle
}

// A function is c f, a function of the real-valued class.
type function struct {
	f concept.Hypothesis
	c float64
}

// at returns the function's value at the point x.
func (g function) at(x []float64) float64 {
	var label [1]float64
	g.f.Labels(x, label[:])
	return float64(g.c * label[0])
}

// start begins a game, with the noise of the first round.
func (p *realPlan) start(
	r *rand.Rand, report func(name string, value float64), proven bool,
) (*realGame, error) {
	s, err := newSearch(p.site, noise{fill: normals(p.eta / math.Sqrt(float64(p.site.separator.Len())))}, r)
	if err != nil {
		return nil, err
	}
	g := &realGame{realPlan: p, search: s, rand: r, report: report, proven: proven}
	return g, g.draw()
}

// draw draws the noise of the next round and chooses the function to play.
func (g *realGame) draw() (err error) {
	g.search.fill(g.search.c, g.rand)
	if g.lifted {
		g.tilt = float64(g.eta * g.rand.NormFloat64())
	}
	g.oracle.call(g.round + len(g.search.c))
	g.play, err = g.best()
	return err
}

// best returns the function with the least loss in the rounds so far plus noise.
func (g *realGame) best() (function, error) {
	s := g.search
	f, value, err := s.minimizer.Minimize(s.x, s.y, s.now.net, s.c)
	if err != nil {
		return function{}, err
	}
	c, _ := g.real.Best(float64(g.round), value+float64(s.now.minus), g.tilt)
	return function{f, c}, nil
}

// Predict implements algo.Model.
func (g *realGame) Predict(_ context.Context, x *algo.Data, out []float64) error {
	for i := range x.Len() {
		if err := g.site.domain.Check(x.X(i)); err != nil {
			return fmt.Errorf("online/ftpl-real: point of round %d: %w", g.round+i+1, err)
		}
		out[i] = g.play.at(x.X(i))
	}
	return nil
}

// Observe implements algo.Learner.
func (g *realGame) Observe(_ context.Context, x *algo.Data, y []float64) error {
	for i, truth := range y {
		err := g.site.domain.Check(x.X(i))
		if err == nil && truth != 1 && truth != -1 {
			err = fmt.Errorf("label %v: neither -1 nor +1", truth)
		}
		if err == nil {
			err = g.observe(x.X(i), truth)
		}
		if err != nil {
			return fmt.Errorf("online/ftpl-real: round %d: %w", g.round+1, err)
		}
	}
	return nil
}

// observe counts a round, measures its stability and chooses the function for the next round.
func (g *realGame) observe(x []float64, y float64) error {
	loss := g.real.Of(g.play.at(x), y)
	g.loss += loss
	g.search.count(x, y)
	g.round++
	after, err := g.best()
	if err != nil {
		return err
	}
	if gain := loss - g.real.Of(after.at(x), y); gain > 0 { // 0 only if the same function is the first minimizer
		g.moved += gain
		g.changed++
	}
	if g.round == g.rounds {
		return g.end()
	}
	return g.draw()
}

// end reports the measurements and the bounds.
func (g *realGame) end() error {
	wrong, err := g.search.overall()
	if err != nil {
		return err
	}
	rounds := float64(g.round)
	_, lstar := g.real.Best(rounds, float64(wrong), 0)
	g.report("eta", g.eta)
	g.report(classLossMetric, lstar)
	g.report(classRegretMetric, g.loss-lstar)
	g.report(stabilityMetric, g.moved/rounds)
	g.report(changedMetric, float64(g.changed)/rounds)
	g.report(oracleCallsMetric, float64(g.oracle.calls)/rounds)
	g.report(oracleInputsMetric, g.oracle.inputs/float64(g.oracle.calls))
	if !g.proven {
		return nil
	}
	labels := g.real.Loss == finite.AbsoluteLoss
	g.report(printedClassMetric, g.printed(lstar))
	if labels {
		g.report(algo.PrintedRegret, g.printed(lstar))
	}
	if g.lifted {
		proved := atMost(rounds-lstar, g.cost.bound(g.eta, lstar))
		g.report(provedClassMetric, proved)
		if labels {
			g.report(algo.ProvedRegret, proved)
		}
		g.report(provedStabilityMetric, atMost(1, g.cost.moves(g.eta, lstar)/rounds))
	}
	return nil
}

// atMost returns the smaller of value and limit, or limit if value is NaN: it may be 0 times
// infinity.
func atMost(limit, value float64) float64 {
	if value < limit {
		return value
	}
	return limit
}
