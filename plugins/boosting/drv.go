package boosting

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/pipeline/privacy"
	"github.com/shatterlab/shatter/plugins/algo"
)

// vote is the loss of boosting/drv, (1 + y sign(h))/2, which makes the result a majority of all
// rounds. It is not a value of [Params.Loss].
const vote = "vote"

// DRVParams holds the parameters of boosting/drv. Rounds, Kappa, Tau and Edge follow from the
// problem if they are 0.
type DRVParams struct {
	Rounds int     `doc:"boosting rounds T; 0: 1/(8 edge^2), which is 2/tau^2 for the default edge tau/4" min:"0" max:"1000000"`
	Kappa  float64 `doc:"target share of the sample for the sum of the capped weights, in (0,1); 0: 3 alpha, at most 1/2" min:"0" max:"1"`
	Tau    float64 `doc:"target margin, which sets the default of edge; 0: the margin that the problem guarantees" min:"0" max:"1"`
	Edge   float64 `doc:"guessed edge g of the halfspaces, below 1/2: each right answer lowers a weight by the factor ((1/2+g)/(1/2-g))^(1/2); 0: tau/4" min:"0" max:"0.5"`
	Share  float64 `doc:"share of the privacy budget (in concentrated DP) that chooses the caps, strictly between 0 and 1" min:"0" max:"1"`
	Levels int     `doc:"number of cap levels to choose from in each round" min:"2" max:"10001"`
	Sigma  float64 `doc:"standard deviation of the noise per coordinate: always from epsilon, delta and n; 0 before n is fixed (see the metric sigma)" min:"0"`
}

// drv returns boosting/drv, which follows Dwork, Rothblum and Vadhan: weights decrease
// exponentially with the number of right answers, a privately chosen cap keeps them smooth, and the
// answer is a majority. In each round the exponential mechanism chooses the cap from public levels;
// the score is the distance of the sum of the capped weights from kappa n. Given the cap, only the
// weight of a replaced example changes, so that again the weak learner moves by at most 2/(kappa
// n), although its weights only sum to about kappa n.
func drv() algo.Algorithm[DRVParams] {
	return algo.Algorithm[DRVParams]{
		Name:    "boosting/drv",
		Version: "1.0.0",
		Doc: "Majority of halfspaces by private boosting in the manner of Dwork, Rothblum and Vadhan 2010, " +
			"with caps by the exponential mechanism: a reconstruction, not a faithful copy.",
		Defaults: DRVParams{Share: 0.1, Levels: 41},
		Metrics: map[string]string{
			"sigma":          metricSigma,
			"cap_epsilon":    "epsilon of the choice of the cap in each round [nats]",
			"mass_error":     "mean over the rounds of |sum of the capped weights/(kappa n) - 1| (not private) [ratio]",
			"training_error": metricError,
		},
		Learn: learnDRV,
		Check: resolveDRV,
		Guarantee: func(s *algo.Setting[DRVParams]) (algo.Guarantee, error) {
			return algo.Guarantee{Epsilon: s.Epsilon, Delta: s.Delta, Rho: privacy.RhoFromEpsilon(s.Epsilon, s.Delta),
				Source: "T rounds of an exponential mechanism of sensitivity 1, eps^2/8-zCDP by bounded range " +
					"(Cesar and Rogers 2021), and Gaussian noise at sensitivity 2/(kappa n); " +
					source2020 + ", Lemmas 14 and 15, for noise of real numbers"}, nil
		},
	}
}

// resolveDRV checks a setting and sets the parameters that are zero, sigma only if N > 0.
func resolveDRV(s *algo.Setting[DRVParams]) error {
	const name = "boosting/drv"
	if err := checkProblem(name, s.Problem, s.Epsilon, s.Delta); err != nil {
		return err
	}
	p := &s.Params
	if err := setTau(&p.Tau, s.Problem); err != nil {
		return err
	}
	if p.Edge == 0 {
		p.Edge = p.Tau / 4
	}
	if p.Rounds == 0 && p.Edge > 0 {
		p.Rounds = int(min(math.Ceil(1/(8*p.Edge*p.Edge)), 1e9))
	}
	if p.Kappa == 0 {
		p.Kappa = min(3*s.Alpha, 0.5)
	}
	if err := p.check(name); err != nil {
		return err
	}
	if err := checkVotes(p.Rounds, s.Problem.Dim, ""); err != nil {
		return err
	}
	f := fixer{who: name}
	f.sigma(&p.Sigma, func(n float64) float64 {
		_, sigma := p.spend(s.Epsilon, s.Delta)
		return sigma / (p.Kappa * n)
	}, s.N)
	if f.err != nil {
		return f.err
	}
	return checkSigma(p.Sigma)
}

// check returns an error if a resolved parameter is out of range.
func (p *DRVParams) check(name string) error {
	switch {
	case p.Edge == 0:
		return algo.Invalid("%s derives edge from the margin, and the problem guarantees none: set edge or tau", name)
	case !(p.Edge > 0 && p.Edge < 0.5):
		return algo.Invalid("edge must be strictly between 0 and 1/2, not %g", p.Edge)
	case !(p.Share > 0 && p.Share < 1):
		return algo.Invalid("share must be strictly between 0 and 1, not %g", p.Share)
	case p.Rounds > 1_000_000:
		return algo.Invalid("rounds must be between 1 and 1000000, not %d: set rounds, or raise edge", p.Rounds)
	case p.rate()*float64(p.Rounds) > 600:
		return algo.Invalid("%d rounds at edge %g make weights exceed the range of numbers: "+
			"lower rounds to %.0f, or the edge",
			p.Rounds, p.Edge, math.Floor(600/p.rate()))
	}
	return checkKappa(p.Kappa)
}

