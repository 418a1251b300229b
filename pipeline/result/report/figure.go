package report

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Figure is one chart as data. It holds everything that the chart shows; a renderer only draws.
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

// Axis is an axis of a figure: its limits, and what is written along it.
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

// Key is a column in which series of one algorithm differ. At first the series with the value
// Chosen are shown, or all of them where it is empty.
type Key struct {
	Name   string
	Values []string
	Chosen string
}

// The marks of series.
const (
	Measured = "measured"       // brackets, rates or regrets with their intervals
	Model    = "model estimate" // n* read off a fitted curve of success rates
	Fit      = "fitted line"
	Proved   = "proved bound"
	Printed  = "printed bound"
)

// marks lists the marks in the order of a legend.
var marks = []string{Measured, Model, Fit, Proved, Printed}

// Series holds points of one algorithm in one setting, ascending in X.
type Series struct {
	Mark      string
	Algorithm int      // in Figure.Algorithms
	Keys      []string // the value of each of Figure.Keys; empty where it does not apply
	Level     bool     // two points: the algorithm does not know the parameter along X
	Points    []Point
}

// Point is a value with its interval. Low and High are NaN where it has none.
type Point struct {
	X, Y, Low, High float64
	Open            string // empty, or why it is no decided value: the cell's status
	Cell            string
	Label           string // what stands beside it: the setting of its series
	row             int    // of the table
}

// shown reports whether a series is shown at first.
func (f *Figure) shown(s Series) bool {
	for i, k := range f.Keys {
		if k.Chosen != "" && s.Keys[i] != "" && s.Keys[i] != k.Chosen {
			return false
		}
	}
	return true
}

// The largest numbers of series that a figure shows all at first: maxSeveral where several keys
// tell them apart, else maxStrong.
const (
	maxStrong  = 12
	maxSeveral = 8
)

