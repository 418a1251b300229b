package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/schemas"
)

// measure names a measured quantity of the table: the columns of its value, its interval and its
// bounds.
type measure struct {
	kind, slug, title       string
	value, low, high        string
	proved, printed         string
	model, modelLo, modelHi string
}

var (
	sampleSize = measure{
		"n", "n", "sample size n*", "n_star", "n_low", "n_high", "theory_n", "paper_n", "n_model", "n_model_low",
		"n_model_high",
	}
	regret = measure{"regret", "regret", "regret", "regret_mean", "regret_low", "regret_high", "theory_regret",
		"paper_regret", "", "", ""}
	mistakes = measure{"regret", "mistakes", "mistakes", "mistakes_mean", "mistakes_mean", "mistakes_max", "", "", "", "",
		""}
)

// Figures returns all charts of a sweep. For each concept class (and file of data): n*, or regret
// and mistakes, against each parameter that varies, or, where none does, side by side; success
// rates against n; regret against the best loss.
func (s *Sweep) Figures() []Figure {
	var all []Figure
	for _, g := range groups(s.table) {
		if s.online() {
			all = append(all, g.against(regret, s.fits)...)
			if f, ok := g.scatter("best_loss", "best loss in hindsight", regret); ok {
				all = append(all, f)
			}
			all = append(all, g.against(mistakes, newFrame(nil))...)
			continue
		}
		all = append(all, g.against(sampleSize, s.fits)...)
	}
	for _, g := range groups(s.curve) {
		if f, ok := g.curves(); ok {
			all = append(all, f)
		}
	}
	used := map[string]int{}
	for i := range all {
		if s.manifest.Partial != "" {
			all[i].Title += " (partial)"
			all[i].Notes = append(all[i].Notes, "Partial: "+s.manifest.Partial+".")
		}
		if used[all[i].Name]++; used[all[i].Name] > 1 {
			all[i].Name += fmt.Sprintf("-%d", used[all[i].Name])
		}
	}
	return all
}

// group holds the rows of one concept class, or of one file of data or class.
type group struct {
	*frame
	name       string
	rows       []int
	algorithms []string
	codes      map[string][]int // of each key that varies: a small number for each row's value
}

func groups(f *frame) []*group {
	var all []*group
	by := map[string]*group{}
	for row := range f.Rows {
		var parts []string
		for _, column := range []string{"class", "file", "data"} {
			if v := f.text(row, column); v != "" {
				parts = append(parts, v)
			}
		}
		name := strings.Join(parts, ", ")
		if by[name] == nil {
			by[name] = &group{frame: f, name: name}
			all = append(all, by[name])
		}
		by[name].rows = append(by[name].rows, row)
	}
	for _, g := range all {
		g.code()
	}
	return all
}

// code finds the algorithms and the keys that vary.
func (g *group) code() {
	g.algorithms, g.codes = g.distinct("algorithm"), map[string][]int{}
	for _, column := range g.frame.keys() {
		if values := append([]string{""}, g.distinct(column)...); len(values) > 2 || g.gaps(column) {
			index := map[string]int{}
			for i, v := range values {
				index[v] = i
			}
			for _, row := range g.rows {
				g.codes[column] = append(g.codes[column], index[g.text(row, column)])
			}
		}
	}
}

// cells returns the group with the first row of each cell.
func (g *group) cells() *group {
	out := &group{frame: g.frame, name: g.name}
	seen := map[string]bool{}
	for _, row := range g.rows {
		if cell := g.text(row, "cell"); !seen[cell] {
			seen[cell] = true
			out.rows = append(out.rows, row)
		}
	}
	out.code()
	return out
}

// distinct returns the values of a column in the order of the rows, without the empty one.
func (g *group) distinct(column string) (values []string) {
	seen := map[string]bool{"": true}
	for _, row := range g.rows {
		if v := g.text(row, column); !seen[v] {
			seen[v] = true
			values = append(values, v)
		}
	}
	return values
}

// gaps reports whether some rows have a value in the column and others none.
func (g *group) gaps(column string) bool {
	empty := 0
	for _, row := range g.rows {
		if g.value(row, column) == nil {
			empty++
		}
	}
	return empty > 0 && empty < len(g.rows)
}