// rate returns ln of the factor by which a right answer lowers a weight and a wrong one raises it.
func (p *DRVParams) rate() float64 { return math.Atanh(2 * p.Edge) }

// spend divides the rho of the budget among the rounds, and in each round between epsilon^2/8 for
// the cap and 2/(kappa n sigma)^2 for the noise. It returns that epsilon, and kappa n sigma.
func (p *DRVParams) spend(epsilon, delta float64) (capEpsilon, sigma float64) {
	rho := privacy.RhoFromEpsilon(epsilon, delta) / float64(p.Rounds)
	return math.Sqrt(8 * p.Share * rho), math.Sqrt(2 / ((1 - p.Share) * rho))
}

// learnDRV runs boosting/drv.
func learnDRV(ctx context.Context, t *algo.Trial[DRVParams], sample *algo.Data) (algo.Model, error) {
	if err := checkBall(sample, "privacy"); err != nil {
		return nil, err
	}
	capEpsilon, _ := t.Params.spend(t.Epsilon, t.Delta)
	b := newBooster(t.Params.forBooster(), sample)
	caps := newCaps(t.Params, capEpsilon)
	missed := 0.0
	for round := range t.Params.Rounds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		level, mass := caps.choose(b, round, t.Rand)
		missed += math.Abs(mass/b.mass - 1)
		b.center(level, b.mass)
		b.step(t.Rand.NormFloat64)
	}
	t.Report("sigma", t.Params.Sigma)
	t.Report("cap_epsilon", capEpsilon)
	t.Report("mass_error", missed/float64(t.Params.Rounds))
	t.Report("training_error", numeric.ShareUpTo(b.margins(), 0))
	return b.model(), nil
}

// forBooster returns the parameters of the booster. With lambda 2 the log-weight of an example is
// an integer, the wrong answers minus the right ones, which represents that number times rate.
func (p DRVParams) forBooster() Params {
	return Params{Rounds: p.Rounds, Lambda: 2, Kappa: p.Kappa, Sigma: p.Sigma, Weak: Raw, Loss: vote}
}

// caps chooses the level c of the weights min(1, c w_i). The weight w_i of an example depends only
// on its number of right answers, so there are few different weights.
type caps struct {
	rate, epsilon float64
	weight, count []float64 // weight w and number of examples, by number of right answers
	logs          []float64 // logarithms of the weights, for exponentials
	level         []float64 // the candidates
	mass          []float64 // sum of all weights, by level
	distribution  []float64 // probability of each level
}

// newCaps returns the caps for a choice of the given epsilon in each round.
func newCaps(p DRVParams, epsilon float64) *caps {
	c := &caps{rate: p.rate(), epsilon: epsilon}
	c.weight, c.count = make([]float64, p.Rounds), make([]float64, p.Rounds)
	c.logs = make([]float64, max(p.Rounds, p.Levels))
	c.level, c.mass, c.distribution = make([]float64, p.Levels), make([]float64, p.Levels), make([]float64, p.Levels)
	return c
}

// choose writes the weights w_i after the given number of rounds into b. It returns a cap level,
// and the sum of the weights min(1, level w_i).
func (c *caps) choose(b *booster, rounds int, r *rand.Rand) (level, mass float64) {
	c.weigh(b, rounds)
	c.weighLevels(b.Kappa, rounds)
	c.tilt(b.mass)
	i := pick(c.distribution, privacy.Uniform(r))
	return c.level[i], c.mass[i]
}

// weigh gives k right answers in the given number of rounds the weight e^(-rate (2k - rounds)).
func (c *caps) weigh(b *booster, rounds int) {
	logs := c.logs[:rounds+1]
	for k := range logs {
		logs[k] = c.rate * float64(rounds-2*k)
	}
	exponentials(c.weight, logs, 0)
	clear(c.count)
	for i, s := range b.s {
		k := (rounds - int(s)) / 2
		c.count[k]++
		b.weights.u[i] = c.weight[k]
	}
}

// weighLevels sets the levels and sums the weights for each. Because all weights are in e^(-rate
// rounds)..e^(rate rounds), the level that makes their sum kappa n is in kappa times that range,
// and the levels are spread evenly over this range on a logarithmic scale.
func (c *caps) weighLevels(kappa float64, rounds int) {
	reach := c.rate * float64(rounds)
	logs := c.logs[:len(c.level)]
	for i := range logs {
		logs[i] = reach * (2*float64(i)/float64(len(logs)-1) - 1)
	}
	exponentials(c.level, logs, 0)
	for i := range c.level {
		c.level[i] *= kappa
	}
	clear(c.mass)
	for k, count := range c.count {
		if count == 0 {
			continue
		}
		for i, level := range c.level {
			c.mass[i] += float64(count * min(1, level*c.weight[k]))
		}
	}
}

// tilt writes the distribution of the exponential mechanism: probabilities proportional to
// e^(epsilon score/2) for the score -|mass - want|, which a replaced example changes by at most 1.
func (c *caps) tilt(want float64) {
	logs := c.logs[:len(c.distribution)]
	best := math.Inf(-1)
	for i, mass := range c.mass {
		logs[i] = -c.epsilon / 2 * math.Abs(mass-want)
		best = max(best, logs[i])
	}
	exponentials(c.distribution, logs, -best)
	scaled(c.distribution, 1/total(c.distribution))
}

// pick returns the index at which the cumulative distribution function first exceeds u in (0, 1).
func pick(distribution []float64, u float64) int {
	for i, p := range distribution {
		if u -= p; u < 0 {
			return i
		}
	}
	return len(distribution) - 1 // only because of rounding
}
