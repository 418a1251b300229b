package baseline

import (
	"context"
	"fmt"
	"math"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/plugins/algo"
)

// PerceptronParams holds the parameters of baseline/perceptron.
type PerceptronParams struct {
	Passes   int  `doc:"maximum number of passes over the sample; a pass without a mistake is the last" min:"1" max:"1000000"`
	Averaged bool `doc:"predict with the average of the weights after every example, for noisy labels"`
}

// Perceptron returns baseline/perceptron (Rosenblatt 1958; Novikoff 1962). It starts at w = 0,
// processes the examples in their order, and adds y x to w if y <w, x> <= 0. It ends after a pass
// without such a mistake, or after the allowed number of passes, and answers the sign of <w, x>.
func Perceptron() algo.Algorithm[PerceptronParams] {
	return algo.Algorithm[PerceptronParams]{
		Name: "baseline/perceptron", Version: "1.0.0",
		Doc:      "Perceptron: cycles through the sample until a pass makes no mistake; not private.",
		Defaults: PerceptronParams{Passes: 1000},
		Metrics: map[string]string{
			"mistakes": "updates of the weights [updates]",
			"passes":   "passes made, including the one without mistakes [passes]",
		},
		Learn: learnPerceptron, Declares: algo.Always[PerceptronParams],
		Check: func(s *algo.Setting[PerceptronParams]) error { return checkPerceptron(s.Problem) },
		Bound: perceptronBounds,
	}
}

func learnPerceptron(
	ctx context.Context, t *algo.Trial[PerceptronParams], sample *algo.Data,
) (algo.Model, error) {
	p := perceptron{w: make([]float64, sample.Dim())}
	if t.Params.Averaged {
		p.sum = make([]float64, sample.Dim())
	}
	passes := 0
	for clean := false; !clean && passes < t.Params.Passes; passes++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		clean = p.pass(sample)
	}
	t.Report("mistakes", float64(p.mistakes))
	t.Report("passes", float64(passes))
	return algo.Halfspace(p.weights(), 0), nil
}

// checkPerceptron returns an error if the problem's class is not that of the halfspaces.
func checkPerceptron(p algo.Problem) error {
	if p.Class != concept.Halfspace {
		return algo.Invalid("baseline/perceptron: class %q: it learns halfspaces only; use baseline/erm", p.Class)
	}
	return nil
}

// perceptron is the state of one trial. The zero value with w of the right length is the start.
type perceptron struct {
	w        []float64
	sum      []float64 // sum of w after every example, up to the last mistake; nil if not averaged
	mistakes int
	pending  int // examples since the last mistake, for which w must still be added to sum
}

// pass processes the sample once and reports whether it made no mistake.
func (p *perceptron) pass(sample *algo.Data) (clean bool) {
	mistakes := p.mistakes
	for i := range sample.Len() {
		x, y := sample.X(i), sample.Y(i)
		if float64(y*numeric.Dot(p.w, x)) <= 0 {
			p.flush()
			p.mistakes++
			for j := range x {
				p.w[j] += float64(y * x[j])
			}
		}
		p.pending++
	}
	return p.mistakes == mistakes
}

// flush adds the current w to the sum, once for each pending example.
func (p *perceptron) flush() {
	for j := range p.sum {
		p.sum[j] += float64(float64(p.pending) * p.w[j])
	}
	p.pending = 0
}

// weights returns the vector for predictions: w, or the sum of all w, whose direction is that of
// the average.
func (p *perceptron) weights() []float64 {
	if p.sum == nil {
		return p.w
	}
	p.flush()
	return p.sum
}

// perceptronBounds returns sample sizes for examples of norm at most 1 with margin tau and no wrong
// label. On such examples the perceptron makes at most M = 1/tau^2 mistakes, in any order and over
// any number of passes (Novikoff 1962). So one of M + 1 passes is clean, and the answer errs on no
// example, unless it is the average of the weights.
//
//   - mistake-bound: among the at most M + 1 weights of one pass, one that survives
//     ceil(ln((M+1)/beta)/alpha) fresh examples is good. This is a theorem on the variant that
//     makes one pass and keeps the longest survivor, not on cycling, hence not proved for this
//     algorithm.
//   - leave-one-out: among n+1 exchangeable examples the perceptron errs on at most M. Omitting
//     another example changes nothing, and the answer is right on it. So the mean error is at most
//     M/(n+1), and Markov's inequality gives n = M/(alpha beta) - 1.
//   - vc-realizable: see vcBound.
func perceptronBounds(s *algo.Setting[PerceptronParams]) ([]algo.Bound, error) {
	if err := checkPerceptron(s.Problem); err != nil {
		return nil, err
	}
	tau := s.Problem.Margin
	alpha, beta := s.Proof()
	m := math.Floor(1/(tau*tau) + 1e-9) // +Inf without a margin
	survive := math.Ceil(math.Log((m+1)/beta) / alpha)
	premises := []algo.Premise{algo.TargetInClass, algo.CleanLabels}
	vc := vcBound(s.Problem.Dim, alpha, beta)
	vc.Fails = mayErr(s.Params, tau, m)
	return []algo.Bound{{
		Name: "mistake-bound",
		Source: "longest survivor of one pass (Gallant 1990; Littlestone 1989), " +
			"Novikoff's mistake bound 1/margin^2",
		Value: (m + 1) * survive, With: map[string]float64{"mistakes": m, "survive": survive},
		Premises: premises, Fails: noMargin(tau),
	}, {
		Name:   "leave-one-out",
		Source: "mean error M/(n+1) with Novikoff's mistake bound M = 1/margin^2, Markov's inequality",
		Value:  max(1, math.Ceil(m/(alpha*beta)-1)), Proved: true,
		With:     map[string]float64{"mistakes": m},
		Premises: premises, Fails: vc.Fails,
	}, vc}, nil
}

// noMargin returns the reason why no mistake bound holds; "" if the target has a margin.
func noMargin(tau float64) string {
	if tau > 0 {
		return ""
	}
	return "the target has no guaranteed margin, so the perceptron's mistakes have no bound"
}

// mayErr returns the reason why the answer may err on an example of a sample on which the
// perceptron makes at most m mistakes; "" if it cannot.
func mayErr(p PerceptronParams, tau, m float64) string {
	switch why := noMargin(tau); {
	case why != "":
		return why
	case p.Averaged:
		return "averaged weights may err on the sample, and the proof requires an answer without errors on it"
	case float64(p.Passes) < m+1:
		return fmt.Sprintf("passes %d, and the proof requires %v: one more than the mistakes at margin "+
			"%v", p.Passes, m+1, tau)
	}
	return ""
}
