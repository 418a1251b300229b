package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

// A measure is a measured quantity: the columns of its value, its interval and its bounds.
type measure struct {
	kind, slug, title string
	value, low, high  string
	proved, printed   string // columns of the bounds

	unit     string // unit of the value
	interval string // sentence about low and high
	bracket  bool   // low and high are a bracket; a missing end is infinite
	curve    bool   // the rows are rows of the curve: a cell at a sample size
	rounds   bool   // the sizes of the curve are rounds
	x        string // default column along x; "": each parameter that varies
	over     *frame // rows of a search over another number; nil: the rows about sample sizes
}

// Kinds of figures.
const (
	kindSize    = "n"
	kindCurve   = "curve"
	kindError   = "error"
	kindRegret  = "regret"
	kindMetric  = "metric"
	kindFound   = "search" // a search over another number than n
	curveColumn = "n"      // the column along x of figures of the curve
)

var (
	sampleSize = measure{
		kind: kindSize, slug: "n", title: "sample size n*", unit: "examples", value: "n_star", low: "n_low", high: "n_high",
		proved: "theory_n", printed: "paper_n", bracket: true,
		interval: "A vertical line is the bracket from n_low, which is insufficient, to n_high, which suffices, with a " +
			"mark in its middle; it ends at the edge if one of them is not known.",
	}
	rate = measure{
		kind: kindCurve, slug: "curve", title: "success rate", value: "rate", low: "rate_low", high: "rate_high",
		curve: true, x: curveColumn,
		interval: "Faint lines: 95 % confidence interval of each rate on its own (Clopper and Pearson).",
	}
	meanError = measure{
		kind: kindError, slug: "error", title: "mean error", unit: "share of points", value: "error_mean",
		low: "error_low", high: "error_high", curve: true, x: curveColumn,
		interval: "Faint lines: 95 % confidence interval of each mean on its own (Student).",
	}
	regret = measure{
		kind: kindRegret, slug: "regret", title: "regret", unit: "mistakes", value: "regret_mean", low: "regret_low",
		high: "regret_high", proved: "theory_regret", printed: "paper_regret",
		interval: "A vertical line is a 95 % confidence interval over sequences (Student).",
	}
	mistakes = measure{
		kind: kindRegret, slug: "mistakes", title: "mistakes", unit: "rounds", value: "mistakes_mean",
		low: "mistakes_mean", high: "mistakes_max", interval: "A vertical line goes up to the most of any sequence.",
	}
)

// metric returns the measure for the mean of a metric that algorithms report.
func (s *Sweep) metric(name string) measure {
	m := measure{
		rounds: s.online(), kind: kindMetric, slug: "metric " + name, title: "mean " + name,
		value: schemas.MetricPrefix + name, curve: true, x: curveColumn,
		interval: "Means over the trials that report it; no interval is known.",
	}
	for _, known := range s.manifest.Metrics {
		if known.Name == name {
			m.unit, m.interval = known.Unit, name+": "+strings.TrimSuffix(known.Doc, ".")+". "+m.interval
		}
	}
	return m
}

// found returns the measure for the results of a search over another number than n.
func found(x search) measure {
	return measure{
		kind: kindFound, slug: "search " + x.axis, title: title(x.axis) + " that suffices", value: "search_sufficient",
		low: "search_insufficient", high: "search_sufficient", proved: "search_theory", bracket: true, over: x.found,
		x:        "search_n",
		interval: "A vertical line is the bracket between search_insufficient and search_sufficient.",
	}
}

// rateAlong returns the measure for the success rate along the searched number.
func rateAlong(x search) measure {
	m := rate
	m.over, m.x = x.curve, x.axis
	if x.axis == trial.RoundsAxis {
		m.x, m.rounds = curveColumn, true
	}
	return m
}

