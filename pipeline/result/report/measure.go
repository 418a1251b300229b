package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

// measure names a measured quantity of the table or the curve: the columns of its value, its
// interval and its bounds.
type measure struct {
	kind, slug, title       string
	value, low, high        string
	proved, printed         string
	model, modelLo, modelHi string

	unit     string // of the value
	interval string // what low and high are, in a sentence
	curve    bool   // its rows are those of the curve: a cell at a sample size
	rounds   bool   // the sizes of its curve are rounds
	x        string // the column along x, unless another is chosen; empty: each parameter that varies
	loose    bool   // points are not joined
	over     *frame // the rows that have it; nil: those about sample sizes
}

// The kinds of figures, but for those of metrics.
const (
	kindSize    = "n"
	kindCurve   = "curve"
	kindError   = "error"
	kindRegret  = "regret"
	kindMetric  = "metric"
	kindFound   = "find" // of searches over another number than n
	curveColumn = "n"    // along x in figures of the curve
)

var (
	sampleSize = measure{
		kind: kindSize, slug: "n", title: "sample size n*", unit: "examples", value: "n_star", low: "n_low", high: "n_high",
		proved: "theory_n", printed: "paper_n", model: "n_model", modelLo: "n_model_low", modelHi: "n_model_high",
		interval: "A vertical line is the bracket from n_low, which is insufficient, to n_high, which suffices.",
	}
	rate = measure{
		kind: kindCurve, slug: "curve", title: "success rate", value: "rate", low: "rate_low", high: "rate_high",
		curve: true, x: curveColumn,
		interval: "Band: 95 % confidence interval of each rate on its own (Clopper and Pearson).",
	}
	meanError = measure{
		kind: kindError, slug: "error", title: "mean error", unit: "share of points", value: "error_mean",
		low: "error_low", high: "error_high", curve: true, x: curveColumn,
		interval: "Band: 95 % confidence interval of each mean on its own (Student).",
	}
	regret = measure{
		kind: kindRegret, slug: "regret", title: "regret", unit: "mistakes", value: "regret_mean", low: "regret_low",
		high: "regret_high", proved: "theory_regret", printed: "paper_regret",
		interval: "A vertical line is a 95 % confidence interval over sequences (Student).",
	}
	regretByLoss = regret.against("best_loss")
	mistakes     = measure{
		kind: kindRegret, slug: "mistakes", title: "mistakes", unit: "rounds", value: "mistakes_mean",
		low: "mistakes_mean", high: "mistakes_max", interval: "A vertical line goes up to the most of any sequence.",
	}
)

// against returns the measure with its points against a measured column, which are not joined.
func (m measure) against(column string) measure {
	m.x, m.loose = column, true
	return m
}

// metric returns the mean of a metric that algorithms report.
func (s *Sweep) metric(name string) measure {
	var about string
	known := s.metricOf(name)
	if known.Doc != "" {
		about = name + ": " + strings.TrimSuffix(known.Doc, ".") + ". "
	}
	return measure{
		unit: known.Unit, rounds: s.online(),
		kind: kindMetric, slug: "metric " + name, title: "mean " + name, value: schemas.MetricPrefix + name, curve: true,
		x: curveColumn, interval: about + "Means over the trials that report it; no interval is known.",
	}
}

// found returns what the searches over another number than n have found.
func found(x search) measure {
	return measure{
		kind: kindFound, slug: "find " + x.axis, title: title(x.axis) + " that suffices", value: "find_sufficient",
		low: "find_insufficient", high: "find_sufficient", proved: "find_theory", over: x.found, x: "find_n",
		interval: "A vertical line is the bracket between find_insufficient and find_sufficient.",
	}
}

// rateAlong returns the success rate along the number that was searched for.
func rateAlong(x search) measure {
	m := rate
	m.over, m.x = x.curve, x.axis
	if x.axis == trial.RoundsAxis {
		m.x, m.rounds = curveColumn, true
	}
	return m
}

// wanted returns the measures of the named kinds and metrics, or, where there is no name, those that
// the page shows. A sweep of a list of sizes shows its learning curves first.
func (s *Sweep) wanted(what []string) ([]measure, error) {
	kinds := map[string][]measure{kindSize: {sampleSize}, kindCurve: {rate}, kindError: {meanError}}
	all := []measure{sampleSize, rate, meanError}
	switch {
	case s.online():
		kinds = map[string][]measure{kindRegret: {regret, regretByLoss, mistakes}}
		all = kinds[kindRegret]
	case s.listed():
		all = []measure{meanError, rate, sampleSize}
	}
	if s.onlySearches() {
		kinds, all = map[string][]measure{}, nil
	}
	for _, x := range s.searches {
		all = append(all, found(x), rateAlong(x))
		kinds[kindFound] = append(kinds[kindFound], found(x))
		kinds[kindCurve] = append(kinds[kindCurve], rateAlong(x))
	}
	if len(what) == 0 {
		return all, nil
	}
	all = nil
	for _, name := range what {
		m, ok := kinds[name]
		if plain := strings.TrimPrefix(name, schemas.MetricPrefix); !ok && slices.Contains(s.metrics(), plain) {
			m, ok = []measure{s.metric(plain)}, true
		}
		if !ok {
			return nil, s.unknownKind(name)
		}
		all = append(all, m...)
	}
	return all, nil
}

// unknownKind returns the error for a name of which this result has no figure.
func (s *Sweep) unknownKind(name string) error {
	known, why := []string{kindSize, kindCurve, kindError}, "a sweep that is not of the task online has no regret; "
	switch {
	case s.online():
		known, why = []string{kindRegret}, "a sweep of the task online has no goal to reach; "
	case s.onlySearches():
		known, why = []string{kindFound, kindCurve}, "the sweep searches for other numbers than n; "
	case len(s.searches) > 0:
		known = append(known, kindFound)
	}
	for _, m := range s.metrics() {
		known = append(known, schemas.MetricPrefix+m)
	}
	if !slices.Contains([]string{kindSize, kindCurve, kindError, kindRegret, kindFound}, name) {
		why = "no such figure or metric; "
		if nearest, ok := wording.Nearest(name, slices.Concat(known, s.metrics())); ok {
			why = fmt.Sprintf("did you mean %s? ", nearest)
		}
	}
	return fmt.Errorf("--what %s: %sthis result has %s", name, why, strings.Join(known, ", "))
}

// metricOf returns what the manifest says of a metric, which is nothing in that of an older release.
func (s *Sweep) metricOf(name string) schemas.Metric {
	i := slices.IndexFunc(s.manifest.Metrics, func(m schemas.Metric) bool { return m.Name == name })
	if i < 0 {
		return schemas.Metric{Name: name}
	}
	return s.manifest.Metrics[i]
}

// metrics returns the metrics of which the curve has a value.
func (s *Sweep) metrics() (names []string) {
	for i, c := range s.curve.Columns {
		name, ok := strings.CutPrefix(c.Name, schemas.MetricPrefix)
		if ok && slices.ContainsFunc(s.curve.Distinct(i), func(v any) bool { return v != nil }) {
			names = append(names, name)
		}
	}
	return names
}

// listed reports whether the sample sizes of all cells were given, not searched for.
func (s *Sweep) listed() bool {
	for row := range s.sized.Len() {
		if s.sized.value(row, "fixed") != true {
			return false
		}
	}
	return s.sized.Len() > 0
}
