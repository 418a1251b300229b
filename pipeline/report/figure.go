package report

import (
	"cmp"
	"math"
	"slices"
	"strconv"
)

// Figure is one chart, as data. Everything that it shows stands here; a renderer only draws.
type Figure struct {
	Name       string // for a file: small letters, digits and hyphens; no two figures of a sweep share one
	Kind       string // n, curve or regret
	Title      string
	Text       string   // what is to be seen, in words, for those who cannot see it
	Notes      []string // what the figure leaves out or joins, one sentence each
	X, Y       Axis
	Algorithms []string // colours and shapes follow their order
	Keys       []Key
	Series     []Series
	Loose      bool    // the points of a series are not joined
	Target     float64 // the rate that is asked for; 0: none
}

// Axis is one axis of a figure: its limits and what is written along it.
type Axis struct {
	Title     string
	Log       bool
	Low, High float64
	Ticks     []Tick
}

// Tick is a mark on an axis.
type Tick struct {
	At    float64
	Label string
}

// Key is a column in which series of one algorithm differ. Of these, those with the value Chosen are shown at first; empty: all.
type Key struct {
	Name   string
	Values []string
	Chosen string
	column string
}

// The marks of series.
const (
	Measured = "measured"       // brackets, rates or regrets with their intervals
	Model    = "model estimate" // n* read off a fitted curve of success rates
	Fit      = "fitted line"
	Proved   = "proved bound"
	Printed  = "printed bound"
)

// marks is all of them, in the order of a legend.
var marks = []string{Measured, Model, Fit, Proved, Printed}

// Series is points of one algorithm and one setting, ascending in X.
type Series struct {
	Mark      string
	Algorithm int      // in Figure.Algorithms
	Keys      []string // the value of each of Figure.Keys; empty where it does not apply
	Level     bool     // two points: the algorithm does not know the parameter along X
	Points    []Point
}

// Point is one value with its interval. Low and High are NaN where it has none.
type Point struct {
	X, Y, Low, High float64
	Open            string // empty, or why it is no decided value: the cell's status
	Cell            string
}

// shown says whether a series is among those shown at first.
func (f *Figure) shown(s Series) bool {
	for i, k := range f.Keys {
		if k.Chosen != "" && s.Keys[i] != "" && s.Keys[i] != k.Chosen {
			return false
		}
	}
	return true
}

// maxStrong is the most series of a figure that are all shown at first.
const maxStrong = 12

// choose fixes what is shown at first: everything, or for each key the value that most series have among those still shown.
func (f *Figure) choose() {
	all := f.measured()
	if len(all) <= maxStrong || f.Loose && len(all) <= 20*maxStrong {
		return
	}
	for i, k := range f.Keys {
		count := map[string]int{}
		for _, s := range all {
			if f.shown(s) && s.Keys[i] != "" {
				count[s.Keys[i]]++
			}
		}
		for _, v := range k.Values {
			if count[v] > count[f.Keys[i].Chosen] {
				f.Keys[i].Chosen = v
			}
		}
	}
}

func (f *Figure) measured() (all []Series) {
	for _, s := range f.Series {
		if s.Mark == Measured {
			all = append(all, s)
		}
	}
	return all
}

// axis makes an axis that holds the values: logarithmic where asked for and all are positive. Ticks stand at the values where there
// are few of them, and are round numbers elsewhere.
func axis(title string, values []float64, log, exact bool) Axis {
	values = slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
	slices.Sort(values)
	values = slices.Compact(values)
	if len(values) == 0 {
		values = []float64{1}
	}
	a := Axis{Title: title, Log: log && values[0] > 0, Low: values[0], High: values[len(values)-1]}
	switch {
	case a.Log:
		margin := max(1.08, math.Pow(a.High/a.Low, 0.04))
		a.Low, a.High = round(a.Low/margin), round(a.High*margin)
	default:
		margin := max(0.04*(a.High-a.Low), 0.02*math.Abs(a.High))
		if margin == 0 {
			margin = 1
		}
		if a.Low < 0 || a.Low > margin {
			a.Low = round(a.Low - margin)
		} else {
			a.Low = 0
		}
		a.High = round(a.High + margin)
	}
	if exact {
		a.Ticks = spaced(a, values)
	}
	if len(a.Ticks) < 2 {
		a.Ticks = a.roundTicks()
	}
	return a
}

// round keeps limits short.
func round(v float64) float64 {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	return short
}

// at is the place of a value along the axis, from 0 to 1.
func (a Axis) at(v float64) float64 {
	if a.Log {
		return math.Log(v/a.Low) / math.Log(a.High/a.Low)
	}
	return (v - a.Low) / (a.High - a.Low)
}

// spaced is ticks at the values, but for those that are too near the one before.
func spaced(a Axis, values []float64) (ticks []Tick) {
	for _, v := range values {
		if len(ticks) == 0 || a.at(v)-a.at(ticks[len(ticks)-1].At) > 0.09 {
			ticks = append(ticks, Tick{v, tickLabel(v)})
		}
	}
	return ticks
}

// roundTicks is about six round numbers.
func (a Axis) roundTicks() (ticks []Tick) {
	var steps []float64
	decades := math.Log10(a.High / a.Low)
	if a.Log {
		switch every := math.Ceil(decades / 7); {
		case decades < 0.6:
			return Axis{Low: a.Low, High: a.High}.roundTicks() // so short that it is nearly linear
		case decades < 1.5:
			steps = []float64{1, 2, 3, 5}
		case decades < 3:
			steps = []float64{1, 2, 5}
		default:
			for e := math.Ceil(math.Log10(a.Low)/every) * every; math.Pow(10, e) <= a.High; e += every {
				ticks = append(ticks, Tick{round(math.Pow(10, e)), tickLabel(math.Pow(10, e))})
			}
			return ticks
		}
		for e := math.Floor(math.Log10(a.Low)); math.Pow(10, e) <= a.High; e++ {
			for _, step := range steps {
				if v := round(step * math.Pow(10, e)); v >= a.Low && v <= a.High {
					ticks = append(ticks, Tick{v, tickLabel(v)})
				}
			}
		}
		return ticks
	}
	unit := math.Pow(10, math.Floor(math.Log10((a.High-a.Low)/4)))
	step := unit
	for _, m := range []float64{2, 5, 10} {
		if (a.High-a.Low)/step > 6 {
			step = m * unit
		}
	}
	for i := math.Ceil(a.Low / step); i*step <= a.High; i++ {
		ticks = append(ticks, Tick{round(i * step), tickLabel(round(i * step))})
	}
	return ticks
}

// tickLabel is a short name of a number: 2^16, 0.05, 1500, 20k, 3M.
func tickLabel(v float64) string {
	abs := math.Abs(v)
	if frac, exp := math.Frexp(v); abs >= 8192 && frac == 0.5 {
		return "2^" + strconv.Itoa(exp-1)
	}
	if abs >= 1e15 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	for _, unit := range []struct {
		from, size float64
		name       string
	}{{1e12, 1e12, "T"}, {1e9, 1e9, "G"}, {1e6, 1e6, "M"}, {1e4, 1e3, "k"}} {
		if abs >= unit.from {
			return strconv.FormatFloat(v/unit.size, 'g', 4, 64) + unit.name
		}
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// byX sorts points as a series wants them.
func byX(points []Point) {
	slices.SortStableFunc(points, func(a, b Point) int { return cmp.Compare(a.X, b.X) })
}