// wanted returns the measures of the named kinds and metrics; without names, all measures except
// metrics. A sweep over a list of sizes has its learning curves first.
func (s *Sweep) wanted(what []string) ([]measure, error) {
	all := []measure{sampleSize, rate, meanError}
	switch {
	case s.online():
		all = []measure{regret, mistakes}
	case s.onlySearches():
		all = nil
	case s.listed():
		all = []measure{meanError, rate, sampleSize}
	}
	for _, x := range s.searches {
		all = append(all, found(x), rateAlong(x))
	}
	if len(what) == 0 {
		return all, nil
	}
	var chosen []measure
	for _, name := range what {
		before := len(chosen)
		for _, m := range all {
			if m.kind == name {
				chosen = append(chosen, m)
			}
		}
		if plain := strings.TrimPrefix(name, schemas.MetricPrefix); len(chosen) == before {
			if !slices.Contains(s.metrics(), plain) {
				return nil, s.unknownKind(name, all)
			}
			chosen = append(chosen, s.metric(plain))
		}
	}
	return chosen, nil
}

// unknownKind returns the error for a name for which this result has no figure.
func (s *Sweep) unknownKind(name string, all []measure) error {
	var known []string
	for _, m := range all {
		known = add(known, m.kind)
	}
	for _, m := range s.metrics() {
		known = append(known, schemas.MetricPrefix+m)
	}
	why := "no such figure or metric; "
	if slices.Contains([]string{kindSize, kindCurve, kindError, kindRegret, kindFound}, name) {
		why = "a sweep that is not of the task online has no regret; "
		switch {
		case s.online():
			why = "a sweep of the task online has no goal to reach; "
		case s.onlySearches():
			why = "the sweep searches for other numbers than n; "
		case name == kindFound:
			why = "the sweep searches for no other number than n; "
		}
	} else if nearest, ok := wording.Nearest(name, slices.Concat(known, s.metrics())); ok {
		why = fmt.Sprintf("did you mean %s? ", nearest)
	}
	return &ChoiceError{"what", name, why + "this result has " + strings.Join(known, ", ")}
}

// metrics returns the metrics for which the curve has a value.
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
		if s.sized.Value(row, "fixed") != true {
			return false
		}
	}
	return s.sized.Len() > 0
}

// point returns the measured value of a row with its interval. A row without a value is placed
// between the ends of its interval.
func (m measure) point(f *frame, row int) (Point, bool) {
	p := Point{
		Y: f.Number(row, m.value), Low: f.Number(row, m.low), High: f.Number(row, m.high), Cell: f.text(row, "cell"),
	}
	if status := f.text(row, "status"); status != "decided" {
		p.Open = status
	}
	if m.kind == kindFound {
		if f.text(row, "search_success") == schemas.SuccessFalls {
			p.Low, p.High = p.High, p.Low
		}
		if math.IsNaN(p.Y) {
			p.Open = "none suffices"
		}
	}
	if m.kind == kindError { // an error is a share
		p.Low, p.High = max(p.Low, 0), min(p.High, 1)
	}
	low, high := !math.IsNaN(p.Low), !math.IsNaN(p.High)
	if m.kind == kindSize && low && high {
		p.Y = math.NaN() // n_high is an end of the bracket, not an estimate
	}
	switch {
	case !math.IsNaN(p.Y):
	case low && high:
		p.Y = math.Sqrt(p.Low) * math.Sqrt(p.High)
	case low:
		p.Y = p.Low
	case high:
		p.Y = p.High
	default:
		return p, false
	}
	if m.bracket && !low {
		p.Low = math.Inf(-1)
	}
	if m.bracket && !high {
		p.High = math.Inf(1)
	}
	return p, true
}

// title returns the title of an axis for a column.
func title(column string) string {
	if t, ok := map[string]string{
		"d": "dimension d", "domain": "domain size X", "noise_rate": "noise rate", curveColumn: "sample size n",
		"search_n": "sample size n",
	}[column]; ok {
		return t
	}
	return plain(column)
}

// along returns the title of a column along x, and its unit.
func (m measure) along(x string) (name, unit string) {
	switch {
	case m.rounds && x == curveColumn:
		return "rounds", ""
	case x == curveColumn, x == "search_n":
		return title(x), "examples"
	}
	return title(x), ""
}

// withUnit returns the title of an axis with a unit, if there is one.
func withUnit(title, unit string) string {
	if unit == "" {
		return title
	}
	return title + " (" + unit + ")"
}
