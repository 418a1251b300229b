package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// Figures returns the charts of the page. For each concept class (and file of data): n*, or regret
// and mistakes, against each parameter that varies, or, where none does, side by side; success rates
// and mean errors against n; regret against the best loss.
func (s *Sweep) Figures() []Figure {
	wanted, err := s.wanted(nil)
	if err != nil {
		panic("report: " + err.Error()) // only names can be unknown
	}
	all, _ := s.draw(wanted, Choice{})
	return all
}

// draw returns the figures of the measures. In left it says of which there is none.
func (s *Sweep) draw(wanted []measure, c Choice) (all []Figure, left []string) {
	frames := []*frame{s.sized, s.curve}
	if len(wanted) > 0 && wanted[0].curve {
		frames = []*frame{s.curve, s.sized}
	}
	for _, x := range s.searches {
		frames = append(frames, x.found, x.curve)
	}
	drawn := map[string]bool{}
	for _, f := range frames {
		for _, g := range groups(f) {
			for _, m := range wanted {
				if s.frameOf(m) != f {
					continue
				}
				figures := g.draw(s, m, c)
				drawn[m.value] = drawn[m.value] || len(figures) > 0
				all = append(all, figures...)
			}
		}
	}
	for _, m := range wanted {
		if !drawn[m.value] {
			left = add(left, c.why(m))
		}
	}
	used := map[string]int{}
	for i := range all {
		if s.manifest.Partial != "" {
			all[i].Title += " (partial)"
		}
		if used[all[i].Name]++; used[all[i].Name] > 1 {
			all[i].Name += fmt.Sprintf("-%d", used[all[i].Name])
		}
	}
	return all, left
}

// why says why there is no figure of a measure.
func (c Choice) why(m measure) string {
	x := plain(cmp.Or(c.X, m.x))
	if x == "" || m.loose {
		return fmt.Sprintf("no row has a value of %s", m.title)
	}
	why := fmt.Sprintf("no two rows that differ in %s alone have a value of %s", x, m.title)
	if m.curve && x != curveColumn {
		why += fmt.Sprintf(" at the same n, which a list of sizes has (n: [100, 1000]); --x %s draws against n", curveColumn)
	}
	return why
}

// draw returns the figures of a measure for the group.
func (g *group) draw(s *Sweep, m measure, c Choice) (all []Figure) {
	if m.kind == kindMetric {
		g = g.with(m.value) // an algorithm that does not report it has no line
	}
	x := cmp.Or(c.X, m.x)
	if x == "" {
		return g.against(s, m, c)
	}
	if c.X != "" && !g.varies(x) {
		return nil
	}
	makeLines, least := g.lines, 2
	if m.loose {
		makeLines = g.scatter
	}
	if m.kind == kindCurve {
		least = 1
	}
	f, places := makeLines(x, m, c.Group)
	if places < least {
		if m.kind == kindFound && c.X == "" { // all at one n
			return g.against(s, m, c)
		}
		return nil
	}
	f.fit(s, g, m, x)
	f.finish(s, g, m, c, x)
	return []Figure{f}
}

// against returns a figure for each parameter that varies along some line of cells, or one that
// sets all cells side by side.
func (g *group) against(s *Sweep, m measure, c Choice) (all []Figure) {
	free, _ := g.settings()
	for _, x := range g.keys() {
		if g.codes[x] == nil || !g.numeric(x) || x == "replica" || trial.IsParam(x) && !slices.Contains(free, x) ||
			slices.Contains(c.Group, plain(x)) {
			continue
		}
		f, longest := g.lines(x, m, c.Group)
		if longest < 2 {
			continue
		}
		f.fit(s, g, m, x)
		f.finish(s, g, m, c, x)
		all = append(all, f)
	}
	if f, ok := g.side(s, m, c); len(all) == 0 && ok {
		all = append(all, f)
	}
	return all
}

func (g *group) figure(m measure, x string) Figure {
	name := slug(m.slug + " " + g.name + " " + x)
	if m.curve && x == curveColumn {
		name = slug(m.slug + " " + g.name)
	}
	return Figure{
		Name: name, Kind: m.kind, Title: fmt.Sprintf("%s: %s against %s", g.name, m.title, m.along(x, title)),
		By: algorithmKey, Colours: g.algorithms, Loose: m.loose, Band: m.curve,
	}
}

// title returns a column's name as an axis shows it.
func title(column string) string {
	if t, ok := map[string]string{
		"d": "dimension d", "domain": "domain size X", "noise_rate": "noise rate", curveColumn: "sample size n",
		"find_n":    "sample size n",
		"best_loss": "best loss in hindsight",
	}[column]; ok {
		return t
	}
	return plain(column)
}

