package report

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"

	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// A Figure is the data of one chart.
type Figure struct {
	Name    string   // name of its files: small letters, digits and hyphens; unique in a sweep
	Title   string   // subject
	Caption []string // settings, intervals and omissions, one sentence each
	Choices []string // the sentences of Caption about settings that were chosen from several
	X, Y    Axis
	Lines   []Line
	Faint   bool    // intervals are drawn faintly, because there are many points
	Loose   bool    // points are not joined
	Levels  []Level // horizontal lines to compare with
}

// A Level is a known value, drawn as a horizontal line.
type Level struct {
	Name string
	Y    float64
}

// Marks of bounds.
const (
	Proved   = "proved bound"
	Declared = "declared bound" // proved according to the plugin's author
	Printed  = "printed bound"
)

// marks lists the marks in the order of a legend.
var marks = []string{Proved, Declared, Printed}

// A Line holds the measured points of one setting, and its bounds by mark, ascending in X.
type Line struct {
	Name   string
	Level  bool // the algorithm has no value of the parameter along X
	Points []Point
	Bounds map[string][]Point
	rows   []int // rows of the group
}

// A Point is a value with its interval. Low and High are NaN without an interval, and infinite at
// an open end of a bracket.
type Point struct {
	X, Y, Low, High float64
	Open            string // status of an undecided cell; "": decided
	Cell            string
}

// draw returns the figures of a measure. used counts the names of figures.
func (s *Sweep) draw(m measure, c Choice, used map[string]int) (all []Figure) {
	f := s.frameOf(m)
	if m.kind == kindMetric { // an algorithm that does not report the metric has no line
		f = newFrame(f.Filter(func(row int) bool { return f.Value(row, m.value) != nil }))
	}
	for _, g := range groups(f) {
		all = append(all, g.draw(s, m, c)...)
	}
	for i := range all {
		if s.manifest.Partial != "" {
			all[i].Title += " (partial)"
		}
		if used[all[i].Name]++; used[all[i].Name] > 1 {
			all[i].Name += fmt.Sprintf("-%d", used[all[i].Name])
		}
	}
	return all
}

// draw returns the figures of a measure for the group.
func (g group) draw(s *Sweep, m measure, c Choice) (all []Figure) {
	least := 2 // minimum number of points of the longest line
	if m.kind == kindCurve {
		least = 1
	}
	if x := cmp.Or(c.X, m.x); x != "" {
		if f, longest := g.figure(s, m, c, x); longest >= least && (c.X == "" || g.varies(x)) {
			return []Figure{f}
		}
		if m.kind != kindFound || c.X != "" {
			return nil
		}
	}
	needed, _, _ := g.settings(algorithmKey, m, nil)
	for _, x := range g.keys() {
		if !g.varies(x) || x == "replica" || trial.IsParam(x) && !slices.Contains(needed, x) ||
			slices.Contains(c.Group, plain(x)) {
			continue
		}
		if f, longest := g.figure(s, m, c, x); longest >= least {
			all = append(all, f)
		}
	}
	if len(all) == 0 {
		if f, longest := g.figure(s, m, c, algorithmKey); longest > 0 {
			all = []Figure{f}
		}
	}
	return all
}

// whyNone explains why there is no figure of a measure.
func (c Choice) whyNone(m measure) string {
	x := plain(cmp.Or(c.X, m.x))
	if x == "" {
		return fmt.Sprintf("no row has a value of %s", m.title)
	}
	why := fmt.Sprintf("no two rows that differ in %s alone have a value of %s", x, m.title)
	if m.curve && x != curveColumn {
		why += fmt.Sprintf(" at the same n, which a list of sizes has (n: [100, 1000]); --x %s draws against n", curveColumn)
	}
	return why
}