// settings returns the fewest keys that, with the algorithm and the columns x, tell the rows apart.
// It drops parameters that follow from other keys first, then numbers that change along with x,
// which it returns in along.
func (g *group) settings(x ...string) (keys, along []string) {
	for _, column := range g.keys() {
		if g.codes[column] != nil && column != "algorithm" && !slices.Contains(x, column) {
			keys = append(keys, column)
		}
	}
	fixed := append([]string{"algorithm"}, x...)
	candidates := slices.Clone(keys)
	slices.Reverse(candidates)
	slices.SortStableFunc(candidates, func(a, b string) int { return btoi(isParam(b)) - btoi(isParam(a)) })
	for _, c := range candidates {
		others := slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k == c })
		if (isParam(c) || g.numeric(c) || strings.HasPrefix(c, "privacy")) && g.unique(append(fixed, others...)) {
			if keys = others; !isParam(c) && g.numeric(c) && len(g.distinct(c)) > 1 {
				along = append(along, c)
			}
		}
	}
	slices.Reverse(along)
	return keys, along
}

func isParam(column string) bool { return strings.HasPrefix(column, schemas.ParamPrefix) }

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (g *group) numeric(column string) bool {
	t := g.Columns[g.index[column]].Type
	return t == schemas.IntColumn || t == schemas.FloatColumn
}

// unique reports whether no two rows agree in all columns.
func (g *group) unique(columns []string) bool {
	seen := make(map[string]bool, len(g.rows))
	for i := range g.rows {
		var id []byte
		for _, c := range columns {
			if codes := g.codes[c]; codes != nil {
				id = fmt.Appendf(id, "%d ", codes[i])
			}
		}
		if seen[string(id)] {
			return false
		}
		seen[string(id)] = true
	}
	return true
}

// against returns a figure for each parameter that varies along some line of cells, or one that
// sets all cells side by side.
func (g *group) against(m measure, fits *frame) (all []Figure) {
	free, _ := g.settings()
	for _, x := range g.keys() {
		if g.codes[x] == nil || !g.numeric(x) || x == "replica" || isParam(x) && !slices.Contains(free, x) {
			continue
		}
		f, longest := g.lines(x, m)
		if longest < 2 {
			continue
		}
		f.fit(g, x, fits)
		f.finish(m)
		f.Notes = append(f.Notes, g.theorems(m, &f)...)
		all = append(all, f)
	}
	if f, ok := g.side(m); len(all) == 0 && ok {
		all = append(all, f)
	}
	return all
}

func (g *group) figure(m measure, x string) Figure {
	return Figure{
		Name: slug(m.slug + " " + g.name + " " + x), Kind: m.kind, Algorithms: g.algorithms,
		Title: fmt.Sprintf("%s: %s against %s", g.name, m.title, title(x)),
	}
}

// title returns a column's name as an axis shows it.
func title(column string) string {
	if t, ok := map[string]string{"d": "dimension d", "domain": "domain size X", "noise_rate": "noise rate"}[column]; ok {
		return t
	}
	return strings.TrimPrefix(column, schemas.ParamPrefix)
}

// lines gathers one series per algorithm, setting and mark along the column x. longest is the
// number of points of the longest measured one.
func (g *group) lines(x string, m measure) (f Figure, longest int) {
	keys, along := g.settings(x)
	f = g.figure(m, x)
	f.X.Title = title(x)
	f.setKeys(g, keys)
	if len(along) > 0 {
		f.Notes = append(f.Notes, "Along a line also changes: "+strings.Join(along, ", ")+".")
	}
	by := map[string]*seriesOf{}
	for i, row := range g.rows {
		id := fmt.Sprint(g.text(row, "algorithm"), " ", g.value(row, x) == nil)
		for _, k := range keys {
			id += fmt.Sprint(" ", g.codes[k][i])
		}
		if by[id] == nil {
			by[id] = &seriesOf{algorithm: slices.Index(g.algorithms, g.text(row, "algorithm")), keys: g.texts(row, keys),
				first: i}
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
		f.Notes = append(f.Notes, fmt.Sprintf("%d of %d cells have no value to draw; the table has them.", missing,
			len(g.rows)))
	}
	return f, longest
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
		f.Keys = append(f.Keys, Key{Name: strings.TrimPrefix(k, schemas.ParamPrefix), Values: g.distinct(k)})
	}
}

