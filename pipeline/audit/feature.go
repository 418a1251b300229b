package audit

import (
	"fmt"
	"math"
	"slices"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

// ProbePoints is the number of points at which the model of a trial is asked. MostNumbers is the
// largest number of a declared hypothesis's numbers that are recorded.
const (
	ProbePoints = 4
	MostNumbers = 4
)

// MetricSide is the metric that holds the [Side] of a trial. MetricExact is the metric in which an
// algorithm may report the largest log-ratio of the probabilities of any model on its sample and on a
// neighboring one.
const (
	MetricSide  = "side"
	MetricExact = "max_divergence"
)

// A Feature is a number of a trial's model or game. Guarantees cover models and answers, but not the
// metrics that an algorithm reports to the experimenter, so these are no features.
type Feature struct {
	schemas.Metric
	words string // the number, in the description of an event
	game  bool   // only trials with queries have it
}

// Features lists the features.
var Features = features()

func features() (all []Feature) {
	for i, point := range [ProbePoints]string{"replaced", "new", "first", "last"} {
		all = append(all, Feature{schemas.Metric{
			Name: fmt.Sprintf("answer_%d", i+1),
			Doc:  "answer of the model at the " + point + " point of the trial's pair of samples",
		}, "the answer at the " + point + " point", false})
	}
	for i := range MostNumbers {
		all = append(all, Feature{schemas.Metric{
			Name: fmt.Sprintf("number_%d", i+1), Doc: "this number of the declared hypothesis; null if there is none",
		}, fmt.Sprintf("number %d of the hypothesis", i+1), false})
	}
	all = append(all, Feature{
		schemas.Metric{Name: "number_sum", Doc: "sum of these numbers of the declared hypothesis; null if there is none"},
		"the sum of the numbers of the hypothesis", false,
	})
	for _, f := range []struct{ name, words string }{
		{"marks_replaced", "the number of marked queries about the replaced point"},
		{"marks_new", "the number of marked queries about the new point"},
		{"marks_difference", "the excess of marked queries about the new point over those about the replaced one"},
		{"marked_since", "the number of queries from the first marked one on"},
		{"positive_replaced", "the number of positive answers about the replaced point"},
		{"positive_new", "the number of positive answers about the new point"},
	} {
		all = append(all, Feature{schemas.Metric{Name: f.name, Doc: f.words, Unit: "queries"}, f.words, true})
	}
	return all
}

// Metrics lists the metrics of a trial: its side and the features of its model and, with queries, of
// its game.
func Metrics(queries bool) []schemas.Metric {
	all := []schemas.Metric{{
		Name: MetricSide, Doc: "sample of the pair that the trial got: 0, or 1 with one example replaced",
	}}
	for _, f := range Features {
		if queries || !f.game {
			all = append(all, f.Metric)
		}
	}
	return all
}

// A Game counts the answers of a trial to its queries, of which the first half is about the replaced
// point of its pair and the second half about the new one. The zero value is ready for use.
type Game struct {
	marks, positive [2]int // index: half
	left            int    // queries from the first marked one on
}

// Add adds the answer to a query of a half, and whether it was marked as hard.
func (g *Game) Add(half int, label float64, marked bool) {
	if marked {
		g.marks[half]++
	}
	if label > 0 {
		g.positive[half]++
	}
	if g.marks[0]+g.marks[1] > 0 {
		g.left++
	}
}

func (g *Game) values() (v []float64) {
	for _, count := range []int{
		g.marks[0], g.marks[1], g.marks[1] - g.marks[0], g.left, g.positive[0], g.positive[1],
	} {
		v = append(v, float64(count))
	}
	return v
}

// Values returns the features of a trial, given its model's answers at the probe points, the declared
// hypothesis (nil: none) and the game (nil: there were no queries).
func Values(answers []float64, h concept.Hypothesis, game *Game) []float64 {
	v := slices.Repeat([]float64{math.NaN()}, len(Features))
	copy(v, answers)
	if game != nil {
		own := game.values()
		copy(v[len(v)-len(own):], own)
	}
	var all []float64
	switch h := h.(type) {
	case concept.Range:
		all = []float64{h.Lo, h.Hi}
	case concept.Rectangle:
		for _, r := range h {
			all = append(all, r.Lo, r.Hi)
		}
	case concept.Linear:
		all = append(append(all, h.W...), h.B)
	case concept.Stump:
		all = []float64{float64(h.Axis), h.T, h.Above}
	case concept.Parity:
		all = []float64{float64(h.Set)}
	case concept.Conjunction:
		all = []float64{float64(h.Ones), float64(h.Zeros)}
	}
	sum := 0.0
	for i, number := range all[:min(len(all), MostNumbers)] {
		if !math.IsInf(number, 0) {
			v[ProbePoints+i] = number
			sum += number
		}
	}
	if all != nil {
		v[ProbePoints+MostNumbers] = sum
	}
	return v
}
