package report

import (
	"math"
	"strconv"
	"strings"

	"github.com/shatterlab/shatter/schemas"
)

// fit adds the fitted lines of the sheet fits beside the measured series that they belong to.
func (f *Figure) fit(g *group, x string, fits *frame) {
	for row := range fits.Rows {
		slope, intercept := fits.number(row, "slope"), fits.number(row, "intercept")
		if fits.text(row, "x") != x && schemas.ParamPrefix+fits.text(row, "x") != x || math.IsNaN(slope) || math.IsNaN(intercept) {
			continue
		}
		for _, s := range f.measured() {
			if len(s.Points) < 2 || f.Algorithms[s.Algorithm] != fits.text(row, "algorithm") || !f.fits(g, s, fits.text(row, "group")) {
				continue
			}
			low, high := s.Points[0].X, s.Points[len(s.Points)-1].X
			if line := fittedLine(fits.text(row, "scale"), slope, intercept, low, high); line != nil {
				f.Series = append(f.Series, Series{Mark: Fit, Algorithm: s.Algorithm, Keys: s.Keys, Points: line})
			}
		}
	}
}

// fits says whether a series has what words say of a group of cells: "epsilon 0.5, d 10". Words name only what differs between an algorithm's groups.
func (f *Figure) fits(g *group, s Series, words string) bool {
	said := map[string]string{}
	for _, part := range strings.Split(words, ", ") {
		if name, value, ok := strings.Cut(part, " "); ok {
			said[name] = value
		}
	}
	for i, k := range f.Keys {
		if value, ok := said[k.column]; ok && s.Keys[i] != "" && !same(value, s.Keys[i]) {
			return false
		}
	}
	for _, column := range []string{"class", "file", "data"} {
		own := g.text(g.rows[0], column)
		if value, ok := said[column]; ok && value != own && !strings.HasPrefix(value, own+" ") {
			return false
		}
	}
	return true
}

// same compares two values as people read them.
func same(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	if errX == nil && errY == nil {
		return math.Abs(x-y) <= 1e-3*math.Abs(y)
	}
	return a == b
}

// fittedLine is a fitted line from low to high, nil for a scale that is not known.
func fittedLine(scale string, slope, intercept, low, high float64) (points []Point) {
	const pieces = 24
	for i := range pieces + 1 {
		share := float64(i) / pieces
		p := Point{X: low + share*(high-low), Low: math.NaN(), High: math.NaN()}
		if scale != "linear" || low > 0 {
			p.X = low * math.Pow(high/low, share)
		}
		switch scale {
		case "linear":
			p.Y = intercept + slope*p.X
		case "log":
			p.Y = intercept + slope*math.Log(p.X)
		case "log-log":
			p.Y = math.Exp(intercept + slope*math.Log(p.X))
		default:
			return nil
		}
		points = append(points, p)
	}
	return points
}