// withUnit returns the title of an axis with a unit, if there is one.
func withUnit(title, unit string) string {
	if unit == "" {
		return title
	}
	return title + " (" + unit + ")"
}

// xTitle returns what stands along the axis of a column.
func xTitle(column string) string {
	units := map[string]string{curveColumn: "examples", "find_n": "examples", "best_loss": "mistakes"}
	return withUnit(title(column), units[column])
}

// along returns what stands along the axis of a column: rounds, or what title says of it.
func (m measure) along(x string, title func(column string) string) string {
	if m.rounds && x == curveColumn {
		return "rounds"
	}
	return title(x)
}

// lines gathers one series per algorithm, setting and mark along the column x. longest is the
// number of points of the longest measured one.
func (g *group) lines(x string, m measure, chosen []string) (f Figure, longest int) {
	keys, along := g.keysFor(x, m, chosen)
	f = g.figure(m, x)
	f.X.Title = m.along(x, xTitle)
	f.setKeys(g, keys)
	if len(along) > 0 {
		f.Notes = append(f.Notes, "Along a line also changes: "+strings.Join(along, ", ")+".")
	}
	by := map[string]*seriesOf{}
	for i, row := range g.rows {
		id := fmt.Sprint(g.text(row, "algorithm"), " ", g.value(row, x) == nil)
		for _, k := range keys {
			id += " " + strconv.Quote(g.text(row, k))
		}
		if by[id] == nil {
			by[id] = g.begin(row, keys)
			by[id].first = i
		}
		by[id].add(g, row, g.number(row, x), m)
	}
	missing := 0
	for _, s := range slices.SortedFunc(maps.Values(by), func(a, b *seriesOf) int { return a.first - b.first }) {
		f.Series = append(f.Series, s.series()...)
		longest = max(longest, len(s.points[Measured]))
		missing += s.missing
	}
	if missing > 0 {
		where := "cells have no value to draw; the table has them."
		if m.curve {
			where = "points have no value to draw."
		}
		f.Notes = append(f.Notes, fmt.Sprintf("%d of %d %s", missing, len(g.rows), where))
	}
	return f, longest
}

// begin returns a series without points of a row's algorithm and setting.
func (g *group) begin(row int, keys []string) *seriesOf {
	name := g.text(row, algorithmKey)
	return &seriesOf{algorithm: name, colour: slices.Index(g.algorithms, name), keys: g.texts(row, keys)}
}

func (g *group) texts(row int, columns []string) []string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = g.text(row, c)
	}
	return out
}

func (f *Figure) setKeys(g *group, keys []string) {
	for _, k := range keys {
		f.Keys = append(f.Keys, Key{Name: plain(k), Values: g.distinct(k)})
	}
}

// seriesOf collects the points of one algorithm in one setting, by mark. Level says that its cell
// does not know x.
type seriesOf struct {
	algorithm              string
	colour, first, missing int
	keys                   []string
	points                 map[string][]Point
	level                  bool
}

func (s *seriesOf) add(g *group, row int, x float64, m measure) {
	if s.points == nil {
		s.points = map[string][]Point{}
	}
	s.level = s.level || math.IsNaN(x)
	if p, ok := m.point(g.frame, row); ok {
		p.X, p.row = x, row
		s.points[Measured] = append(s.points[Measured], p)
	} else {
		s.missing++
	}
	for mark, column := range map[string]string{g.theory(row): m.proved, Printed: m.printed, Model: m.model} {
		if y := g.number(row, column); y == y {
			p := Point{X: x, Y: y, Low: math.NaN(), High: math.NaN(), Cell: g.text(row, "cell")}
			if mark == Model {
				p.Low, p.High = g.number(row, m.modelLo), g.number(row, m.modelHi)
			}
			s.points[mark] = append(s.points[mark], p)
		}
	}
}

func (s *seriesOf) series() (all []Series) {
	for _, mark := range marks {
		if points := s.points[mark]; len(points) > 0 && !(s.level && mark == Model) {
			byX(points)
			all = append(all, Series{Mark: mark, Algorithm: s.algorithm, Colour: s.colour, Keys: s.keys,
				Level: s.level, Points: points})
		}
	}
	return all
}

