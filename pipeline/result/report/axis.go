package report

import (
	"math"
	"slices"
	"strconv"
)

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

// mostTicks is the number of values up to which an axis has its ticks at them.
const mostTicks = 12

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
	if exact && len(values) <= mostTicks {
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

func clamp(v float64, a Axis) float64 {
	if math.IsNaN(v) {
		return v
	}
	return max(a.Low, min(a.High, v))
}
