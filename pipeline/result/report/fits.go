package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/schemas"
)

// maxNoted is the largest number of fitted lines, or theorems, that a figure's notes name.
const maxNoted = 6

// fit adds the fitted lines of the result to the measured series whose cells they were fitted to,
// and notes their slopes. They are lines of n* or the regret.
func (f *Figure) fit(s *Sweep, g *group, m measure, x string) {
	var slopes []string
	fits := s.fits
	if m.value != sampleSize.value && m.value != regret.value || m.loose {
		return
	}
	for row := range fits.Len() {
		slope, intercept := fits.number(row, "slope"), fits.number(row, "intercept")
		if fits.text(row, "x") != x && schemas.ParamPrefix+fits.text(row, "x") != x || math.IsNaN(slope) ||
			math.IsNaN(intercept) {
			continue
		}
		rows := g.fitted(fits.text(row, "algorithm"), fits.text(row, "group"))
		found := false
		for _, s := range f.measured() {
			points := slices.DeleteFunc(slices.Clone(s.Points), func(p Point) bool { return !rows[p.row] })
			if s.Level || len(points) < 2 {
				continue
			}
			if line := fittedLine(fits.text(row, "scale"), slope, intercept, points[0].X, points[len(points)-1].X); line != nil {
				f.Series = append(f.Series, Series{Mark: Fit, Algorithm: s.Algorithm, Colour: s.Colour, Keys: s.Keys, Points: line})
				found = true
			}
		}
		if found {
			slopes = append(slopes, slopeText(fits, row))
		}
	}
	switch {
	case len(slopes) > maxNoted:
		f.Notes = append(f.Notes, fmt.Sprintf("The slopes of the %d fitted lines are in the table of slopes.", len(slopes)))
	case len(slopes) > 0:
		f.Notes = append(f.Notes, "Fitted slopes: "+strings.Join(slopes, "; ")+".")
	}
	if len(slopes) > 0 && len(s.where) > 0 {
		f.Notes = append(f.Notes, "The lines are fitted to all cells of the sweep, also those that are not shown.")
	}
}

// slopeText returns a fit in words: "acme/one, epsilon 1: 24.2 per ln domain (20.8 to 27.6; bound
// 27.8)".
func slopeText(fits *frame, row int) string {
	who := fits.text(row, "algorithm")
	if group := fits.text(row, "group"); group != "" {
		who += ", " + group
	}
	short := func(column string) string { return strconv.FormatFloat(fits.number(row, column), 'g', 3, 64) }
	what := short("slope") + " per "
	switch scale, _ := estimate.ScaleNamed(fits.text(row, "scale")); {
	case scale.LogX && scale.LogY:
		what = "exponent " + short("slope") + " of "
	case scale.LogX:
		what += "ln "
	case scale.LogY:
		what = "factor e^" + what
	}
	var more []string
	if fits.value(row, "slope_low") != nil {
		more = append(more, short("slope_low")+" to "+short("slope_high"))
	}
	if fits.value(row, "theory_slope") != nil {
		more = append(more, "bound "+short("theory_slope"))
	}
	bent := fits.text(row, "line") == estimate.NotLinear
	if fits.value(row, "claimed") != nil {
		claim := "claimed " + short("claimed")
		if verdict := fits.text(row, "verdict"); verdict != "" && !bent {
			claim += ", " + verdict
		}
		more = append(more, claim)
	}
	if bent {
		more = append(more, estimate.NotLinear)
	}
	text := who + ": " + what + fits.text(row, "x")
	if len(more) > 0 {
		text += " (" + strings.Join(more, "; ") + ")"
	}
	return text
}

// fitted returns the rows of an algorithm that are in a fit's group, whose words are such as
// "epsilon 0.5, d 10". Words name only what differs between the groups of the algorithm.
func (g *group) fitted(algorithm, words string) map[int]bool {
	rows := map[int]bool{}
	for _, row := range g.rows {
		has := g.text(row, "algorithm") == algorithm
		for _, part := range strings.Split(words, ", ") {
			name, value, _ := strings.Cut(part, " ")
			if _, ok := g.index[name]; ok && name != "above" { // words may call the reference error "best"
				has = has && same(name, value, g.text(row, name))
			}
		}
		if has {
			rows[row] = true
		}
	}
	return rows
}

// same reports whether words give a column the value of a row. 0 and nothing are the same, and the
// words for data also name its label.
func same(column, words, own string) bool {
	x, errX := strconv.ParseFloat(words, 64)
	y, errY := strconv.ParseFloat(own, 64)
	switch {
	case errX == nil && errY == nil:
		return math.Abs(x-y) <= 1e-5*math.Abs(x)
	case own == "":
		return words == "" || errX == nil && x == 0
	case column == "data":
		return words == own || strings.HasPrefix(words, own+" ")
	}
	return words == own
}

// fittedLine returns a fitted line from low to high, or nil for a scale that is not known.
func fittedLine(name string, slope, intercept, low, high float64) (points []Point) {
	const pieces = 24
	scale, known := estimate.ScaleNamed(name)
	if !known {
		return nil
	}
	for i := range pieces + 1 {
		share := float64(i) / pieces
		p := Point{X: low + share*(high-low), Low: math.NaN(), High: math.NaN()}
		if scale.LogX || low > 0 {
			p.X = low * math.Pow(high/low, share)
		}
		p.Y = scale.At(p.X, intercept, slope)
		points = append(points, p)
	}
	return points
}