// figure returns the figure of a measure along a column, which may be the algorithm. longest is the
// number of points of the longest line.
func (g group) figure(s *Sweep, m measure, c Choice, x string) (f Figure, longest int) {
	keys, along, lines := g.settings(x, m, c.Group)
	shown, fixed := choose(g.settingsOf(lines, keys, x), keys, c.Group)
	name, unit := m.along(x)
	f = Figure{
		Name: wording.Slug(m.slug + " " + g.name + " " + x), Title: fmt.Sprintf("%s: %s against %s", g.name, m.title, name),
		Faint: m.curve, Loose: x == algorithmKey, X: Axis{Title: withUnit(name, unit)},
	}
	switch {
	case m.curve && x == curveColumn:
		f.Name = wording.Slug(m.slug + " " + g.name)
	case x == algorithmKey:
		f.Title, f.X.Title = fmt.Sprintf("%s: %s by algorithm", g.name, m.title), ""
	}
	names, missing := nameSettings(shown, keys, c.Group), 0
	var rows []int
	for i, setting := range shown {
		l, without := g.line(setting, m, x)
		l.Name, missing = names[i], missing+without
		if len(l.Points) > 0 || len(l.Bounds) > 0 {
			f.Lines, rows = append(f.Lines, l), append(rows, l.rows...)
		}
		longest = max(longest, len(l.Points))
	}
	if longest == 0 {
		return f, 0
	}
	slices.Sort(rows)
	f.caption(s, g, rows, append(slices.Collect(maps.Keys(fixed)), x))
	f.Choices = g.choices(keys, fixed)
	f.Caption = append(f.Caption, f.Choices...)
	f.Caption = append(f.Caption, m.intervals(g, rows))
	if len(along) > 0 {
		f.Caption = append(f.Caption, "Along a line also changes: "+strings.Join(along, ", ")+".")
	}
	if missing > 0 {
		f.Caption = append(f.Caption, fmt.Sprintf("%d of %d rows have no value to draw.", missing, len(rows)))
	}
	if betas := g.distinctOf(rows, "beta"); m.kind == kindCurve && len(betas) == 1 {
		target := 1 - g.Number(rows[0], "beta")
		f.Levels = []Level{{"required rate 1 - beta", target}}
		f.Caption = append(f.Caption, fmt.Sprintf("%s suffices where the rate is at least %s.", plain(m.x), text(target)))
	}
	if m.kind == kindError {
		f.Levels = g.knownErrors(rows)
	}
	f.leaveFarBounds()
	f.Lines = slices.DeleteFunc(f.Lines, func(l Line) bool { return len(l.Points) == 0 && len(l.Bounds) == 0 })
	axes := scale{logX: true, logY: !m.curve}
	if c.Scale != "" {
		axes, _ = scaleNamed(c.Scale)
	}
	if f.Loose {
		f.spread(g.distinctOf(g.all(), algorithmKey))
	}
	f.makeAxes(m, axes)
	return f, longest
}

// knownErrors returns the error of the better constant and the reference error, if the rows share them.
func (g group) knownErrors(rows []int) (levels []Level) {
	add := func(column, name string) {
		if y := g.Number(rows[0], column); y > 0 && len(g.distinctOf(rows, column)) == 1 {
			levels = append(levels, Level{name, y})
		}
	}
	add("constant_error", "best constant")
	if g.Value(rows[0], "alpha") == nil {
		add("reference", "best hypothesis")
	} else {
		add("reference", "reference error")
	}
	return levels
}

// caption begins the caption with the values that all rows of the figure share. Other texts mention
// the keys in told.
func (f *Figure) caption(s *Sweep, g group, rows []int, told []string) {
	if partial := s.manifest.Partial; partial != "" {
		f.Caption = append(f.Caption, "Partial: "+partial+".")
	}
	if fixed := g.fixedKeys(rows, told...); len(fixed) > 0 {
		f.Caption = append(f.Caption, "Fixed: "+strings.Join(fixed, ", ")+".")
	}
	if where := s.conditions(g.keys()); where != "" {
		f.Caption = append(f.Caption, where)
	}
}

