package report

import (
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
)

// An Axis is an axis of a figure.
type Axis struct {
	Title     string
	Log       bool
	Low, High float64
	Ticks     []plot.Tick
}

// maxTicks is the maximum number of values for which an axis has a tick at each.
const maxTicks = 12

// newAxis returns an axis that contains the finite values. It is logarithmic if log is set and all
// values are positive. If exact is set and there are few values, the ticks are at the values,
// otherwise at round numbers.
func newAxis(title string, values []float64, log, exact bool) Axis {
	values = slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
	slices.Sort(values)
	values = slices.Compact(values)
	if len(values) == 0 {
		values = []float64{1}
	}
	low, high := values[0], values[len(values)-1]
	a := Axis{Title: title, Log: log && low > 0}
	if a.Log {
		margin := max(1.08, math.Pow(high/low, 0.04))
		a.Low, a.High = low/margin, high*margin
	} else {
		margin := max(0.04*(high-low), 0.02*math.Abs(high))
		if margin == 0 {
			margin = 1
		}
		a.Low, a.High = low-margin, high+margin
		if low >= 0 {
			a.Low = max(0, a.Low)
		}
	}
	if exact && len(values) <= maxTicks {
		for _, v := range values {
			if len(a.Ticks) == 0 || a.at(v)-a.at(a.Ticks[len(a.Ticks)-1].Value) > 0.09 {
				a.Ticks = append(a.Ticks, plot.Tick{Value: v})
			}
		}
	}
	if len(a.Ticks) < 2 {
		a.Ticks = a.roundTicks()
	}
	ticks := make([]float64, len(a.Ticks))
	for i, t := range a.Ticks {
		ticks[i] = t.Value
	}
	for i, label := range tickLabels(ticks...) {
		a.Ticks[i].Label = label
	}
	return a
}

// at returns the position of a value along the axis, from 0 to 1.
func (a Axis) at(v float64) float64 {
	if a.Log {
		return math.Log(v/a.Low) / math.Log(a.High/a.Low)
	}
	return (v - a.Low) / (a.High - a.Low)
}

// clamp returns v, or the nearer end of the axis if v is outside. It keeps NaN.
func (a Axis) clamp(v float64) float64 { return max(a.Low, min(a.High, v)) }

// roundTicks returns ticks at round numbers. A linear axis has gonum's ticks. A logarithmic axis
// has 1, 2 and 5 in each decade or some of the powers of ten, because gonum labels only powers of
// ten.
func (a Axis) roundTicks() (ticks []plot.Tick) {
	decades := math.Log10(a.High / a.Low)
	if !a.Log || decades < 0.8 {
		ticks = plot.DefaultTicks{}.Ticks(a.Low, a.High)
		return slices.DeleteFunc(ticks, func(t plot.Tick) bool { return t.IsMinor() })
	}
	steps, every := []float64{1, 2, 5}, 1.0
	if decades > 3 {
		steps, every = steps[:1], math.Ceil(decades/7)
	}
	for e := math.Floor(math.Log10(a.Low)/every) * every; e <= math.Log10(a.High); e += every {
		for _, step := range steps {
			if v := step * math.Pow(10, e); v >= a.Low && v <= a.High {
				ticks = append(ticks, plot.Tick{Value: v})
			}
		}
	}
	return ticks
}

// tickLabel returns a short name of a number: 0.05, 1500, 20k, 3M, 2^16.
func tickLabel(v float64) string { return tickLabels(v)[0] }

// tickLabels returns short names of numbers in one style: 100, 1k, 10k, or 2^8, 2^16.
func tickLabels(values ...float64) []string {
	powers, largest := true, 0.0
	for _, v := range values {
		frac, _ := math.Frexp(v)
		powers, largest = powers && frac == 0.5, max(largest, math.Abs(v))
	}
	units := []struct {
		size float64
		name string
	}{{1e3, "k"}, {1e6, "M"}, {1e9, "G"}, {1e12, "T"}}
	if largest < 1e4 || largest >= 1e15 {
		units = nil
	}
	labels := make([]string, len(values))
	for i, v := range values {
		if powers && largest >= 8192 {
			_, exp := math.Frexp(v)
			labels[i] = "2^" + strconv.Itoa(exp-1)
			continue
		}
		size, name := 1.0, ""
		for _, unit := range units {
			if math.Abs(v) >= unit.size {
				size, name = unit.size, unit.name
			}
		}
		labels[i] = strconv.FormatFloat(v/size, 'g', 4, 64) + name
	}
	return labels
}
