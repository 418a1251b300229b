package prediction

import (
	"context"
	"math"
	"slices"

	"github.com/shatterlab/shatter/plugins/algo"
)

func everlastingLite() algo.Algorithm[Everlasting] {
	a := complete(algo.Algorithm[Everlasting]{
		Name: "prediction/everlasting-lite",
		Doc: "A lite form of Naor, Nissim, Stemmer and Yan 2023: an epoch answers like prediction/sparse-vector, " +
			"then its queries, relabeled like in prediction/offline, become the next epoch's sample; " +
			"the original's constants, amplification by subsampling and privacy of the queries are not reproduced.",
		Defaults: Everlasting{Blocks: byDefault, Growth: 1},
		Bound:    everlastingBounds,
	}, finiteClasses(), func(s *algo.Setting[Everlasting]) (int, error) {
		if err := checkLabelings(s.Problem, 1); err != nil {
			return 0, err
		}
		return halvingBudget(s)
	}, frozen)
	a.Metrics["instances"] = "instances of BetweenThresholds started in all epochs; never more than v in one [instances]"
	a.Metrics["epochs"] = "epochs begun [epochs]"
	guarantee := a.Guarantee
	a.Guarantee = func(s *algo.Setting[Everlasting]) (algo.Guarantee, error) {
		g, err := guarantee(s)
		g.Epsilon += s.Epsilon / 2
		g.Source = "first epoch's answers: " + g.Source + "; its relabeling: exponential mechanism with half of epsilon; " +
			"later epochs are post-processing of these"
		return g, err
	}
	a.Predict = func(_ context.Context, t *algo.Trial[Everlasting], sample *algo.Data) (algo.Answerer, error) {
		e := &epochs{trial: t, left: t.Queries}
		if err := e.begin(sample); err != nil {
			return nil, err
		}
		e.prepare()
		return e, nil
	}
	return a
}

// epochs answers one epoch of queries after another. All epochs after the first use public points
// with labels that were privately released, so they are post-processing. They still add noise, as
// the original algorithm does to protect the queries.
type epochs struct {
	*predictor
	trial   *algo.Trial[Everlasting]
	sample  block     // the epoch's sample, if another epoch may follow
	queries []float64 // the epoch's queries so far
	length  int       // number of queries that ends the epoch; 0: it does not end
	left    int       // unanswered queries of the trial

	number  int // number of the epoch, starting at 1
	earlier int // instances in earlier epochs
}

// begin starts an epoch with the given sample.
func (e *epochs) begin(sample *algo.Data) error {
	if e.predictor != nil {
		e.earlier += e.started
	}
	e.queries, e.length = nil, e.lengthFor(sample.Len())
	if e.sample = (block{}); e.length > 0 { // copied, because a trial's sample is borrowed
		e.sample = block{slices.Clone(sample.Xs()), slices.Clone(sample.Ys())}
	}
	var err error
	if e.predictor, err = start(e.trial, sample, frozen); err != nil {
		return err
	}
	e.predictor.report = func(metric string, value float64) {
		if metric == "instances" {
			value += float64(e.earlier)
		}
		e.trial.Report(metric, value)
	}
	e.number++
	e.trial.Report("epochs", float64(e.number))
	return nil
}

// lengthFor returns the length of an epoch with n examples, or 0 if it is the last one. The queries
// must fill the blocks of another epoch and must not exceed the number that can be relabeled.
func (e *epochs) lengthFor(n int) int {
	r := int(min(math.Ceil(float64(n)*e.trial.Params.Growth), 1<<31))
	if most, err := maxQueries(e.trial.Problem); err == nil && most > 0 { // Check has reported errors
		r = min(r, most)
	}
	if r < e.trial.Params.K || r >= e.trial.Queries {
		return 0
	}
	return r
}

// Answer implements algo.Answerer.
func (e *epochs) Answer(_ context.Context, x []float64) (float64, bool, error) {
	if e.length > 0 {
		e.queries = append(e.queries, x...)
	}
	label, v, err := e.next(x)
	if e.left--; err != nil || e.left <= 0 {
		return label, v == hard, err
	}
	if e.length > 0 && len(e.queries) == e.length*len(x) {
		if err := e.relabel(); err != nil {
			return 0, false, err
		}
	}
	e.prepare()
	return label, v == hard, nil
}

// relabel ends an epoch: the exponential mechanism labels its queries, which become the next
// epoch's sample.
func (e *epochs) relabel() error {
	c, err := labelings(e.trial.Problem, e.sample, e.queries)
	if err != nil {
		return err
	}
	label := c.draw(e.trial.Epsilon/2, seeded{e.trial.Rand}.gumbel)
	dim := e.trial.Problem.Dim
	labels := make([]float64, len(e.queries)/dim)
	for i := range labels {
		labels[i] = label(e.queries[i*dim : (i+1)*dim])
	}
	return e.begin(algo.NewData(e.queries, dim, labels))
}