// choose selects what is shown at first: everything, or for each key the value that most of the
// series have that are still shown.
func (f *Figure) choose() {
	all := f.measured()
	most := maxStrong
	if len(f.Keys) > 1 {
		most = maxSeveral
	}
	if len(all) <= most || f.Loose && len(all) <= 20*maxStrong {
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

// maxLabel is the largest number of characters in a label of a series.
const maxLabel = 24

// label names the settings of the series that are shown, where they differ: at the end of a line,
// and in the middle of a curve of rates. Where several names would stand in one place, it leaves
// one if they are equal and none otherwise.
func (f *Figure) label() {
	var placed []*Point
	differ := f.differing()
	for _, s := range f.Series {
		if s.Mark != Measured || s.Level || f.Loose || !f.shown(s) {
			continue
		}
		var parts []string
		for i, k := range f.Keys {
			if differ[i] && s.Keys[i] != "" {
				parts = append(parts, k.Name+" "+valueLabel(s.Keys[i]))
			}
		}
		p := f.labelPoint(s)
		text := strings.Join(parts, ", ")
		if text == "" || utf8.RuneCountInString(text) > maxLabel {
			continue
		}
		near := func(q *Point) bool {
			return math.Abs(f.X.at(p.X)-f.X.at(q.X)) < 0.15 && math.Abs(f.Y.at(p.Y)-f.Y.at(q.Y)) < 0.045
		}
		free := true
		for _, q := range placed {
			if near(q) {
				if free = false; q.Label != text {
					q.Label = ""
				}
			}
		}
		if free {
			p.Label = text
		}
		placed = append(placed, p)
	}
}

// differing reports for each key whether the measured series that are shown differ in it.
func (f *Figure) differing() []bool {
	differ := make([]bool, len(f.Keys))
	for i := range f.Keys {
		values := map[string]bool{}
		for _, s := range f.measured() {
			if s.Keys[i] != "" && f.shown(s) {
				values[s.Keys[i]] = true
			}
		}
		differ[i] = len(values) > 1
	}
	return differ
}

// labelPoint returns the point of a series at which its label stands: the last, or in a curve of
// rates the first whose rate is at least 1/2, if there is one, and otherwise the middle one.
func (f *Figure) labelPoint(s Series) *Point {
	if f.Kind != "curve" {
		return &s.Points[len(s.Points)-1]
	}
	if i := slices.IndexFunc(s.Points, func(p Point) bool { return p.Y >= 0.5 }); i >= 0 {
		return &s.Points[i]
	}
	return &s.Points[len(s.Points)/2]
}

// labelled reports whether a point of the figure has a label.
func (f *Figure) labelled() bool {
	return slices.ContainsFunc(f.Series, func(s Series) bool {
		return slices.ContainsFunc(s.Points, func(p Point) bool { return p.Label != "" })
	})
}

// valueLabel returns the value of a key as an axis would name it.
func valueLabel(value string) string {
	if v, err := strconv.ParseFloat(value, 64); err == nil && v >= 8192 && !math.IsInf(v, 0) {
		return tickLabel(v, 1e4)
	}
	return value
}

func (f *Figure) measured() (all []Series) {
	for _, s := range f.Series {
		if s.Mark == Measured {
			all = append(all, s)
		}
	}
	return all
}

// axis makes an axis that holds the values, logarithmic where that is asked for and all values are
// positive. Ticks stand at the values where there are few of them, and at round numbers otherwise.
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
	nameTicks(a.Ticks)
	return a
}

// round returns v with four digits, to keep limits short.
func round(v float64) float64 {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	return short
}

// at returns the place of a value along the axis, from 0 to 1.
func (a Axis) at(v float64) float64 {
	if a.Log {
		return math.Log(v/a.Low) / math.Log(a.High/a.Low)
	}
	return (v - a.Low) / (a.High - a.Low)
}

// spaced returns ticks at the values, but for those that are too near the one before.
func spaced(a Axis, values []float64) (ticks []Tick) {
	for _, v := range values {
		if len(ticks) == 0 || a.at(v)-a.at(ticks[len(ticks)-1].At) > 0.09 {
			ticks = append(ticks, Tick{At: v})
		}
	}
	return ticks
}

// roundTicks returns about six ticks at round numbers.
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
				ticks = append(ticks, Tick{At: round(math.Pow(10, e))})
			}
			return ticks
		}
		for e := math.Floor(math.Log10(a.Low)); math.Pow(10, e) <= a.High; e++ {
			for _, step := range steps {
				if v := round(step * math.Pow(10, e)); v >= a.Low && v <= a.High {
					ticks = append(ticks, Tick{At: v})
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
		ticks = append(ticks, Tick{At: round(i * step)})
	}
	return ticks
}

// nameTicks names all ticks in one way: as powers of two where all are and some are large, and in
// thousands where one has five digits.
func nameTicks(ticks []Tick) {
	powers, most := true, 0.0
	for _, t := range ticks {
		frac, _ := math.Frexp(t.At)
		powers, most = powers && frac == 0.5 && t.At >= 1, max(most, math.Abs(t.At))
	}
	thousand := 1e4
	if most >= 1e4 {
		thousand = 1e3
	}
	for i := range ticks {
		if _, exp := math.Frexp(ticks[i].At); powers && most >= 8192 {
			ticks[i].Label = "2^" + strconv.Itoa(exp-1)
		} else {
			ticks[i].Label = tickLabel(ticks[i].At, thousand)
		}
	}
}

// tickLabel returns a short name of a number: 0.05, 1500, 20k, 3M. From thousand on it counts in
// thousands.
func tickLabel(v, thousand float64) string {
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
	}{{1e12, 1e12, "T"}, {1e9, 1e9, "G"}, {1e6, 1e6, "M"}, {thousand, 1e3, "k"}} {
		if abs >= unit.from {
			return strconv.FormatFloat(v/unit.size, 'g', 4, 64) + unit.name
		}
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// byX sorts points by X, and keeps the order of those that agree in it.
func byX(points []Point) {
	slices.SortStableFunc(points, func(a, b Point) int { return cmp.Compare(a.X, b.X) })
}