// seriesOf collects the points of one algorithm in one setting, by mark. Level says that its cell
// does not know x.
type seriesOf struct {
	algorithm, first, missing int
	keys                      []string
	points                    map[string][]Point
	level                     bool
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
	for mark, column := range map[string]string{Proved: m.proved, Printed: m.printed, Model: m.model} {
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
			all = append(all, Series{Mark: mark, Algorithm: s.algorithm, Keys: s.keys, Level: s.level, Points: points})
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
func (g *group) side(m measure) (Figure, bool) {
	f := g.figure(m, "algorithm")
	f.Title = fmt.Sprintf("%s: %s by algorithm", g.name, m.title)
	f.X.Title, f.Loose = "algorithm", true
	keys, _ := g.settings()
	f.setKeys(g, keys)
	place := map[int]int{}
	for _, row := range g.rows {
		a := slices.Index(g.algorithms, g.text(row, "algorithm"))
		s := seriesOf{algorithm: a, keys: g.texts(row, keys)}
		s.add(g, row, float64(place[a]), m)
		place[a]++
		f.Series = append(f.Series, s.series()...)
	}
	if len(f.measured()) == 0 {
		return f, false
	}
	for i := range f.Series { // spread the cells of an algorithm over the width of its place
		s := &f.Series[i]
		s.Points[0].X = float64(s.Algorithm) + 0.7*((s.Points[0].X+0.5)/float64(place[s.Algorithm])-0.5)
	}
	f.finish(m)
	f.Notes = append(f.Notes, g.theorems(m, &f)...)
	f.X = Axis{Title: "", Low: -0.5, High: float64(len(g.algorithms)) - 0.5}
	for i, name := range g.algorithms {
		f.X.Ticks = append(f.X.Ticks, Tick{float64(i), name})
	}
	return f, true
}

// scatter returns a figure of the measure against a measured column.
func (g *group) scatter(x, name string, m measure) (Figure, bool) {
	f := g.figure(m, x)
	f.Title = fmt.Sprintf("%s: %s against %s", g.name, m.title, name)
	f.X.Title, f.Loose = name, true
	keys, _ := g.settings()
	f.setKeys(g, keys)
	seen := map[float64]bool{}
	for _, row := range g.rows {
		value := g.number(row, x)
		if math.IsNaN(value) {
			continue
		}
		seen[value] = true
		s := seriesOf{algorithm: slices.Index(g.algorithms, g.text(row, "algorithm")), keys: g.texts(row, keys)}
		s.add(g, row, value, m)
		f.Series = append(f.Series, s.series()...)
	}
	f.finish(m)
	f.Notes = append(f.Notes, g.theorems(m, &f)...)
	return f, len(seen) > 1
}

// theorems returns notes on where the bounds of a figure come from: "Proved bounds: finite-class
// (baseline/erm)."
func (g *group) theorems(m measure, f *Figure) (notes []string) {
	for _, bound := range []struct{ mark, value, source, title string }{
		{Proved, m.proved, "theory_source", "Proved bounds: "}, {Printed, m.printed, "paper_source", "Printed bounds: "},
	} {
		var names []string
		of := map[string][]string{}
		for _, row := range g.rows {
			name, _, _ := strings.Cut(g.text(row, bound.source), ": ")
			if name == "" || g.value(row, bound.value) == nil {
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

// finish makes the axes, leaves out bounds that would press all else together, and puts what has no
// x, or no place on a logarithmic axis, at the figure's edge.
func (f *Figure) finish(m measure) {
	low, high := math.Inf(1), 0.0
	var xs, ys []float64
	for _, s := range f.Series {
		for _, p := range s.Points {
			if s.Mark != Fit { // its points are not those of cells
				xs = append(xs, p.X)
			}
			if s.Mark == Measured && p.Y > 0 {
				low, high = min(low, p.Y), max(high, p.Y)
			}
		}
	}
	left := map[string]float64{}
	f.Series = slices.DeleteFunc(f.Series, func(s Series) bool {
		bound := s.Mark == Proved || s.Mark == Printed
		outside := bound && high > 0 &&
			slices.ContainsFunc(s.Points, func(p Point) bool { return p.Y > far*high || p.Y < low/far })
		if outside {
			left[s.Mark] = max(left[s.Mark], s.Points[len(s.Points)-1].Y)
		}
		return outside
	})
	for _, mark := range []string{Proved, Printed} {
		if v, ok := left[mark]; ok {
			f.Notes = append(f.Notes, fmt.Sprintf("Not drawn, as it is too far from what is measured: %s, up to %s.", mark,
				text(round(v))))
		}
	}
	if f.has(Model) {
		f.Notes = append(f.Notes, "A pale bar with a stroke is n_model, a model's estimate with its interval; the thin "+
			"line is the bracket, which was shown. "+
			"Where there is no pale bar, no model fits well.")
	}
	positive := false
	for _, s := range f.Series {
		for _, p := range s.Points {
			ys = append(ys, p.Y, p.Low, p.High)
			positive = positive || p.Y > 0
		}
	}
	f.Y = f.yAxis(m, ys, positive)
	f.X = axis(f.X.Title, xs, true, !f.Loose)
	f.edge()
	f.choose()
	f.label()
	f.describe()
}

func (f *Figure) yAxis(m measure, ys []float64, positive bool) Axis {
	if !positive {
		return axis(m.title, ys, false, false)
	}
	above := slices.DeleteFunc(slices.Clone(ys), func(v float64) bool { return !(v > 0) })
	a := axis(m.title, above, true, false)
	if len(above) < len(slices.DeleteFunc(slices.Clone(ys), math.IsNaN)) {
		f.Notes = append(f.Notes, "The axis is logarithmic: what is not above 0 stands at its lower edge.")
	}
	return a
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

func clamp(v float64, a Axis) float64 {
	if math.IsNaN(v) {
		return v
	}
	return max(a.Low, min(a.High, v))
}

// curves returns a figure of the success rates of a group's cells against n, as bands.
func (g *group) curves() (Figure, bool) {
	f := Figure{
		Name: slug("curve " + g.name), Kind: "curve", Algorithms: g.algorithms,
		Title: g.name + ": success rate against sample size n", Y: Axis{Title: "success rate", Low: 0, High: 1},
	}
	keys, _ := g.cells().settings()
	f.setKeys(g, keys)
	index := map[string]int{}
	var xs []float64
	for _, row := range g.rows {
		rate, n := g.number(row, "rate"), g.number(row, "n")
		if math.IsNaN(rate) || math.IsNaN(n) {
			continue
		}
		xs = append(xs, n)
		cell := g.text(row, "cell")
		if _, ok := index[cell]; !ok {
			index[cell] = len(f.Series)
			f.Series = append(f.Series, Series{
				Mark: Measured, Algorithm: slices.Index(g.algorithms, g.text(row, "algorithm")), Keys: g.texts(row, keys),
			})
		}
		s := &f.Series[index[cell]]
		s.Points = append(s.Points, Point{X: n, Y: rate, Low: g.number(row, "rate_low"), High: g.number(row, "rate_high"),
			Cell: cell})
	}
	for i := range f.Series {
		byX(f.Series[i].Points)
	}
	f.X, f.Y.Ticks = axis("sample size n", xs, true, false), f.Y.roundTicks()
	nameTicks(f.Y.Ticks)
	if goals := g.distinct("beta"); len(goals) == 1 {
		f.Target = round(1 - g.number(g.rows[0], "beta"))
		f.Notes = append(f.Notes, fmt.Sprintf("n suffices where the rate is at least %s, the dashed line.", text(f.Target)))
	}
	f.choose()
	f.label()
	f.describe()
	return f, len(f.Series) > 0
}

// describe describes the figure in words.
func (f *Figure) describe() {
	var parts []string
	for a, name := range f.Algorithms {
		low, high, open, all := math.Inf(1), math.Inf(-1), 0, 0
		for _, s := range f.measured() {
			if s.Algorithm != a {
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
