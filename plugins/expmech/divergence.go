package expmech

import (
	"context"
	"math"
	"slices"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

// maxNeighbours limits the number of hypotheses times labeled points of a class whose neighboring
// samples are enumerated.
const maxNeighbours = 1 << 16

// Divergence returns expmech/em-divergence, which returns the same answers as expmech/em, bit for
// bit, and measures how much the distribution of the answer changes when one example is replaced.
func Divergence() algo.Algorithm[struct{}] {
	a, shared := EM(), new(finite.Cache[concept.Spec, *examples])
	a.Name = "expmech/em-divergence"
	a.Doc = "Like expmech/em, with the exact max-divergence between its sample and the neighboring ones; small classes."
	a.Metrics = map[string]string{
		"max_divergence": "largest log-ratio of the probabilities of any answer on this sample and on one with another " +
			"example instead of one of its own, in either direction; at most epsilon [nats]",
	}
	a.Check = func(s *algo.Setting[struct{}]) error {
		if err := check(s); err != nil {
			return err
		}
		_, err := listed(s.Problem)
		return err
	}
	learn := a.Learn
	a.Learn = func(ctx context.Context, t *algo.Trial[struct{}], sample *algo.Data) (algo.Model, error) {
		class, err := listed(t.Problem)
		if err != nil {
			return nil, err
		}
		all, err := shared.Get(finite.SpecOf(t.Problem), func(s concept.Spec) (*examples, error) {
			return newExamples(class, s)
		})
		if err != nil {
			return nil, err
		}
		t.Report("max_divergence", all.divergence(sample.Xs(), sample.Ys(), t.Epsilon))
		return learn(ctx, t, sample)
	}
	return a
}

// listed returns the class of a problem if it has few enough hypotheses and labeled points.
func listed(p algo.Problem) (concept.Finite, error) {
	c, err := classOf(p)
	if err != nil {
		return nil, err
	}
	points := concept.Cardinality(finite.SpecOf(p))
	if class, ok := c.(concept.Finite); ok && 2*points*math.Exp(c.LogSize()) <= maxNeighbours {
		return class, nil
	}
	return nil, algo.Invalid("expmech/em-divergence: %.4g hypotheses on %.4g points, and twice their product may be %d "+
		"at most: use a smaller class, or expmech/em, which has the same answers", math.Exp(c.LogSize()), points,
		maxNeighbours)
}

// examples lists the sets of hypotheses that err on an example, for all examples of a class.
// Examples with the same set are merged.
type examples struct {
	members  []concept.Hypothesis
	patterns [][]int8 // 1 for each hypothesis that errs, 0 for the others, by example
}

// newExamples lists the examples of the class that New makes from s.
func newExamples(class concept.Finite, s concept.Spec) (*examples, error) {
	table, err := concept.NewLabelTable(class, s)
	if err != nil {
		return nil, err
	}
	e := new(examples)
	for i := range table.Functions() {
		e.members = append(e.members, class.Member(uint64(i)))
	}
	for v := range table.Len() {
		for _, y := range []float64{-1, 1} {
			e.patterns = append(e.patterns, e.pattern(table.Point(v), y))
		}
	}
	e.patterns = distinct(e.patterns)
	return e, nil
}

// pattern returns the hypotheses that err on one example.
func (e *examples) pattern(x []float64, y float64) []int8 {
	wrong, label := make([]int8, len(e.members)), make([]float64, 1)
	for i, h := range e.members {
		if h.Labels(x, label); label[0] != y {
			wrong[i] = 1
		}
	}
	return wrong
}

// distinct sorts patterns and drops duplicates.
func distinct(patterns [][]int8) [][]int8 {
	slices.SortFunc(patterns, slices.Compare)
	return slices.CompactFunc(patterns, slices.Equal)
}

// divergence returns the largest log-ratio of a hypothesis's probabilities under the exponential
// mechanism on the sample and on a neighbor of it; 0 for an empty sample, which has no neighbors.
func (e *examples) divergence(x, y []float64, epsilon float64) (worst float64) {
	errs, own := make([]int, len(e.members)), make([][]int8, len(y))
	for i, dim := 0, len(x)/max(1, len(y)); i < len(y); i++ {
		own[i] = e.pattern(x[i*dim:(i+1)*dim], y[i])
		for h, wrong := range own[i] {
			errs[h] += int(wrong)
		}
	}
	weight := make([]float64, len(y)+2) // weight of a hypothesis, by its number of errors minus the fewest
	for k := range weight {
		weight[k] = math.Exp(-float64(epsilon / 2 * float64(k)))
	}
	least, sum := total(errs, weight)
	changed := make([]int, len(errs))
	for _, out := range distinct(own) {
		for _, in := range e.patterns {
			low, high := 1, -1 // changes of a hypothesis's errors
			for h, err := range errs {
				change := int(in[h]) - int(out[h])
				changed[h] = err + change
				low, high = min(low, change), max(high, change)
			}
			fewest, mass := total(changed, weight)
			// A probability is exp(-epsilon errors/2) divided by the sum of these, here in
			// logarithms.
			sums := math.Log(mass/sum) - float64(epsilon/2*float64(fewest-least))
			worst = max(worst, float64(epsilon/2*float64(high))+sums, -float64(epsilon/2*float64(low))-sums)
		}
	}
	return worst
}

// total returns the fewest errors, and the sum of the weights of the errors minus the fewest.
func total(errs []int, weight []float64) (least int, sum float64) {
	least = slices.Min(errs)
	for _, e := range errs {
		sum += weight[e-least]
	}
	return least, sum
}