// point returns a row's value with its interval. Where the row has no value, its place is between
// the ends of the interval.
func (m measure) point(f *frame, row int) (Point, bool) {
	p := Point{
		Y: f.number(row, m.value), Low: f.number(row, m.low), High: f.number(row, m.high), Cell: f.text(row, "cell"),
	}
	if status := f.text(row, "status"); status != "decided" {
		p.Open = status
	}
	if m.kind == kindFound {
		if f.text(row, "find_success") == schemas.SuccessFalls {
			p.Low, p.High = p.High, p.Low
		}
		if math.IsNaN(p.Y) {
			p.Open = "none suffices"
		}
	}
	if m.kind == kindError { // an error is a share
		p.Low, p.High = max(p.Low, 0), min(p.High, 1)
	}
	switch low, high := !math.IsNaN(p.Low), !math.IsNaN(p.High); {
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
	return p, true
}

// side returns a figure of all cells of a group side by side, by algorithm.
func (g *group) side(s *Sweep, m measure, c Choice) (Figure, bool) {
	f := g.figure(m, algorithmKey)
	f.Title = fmt.Sprintf("%s: %s by algorithm", g.name, m.title)
	f.Loose = true
	keys, _ := g.keysFor("", m, c.Group)
	f.setKeys(g, keys)
	place := map[int]int{}
	for _, row := range g.rows {
		one := g.begin(row, keys)
		one.add(g, row, float64(place[one.colour]), m)
		place[one.colour]++
		f.Series = append(f.Series, one.series()...)
	}
	if len(f.measured()) == 0 {
		return f, false
	}
	for i := range f.Series { // spread the cells of an algorithm over the width of its place
		one := &f.Series[i]
		one.Points[0].X = float64(one.Colour) + 0.7*((one.Points[0].X+0.5)/float64(place[one.Colour])-0.5)
	}
	f.X = Axis{Title: "", Low: -0.5, High: float64(len(g.algorithms)) - 0.5}
	for i, name := range g.algorithms {
		f.X.Ticks = append(f.X.Ticks, Tick{float64(i), name})
	}
	f.Choices = append(f.Choices, "No number varies along a line of cells, so they stand side by side, by algorithm.")
	f.finish(s, g, m, c, "")
	return f, true
}

// scatter returns a figure of the measure against a measured column. distinct is the number of
// places along it.
func (g *group) scatter(x string, m measure, chosen []string) (f Figure, distinct int) {
	f = g.figure(m, x)
	f.X.Title = xTitle(x)
	keys, _ := g.keysFor(x, m, chosen)
	f.setKeys(g, keys)
	seen := map[float64]bool{}
	for _, row := range g.rows {
		value := g.number(row, x)
		if math.IsNaN(value) {
			continue
		}
		seen[value] = true
		one := g.begin(row, keys)
		one.add(g, row, value, m)
		f.Series = append(f.Series, one.series()...)
	}
	return f, len(seen)
}

// theory returns the mark of the bound that stands beside a row: Proved or Declared.
func (f *frame) theory(row int) string {
	if f.text(row, "theory_standing") == trial.Declared {
		return Declared
	}
	return Proved
}

// theorems returns notes on where the bounds of a figure come from: "Proved bounds: finite-class
// (baseline/erm)."
func (g *group) theorems(m measure, f *Figure) (notes []string) {
	for _, bound := range []struct{ mark, value, source, title string }{
		{Proved, m.proved, "theory_source", "Proved bounds: "},
		{Declared, m.proved, "theory_source", "Declared bounds, the word of a plugin's author: "},
		{Printed, m.printed, "paper_source", "Printed bounds: "},
	} {
		var names []string
		of := map[string][]string{}
		for _, row := range g.rows {
			name, _, _ := strings.Cut(g.text(row, bound.source), ": ")
			other := bound.mark != Printed && bound.mark != g.theory(row)
			if name == "" || other || g.value(row, bound.value) == nil {
				continue
			}
			if of[name] == nil {
				names = append(names, name)
			}
			if a := g.text(row, "algorithm"); !slices.Contains(of[name], a) {
				of[name] = append(of[name], a)
			}
		}
		if len(names) == 0 || len(names) > maxNoted || !f.has(bound.mark) {
			continue
		}
		for i, name := range names {
			names[i] = name + " (" + strings.Join(of[name], ", ") + ")"
		}
		notes = append(notes, bound.title+strings.Join(names, "; ")+".")
	}
	return notes
}

// far is the ratio to everything measured beyond which a bound is not drawn.
const far = 1e4

// finish makes the axes, leaves out bounds that would press all else together, puts what has no
// x, or no place on a logarithmic axis, at the figure's edge, and says what the figure shows.
func (f *Figure) finish(s *Sweep, g *group, m measure, c Choice, x string) {
	f.leaveFarBounds()
	if f.has(Model) {
		f.Notes = append(f.Notes, "A pale bar with a stroke is n_model, a model's estimate with its interval; the thin "+
			"line is the bracket, which was shown. "+
			"Where there is no pale bar, no model fits well.")
	}
	scale := estimate.Scale{LogX: true, LogY: !m.curve}
	if c.Scale != "" {
		scale, _ = estimate.ScaleNamed(c.Scale)
	}
	f.makeAxes(m, scale)
	f.edge()
	f.tell(c.Group)
	f.caption(s, g, m, x)
	f.describe()
	f.Notes = append(f.Notes, g.theorems(m, f)...)
}

// leaveFarBounds removes the bounds that are too far from what is measured, and notes them.
func (f *Figure) leaveFarBounds() {
	low, high := math.Inf(1), 0.0
	for _, s := range f.measured() {
		for _, p := range s.Points {
			if p.Y > 0 {
				low, high = min(low, p.Y), max(high, p.Y)
			}
		}
	}
	left := map[string]float64{}
	f.Series = slices.DeleteFunc(f.Series, func(s Series) bool {
		outside := slices.Contains(boundMarks, s.Mark) && high > 0 &&
			slices.ContainsFunc(s.Points, func(p Point) bool { return p.Y > far*high || p.Y < low/far })
		if outside {
			left[s.Mark] = max(left[s.Mark], s.Points[len(s.Points)-1].Y)
		}
		return outside
	})
	for _, mark := range boundMarks {
		if v, ok := left[mark]; ok {
			f.Notes = append(f.Notes, fmt.Sprintf("Not drawn, as it is too far from what is measured: %s, up to %s.", mark,
				text(round(v))))
		}
	}
}

// makeAxes makes the axes that the figure does not have yet. A logarithmic one needs a value above 0.
func (f *Figure) makeAxes(m measure, scale estimate.Scale) {
	var xs, ys []float64
	positive := false
	for _, s := range f.Series {
		for _, p := range s.Points {
			if s.Mark != Fit { // its points are not those of cells
				xs = append(xs, p.X)
			}
			ys = append(ys, p.Y, p.Low, p.High)
			positive = positive || p.Y > 0
		}
	}
	name := withUnit(m.title, m.unit)
	switch {
	case m.kind == kindCurve && !scale.LogY:
		f.Y = Axis{Title: name, Low: 0, High: 1}
		f.Y.Ticks = f.Y.roundTicks()
		nameTicks(f.Y.Ticks)
	case scale.LogY && positive:
		f.Y = f.logAxis(name, ys)
	default:
		f.Y = axis(name, ys, false, false)
	}
	if f.X.Ticks == nil {
		f.X = axis(f.X.Title, xs, scale.LogX, !f.Loose)
	}
}

// logAxis returns a logarithmic axis for the values above 0, and notes where the others are.
func (f *Figure) logAxis(title string, ys []float64) Axis {
	above := slices.DeleteFunc(slices.Clone(ys), func(v float64) bool { return !(v > 0) })
	if len(above) < len(slices.DeleteFunc(slices.Clone(ys), math.IsNaN)) {
		f.Notes = append(f.Notes, "The axis is logarithmic: what is not above 0 stands at its lower edge.")
	}
	return axis(title, above, true, false)
}

// edge moves points beyond the axes to their ends.
func (f *Figure) edge() {
	for i := range f.Series {
		s := &f.Series[i]
		for j := range s.Points {
			p := &s.Points[j]
			p.Y, p.Low, p.High = clamp(p.Y, f.Y), clamp(p.Low, f.Y), clamp(p.High, f.Y)
		}
		if s.Level {
			p := s.Points[0]
			q := p
			p.X, q.X = f.X.Low, f.X.High
			s.Points = []Point{p, q}
		}
	}
}

// describe describes the figure in words.
func (f *Figure) describe() {
	var parts []string
	for i, name := range f.Colours {
		low, high, open, all := math.Inf(1), math.Inf(-1), 0, 0
		for _, s := range f.measured() {
			if s.Colour != i {
				continue
			}
			for _, p := range s.Points {
				low, high, all = min(low, p.Y), max(high, p.Y), all+1
				open += btoi(p.Open != "" && f.Kind == "n")
			}
		}
		if all == 0 || len(parts) == 8 {
			continue
		}
		part := fmt.Sprintf("%s from %s to %s", name, text(round(low)), text(round(high)))
		if open > 0 {
			part += fmt.Sprintf(" (%d of %d points not decided)", open, all)
		}
		parts = append(parts, part)
	}
	f.Text = fmt.Sprintf("%s. %s.", f.Title, strings.Join(parts, "; "))
}

// slug returns a name for files: small letters, digits and single hyphens.
func slug(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.Join(words, "-")
}
