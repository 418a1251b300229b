package online

import (
	"math"

	"github.com/shatterlab/shatter/plugins/algo"
)

// Stability measures how little the losses of one round change the hypothesis played. As in
// ftpl_theory.go let f_t minimize A = L_{t-1} + eta N, and g_t minimize A + l_t for the same noise
// N. For losses of 0 and 1 these numbers are equal:
//
//   - P(f_t != g_t), the probability that the round changes the hypothesis played under its own noise;
//   - E[l_t(f_t) - l_t(g_t)], the second sum of (8) in Block and Shetty 2025;
//   - the total variation distance between the distributions of f_t and of g_t, which their Lemma 1 bounds.
//
// For A(f_t) <= A(g_t) and A(f_t) + l_t(f_t) >= A(g_t) + l_t(g_t), so that l_t(g_t) <= l_t(f_t),
// and if these losses are equal, f_t and g_t are the same first minimizer. Hence a change is always
// from a hypothesis that loses to one that does not. Hypotheses that do not lose can only become
// more probable, and hypotheses that lose only less probable.
//
// The probability is measured without further random numbers, given the known part of the noise:
// exactly if the noise is averaged; as 0 or 1 if the noise of every hypothesis is known; and as the
// probability given the draw if one draw represented many hypotheses. All three have the above
// mean.

// Metrics of the follow-the-perturbed-leader algorithms, in addition to the metrics in package
// theory.
const (
	stabilityMetric       = "stability"
	provedStabilityMetric = "proved_stability"
	oracleCallsMetric     = "oracle_calls"
	oracleInputsMetric    = "oracle_inputs"
)

// ftplMetrics describes the metrics of these algorithms. printed describes the paper's bound, or is
// empty if there is none.
func ftplMetrics(printed string) map[string]string {
	m := map[string]string{
		algo.ProvedRegret: "proved bound on the expected regret, at the least loss L* of a hypothesis in hindsight, " +
			"or the rounds minus L* if that is less [mistakes]",
		"eta": "scale of the noise in the last round [mistakes]",
		stabilityMetric: "mean over the rounds of the probability that the loss of a round changes the hypothesis " +
			"played under the same noise: the total variation distance of Lemma 1 of Block and Shetty 2025 [probability]",
		provedStabilityMetric: "proved bound on the mean of stability at L*, for noise of one scale [probability]",
		oracleCallsMetric:     "searches for the hypothesis with the least loss plus linear term [calls per round]",
		oracleInputsMetric:    "rounds and noisy points in such a search, on average [examples per call]",
	}
	if printed != "" {
		m[algo.PrintedRegret] = printed + " [mistakes]"
	}
	return m
}

// oracle counts the searches for a best hypothesis that an algorithm requires, as the literature
// counts calls of an oracle. It counts a call even if this package computes the result differently;
// it does not count searches that only measure.
type oracle struct {
	calls  int
	inputs float64 // total number of inputs of all calls
}

func (o *oracle) call(inputs int) {
	o.calls++
	o.inputs += float64(inputs)
}

// points returns the number of points that carry noise.
func (p *plan) points() int {
	if p.site.separator == nil {
		return 0
	}
	return p.site.separator.Len()
}

// usesOracle reports whether an oracle could choose the hypothesis to play: independent noise of
// each hypothesis, or a mean over the noise, needs all hypotheses.
func (p *plan) usesOracle() bool { return p.site.separator != nil && !p.noise.exact }

// reportStability reports the measured stability of the rounds so far.
func (l *perturbedLeader) reportStability() {
	rounds := float64(l.played)
	l.report(stabilityMetric, l.moved/rounds)
	if l.usesOracle() {
		l.report(oracleCallsMetric, float64(l.oracle.calls)/rounds)
		l.report(oracleInputsMetric, l.oracle.inputs/float64(l.oracle.calls))
	}
}

// reportProvedStability reports the bound on the stability of the rounds so far, if there is one.
func (l *perturbedLeader) reportProvedStability() error {
	c, ok := l.schedule.(*constant)
	if !ok {
		return nil
	}
	lstar, err := l.overall()
	if err != nil {
		return err
	}
	l.report(provedStabilityMetric, atMost(1, c.moves(c.eta, float64(lstar))/float64(l.played)))
	return nil
}

// moves returns a bound on the expected number of rounds that change the hypothesis played, in
// games in which some hypothesis loses lstar: the terms that (1) in ftpl_theory.go adds to eta G.
func (p price) moves(scale, lstar float64) float64 {
	if scale == 0 {
		return math.Inf(1)
	}
	return p.bound(scale, lstar) - float64(scale*p.complexity)
}

// moved returns the probability that the losses of a round change the hypothesis played. The round
// is in t.losses already, and low is the value of t.low before it; truth is its label, as in the
// column in w.
func (t *table) moved(w *scratch, low int32, truth uint8) float64 {
	if t.exact {
		t.next, t.ready = t.average(w, t.scale, t.next), true
		return variation(t.mean, t.next)
	}
	if w.column[t.best] == truth {
		return 0 // the lead of the hypothesis played has grown
	}
	var after int
	switch {
	case t.scale == 0:
		after = t.member(t.low, 0)
	case t.once:
		after = lowestSum(t.losses, t.kept, t.scale)
	case t.distribution != nil:
		return t.overtaken(w, low, truth)
	default:
		t.listing.sums(t.points, w.work, w.sums)
		after = lowestSum(t.losses, w.sums, t.scale)
	}
	if after == t.best {
		return 0
	}
	return 1
}

// overtaken returns the probability, given the score of the hypothesis played, that a hypothesis
// that did not lose in the round has a score of less than 1/scale more: all others have a higher
// score, and are independent of each other.
func (t *table) overtaken(w *scratch, low int32, truth uint8) float64 {
	width := int(min(float64(t.high-low), t.distribution.reach*t.scale)) + 1
	if len(w.counts) < width {
		w.counts = make([]int32, 2*width)
	}
	counts := w.counts[:width]
	for i, label := range w.column {
		if d := int(t.losses[i] - low); label == truth && d < width {
			counts[d]++
		}
	}
	lnNone := 0.0
	for d, c := range counts {
		if c > 0 {
			z := t.score - float64(d)/t.scale
			lnNone += float64(float64(c) * math.Log(t.distribution.above(z+1/t.scale)/t.distribution.above(z)))
			counts[d] = 0
		}
	}
	return -math.Expm1(lnNone)
}

// variation returns the total variation distance between two distributions.
func variation(p, q []float64) float64 {
	sum := 0.0
	for i := range p {
		sum += max(0, p[i]-q[i])
	}
	return sum
}