// conditions describes the conditions that the rows satisfy; "": none. It omits those that fix one
// of the keys in told.
func (s *Sweep) conditions(told []string) string {
	var all []string
	for _, c := range s.where {
		isKey := slices.ContainsFunc(told, func(k string) bool { return plain(k) == plain(c.Column) })
		if !isKey || len(c.Values) > 1 {
			all = append(all, plain(c.Column)+"="+strings.Join(c.Values, ","))
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "Only rows with " + wording.And(all) + "."
}

// choices describes which of several settings are shown, and how to see another; nil: all are
// shown.
func (g group) choices(keys []string, fixed map[string]string) []string {
	var shown []string
	see := ""
	for _, k := range keys {
		value, ok := fixed[k]
		if !ok {
			continue
		}
		rest := slices.DeleteFunc(g.distinctOf(g.all(), k), func(v string) bool { return v == value })
		shown = append(shown, fmt.Sprintf("%s %s (not %s)", plain(k), value, wording.Few(rest, 6)))
		if see == "" && len(rest) > 0 {
			see = wording.ShellWord(plain(k) + "=" + rest[len(rest)-1])
		}
	}
	if len(shown) == 0 {
		return nil
	}
	return []string{"Chosen: " + strings.Join(shown, ", ") + "; others with --where " + see + " and the like."}
}

// intervals describes the intervals and their numbers of trials.
func (m measure) intervals(g group, rows []int) string {
	if m.low != "" && len(g.distinctOf(rows, m.low))+len(g.distinctOf(rows, m.high)) == 0 {
		return "No interval is known: the result has no values of " + m.low + "."
	}
	var counts []float64
	for _, row := range rows {
		counts = append(counts, g.Number(row, "ok"))
	}
	low, high, n := span(counts)
	switch {
	case m.kind != kindError || n == 0:
		return m.interval
	case low == high:
		return fmt.Sprintf("%s %s at each point.", m.interval, wording.Count(int(low), "trial"))
	}
	return fmt.Sprintf("%s %.0f to %.0f trials at each point.", m.interval, low, high)
}

// far is the ratio to all measured values beyond which a bound is not drawn.
const far = 1e4

// leaveFarBounds removes bounds that would compress the rest of the figure, and notes them. A bound
// of 0 stays.
func (f *Figure) leaveFarBounds() {
	isFar := func(y, low, high float64) bool { return y > far*high || 0 < y && y < low/far }
	low, high := math.Inf(1), 0.0
	for _, l := range f.Lines {
		for _, p := range l.Points {
			if p.Y > 0 {
				low, high = min(low, p.Y), max(high, p.Y)
			}
		}
	}
	for _, mark := range marks {
		most := 0.0
		for _, l := range f.Lines {
			bounds := l.Bounds[mark]
			if high > 0 && slices.ContainsFunc(bounds, func(p Point) bool { return isFar(p.Y, low, high) }) {
				most = max(most, bounds[len(bounds)-1].Y)
				delete(l.Bounds, mark)
			}
		}
		if most > 0 {
			f.Caption = append(f.Caption,
				fmt.Sprintf("Not drawn, because it is too far from the measured values: %s, up to %.4g.", mark, most))
		}
	}
}

// spread places the lines of a figure by algorithm next to each other.
func (f *Figure) spread(algorithms []string) {
	for i, l := range f.Lines {
		shift := 0.7 * ((float64(i)+0.5)/float64(len(f.Lines)) - 0.5)
		for _, points := range append([][]Point{l.Points}, slices.Collect(maps.Values(l.Bounds))...) {
			for j := range points {
				points[j].X += shift
			}
		}
	}
	f.X.Low, f.X.High = -0.5, float64(len(algorithms))-0.5
	for i, name := range algorithms {
		f.X.Ticks = append(f.X.Ticks, plot.Tick{Value: float64(i), Label: name})
	}
}

// makeAxes makes the axes, moves values outside an axis to its ends, and draws level lines from end
// to end.
func (f *Figure) makeAxes(m measure, axes scale) {
	var xs, ys []float64
	below := false // some value cannot be placed on a logarithmic axis
	for _, l := range f.Lines {
		for points := range l.all() {
			for i := range points {
				p := &points[i]
				if m.kind == kindSize && !axes.logY && p.High-p.Low < math.Inf(1) {
					p.Y = (p.Low + p.High) / 2 // the middle on this axis
				}
				xs, ys = append(xs, p.X), append(ys, p.Y, p.Low, p.High)
				below = below || p.Y <= 0
			}
		}
	}
	for _, l := range f.Levels {
		ys = append(ys, l.Y)
	}
	if f.X.Ticks == nil {
		f.X = newAxis(f.X.Title, xs, axes.logX, true)
	}
	if m.kind == kindCurve && !axes.logY {
		ys = []float64{0, 1}
	}
	positive := slices.DeleteFunc(slices.Clone(ys), func(v float64) bool { return !(v > 0) })
	if axes.logY && len(positive) > 0 {
		if ys = positive; below {
			f.Caption = append(f.Caption, "The axis is logarithmic: values that are not above 0 stand at its lower edge.")
		}
	}
	f.Y = newAxis(withUnit(m.title, m.unit), ys, axes.logY, false)
	for i := range f.Lines {
		l := &f.Lines[i]
		for points := range l.all() {
			for j := range points {
				p := &points[j]
				p.Y, p.Low, p.High = f.Y.clamp(p.Y), f.Y.clamp(p.Low), f.Y.clamp(p.High)
			}
		}
		if l.Level {
			l.Points = f.level(l.Points)
			for mark, points := range l.Bounds {
				l.Bounds[mark] = f.level(points)
			}
		}
	}
}

// all yields the measured points and the points of each bound.
func (l Line) all() iter.Seq[[]Point] {
	return func(yield func([]Point) bool) {
		if !yield(l.Points) {
			return
		}
		for _, mark := range marks {
			if !yield(l.Bounds[mark]) {
				return
			}
		}
	}
}

// level returns a level line from one end of the figure to the other.
func (f *Figure) level(points []Point) []Point {
	if len(points) == 0 {
		return nil
	}
	p, q := points[0], points[0]
	p.X, q.X = f.X.Low, f.X.High
	return []Point{p, q}
}

// valueLabel returns the value of a key in the format of axis labels.
func valueLabel(value string) string {
	if v, err := strconv.ParseFloat(value, 64); err == nil && v >= 8192 && !math.IsInf(v, 0) {
		return tickLabel(v)
	}
	return value
}

// byX sorts points by X; the sort is stable.
func byX(points []Point) {
	slices.SortStableFunc(points, func(a, b Point) int { return cmp.Compare(a.X, b.X) })
}
