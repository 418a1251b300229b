package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// Bars draws intervals on one logarithmic scale, each as a small image.
type Bars struct{ Low, High float64 }

// Size of a bar's image.
const barWidth, barHeight = 240, 12

// NewBars returns a scale that contains the positive numbers among the values.
func NewBars(values ...float64) Bars {
	b := Bars{math.Inf(1), 0}
	for _, v := range values {
		if v > 0 && !math.IsInf(v, 1) {
			b.Low, b.High = min(b.Low, v), max(b.High, v)
		}
	}
	return b
}

// Scale describes the scale in words; "": no value was positive.
func (b Bars) Scale() string {
	if b.High == 0 {
		return ""
	}
	return strings.Join(tickLabels(b.Low, b.High), " to ") + ", log"
}

// at returns the position of a value in the image.
func (b Bars) at(v float64) float64 {
	if b.Low >= b.High {
		return barWidth / 2
	}
	return 2 + (barWidth-4)*math.Log(max(b.Low, min(b.High, v))/b.Low)/math.Log(b.High/b.Low)
}

// SVG draws the interval from low to high and an upright line at the bound. An end that is not
// positive is unknown: the bar then becomes paler and ends at the edge.
func (b Bars) SVG(low, high, bound float64) template.HTML {
	if b.High == 0 || !(low > 0) && !(high > 0) && !(bound > 0) {
		return ""
	}
	from, to, class := 0.0, float64(barWidth), "b"
	if low > 0 {
		from = b.at(low)
	}
	if high > 0 {
		to = b.at(high)
	}
	if !(low > 0) || !(high > 0) {
		class = "o"
	}
	text := ""
	if low > 0 || high > 0 {
		text = fmt.Sprintf(`<path class="%s" d="M%.0f 6H%.0f"/>`, class, from, max(to, from+2))
	}
	if bound > 0 {
		text += fmt.Sprintf(`<path class="t" d="M%.0f 0V12"/>`, b.at(bound))
	}
	return template.HTML(fmt.Sprintf(`<svg class="bar" viewBox="0 0 %d %d" aria-hidden="true">%s</svg>`,
		barWidth, barHeight, text))
}

// barColumns lists the columns of an interval and of its proved bound.
var barColumns = [][3]string{
	{"n_low", "n_high", "theory_n"},
	{"search_insufficient", "search_sufficient", "search_theory"},
	{"regret_low", "regret_high", "theory_regret"},
}

// drawBars adds a column with the intervals of the rows of f, of the first kind that the table has.
func (v *tableView) drawBars(f *frame) {
	for _, columns := range barColumns {
		var all, bounds []float64
		for row := range f.Len() {
			all = append(all, f.Number(row, columns[0]), f.Number(row, columns[1]))
			bounds = append(bounds, f.Number(row, columns[2]))
		}
		b := NewBars(all...)
		if b.High == 0 {
			continue
		}
		near := slices.DeleteFunc(bounds, func(v float64) bool { return v > 1000*b.High || v < b.Low/1000 })
		b = NewBars(append(all, near...)...)
		at := len(v.Columns)
		if high := schemas.IndexOf(v.Columns, columns[1]); high >= 0 {
			at = high + 1
		}
		v.Columns = slices.Insert(v.Columns, at, schemas.Column{
			Name: "bar (" + b.Scale() + ")", Type: "bar",
			Doc: columns[0] + " to " + columns[1] + "; the upright line is the bound " + columns[2],
		})
		for i := range v.Rows {
			bar := b.SVG(f.Number(i, columns[0]), f.Number(i, columns[1]), f.Number(i, columns[2]))
			v.Rows[i].Values = slices.Insert(v.Rows[i].Values, at, tableValue{Bar: bar})
		}
		return
	}
}

// A deciding is a cell that has trials and is not decided yet.
type deciding struct {
	Algorithm, Cell, Trials, Low, High string
	Settings                           []string
	Bar                                template.HTML
}

// maxDeciding is the maximum number of cells that the page lists as being decided.
const maxDeciding = 20

// addDeciding lists the cells with trials that are not decided, those with the most trials first.
func (v *view) addDeciding() {
	f := v.sized
	var open []int
	var all []float64
	for row := range f.Len() {
		if f.text(row, "status") == estimate.StatusUndecided && f.Number(row, "trials") > 0 {
			open = append(open, row)
			all = append(all, f.Number(row, "n_low"), f.Number(row, "n_high"))
		}
	}
	v.Open = len(open)
	slices.SortStableFunc(open, func(a, b int) int { return cmp.Compare(f.Number(b, "trials"), f.Number(a, "trials")) })
	b := NewBars(all...)
	varying := slices.DeleteFunc(f.keys(), func(k string) bool {
		return k == algorithmKey || trial.IsParam(k) || len(f.Distinct(f.Index(k))) < 2
	})
	for _, row := range open[:min(len(open), maxDeciding)] {
		d := deciding{
			f.text(row, algorithmKey), f.text(row, "cell"), f.text(row, "trials"), f.text(row, "n_low"),
			f.text(row, "n_high"), nil, b.SVG(f.Number(row, "n_low"), f.Number(row, "n_high"), f.Number(row, "theory_n")),
		}
		for _, k := range varying {
			if value := f.text(row, k); value != "" {
				d.Settings = append(d.Settings, k+" "+value)
			}
		}
		v.Deciding = append(v.Deciding, d)
	}
}
