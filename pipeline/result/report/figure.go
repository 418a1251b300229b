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
	Name    string // for a file: small letters, digits and hyphens; no two figures of a sweep share one
	Kind    string // n, curve, error, regret or metric
	Title   string
	Text    string   // what is to be seen, in words, for those who cannot see it
	Caption []string // the settings that it shows and what its intervals are, one sentence each
	Notes   []string // what the figure leaves out or joins, one sentence each
	Choices []string // what was chosen because nobody else did, one sentence each; part of Caption
	X, Y    Axis
	By      string   // what colours and shapes tell apart: the algorithm, or keys
	Colours []string // what has a colour and shape of its own, in their order
	Keys    []Key
	Series  []Series
	Loose   bool    // the points of a series are not joined
	Band    bool    // intervals are a band along the line, not a stroke at each point
	Target  float64 // the rate that is asked for; 0: none
}

// Key is a column in which series of one colour differ. At first the series with the value Chosen are
// shown, or all of them where it is empty.
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
	Declared = "declared bound" // a plugin's author says that it is proved
	Printed  = "printed bound"
)

// marks lists the marks in the order of a legend.
var marks = []string{Measured, Model, Fit, Proved, Declared, Printed}

// boundMarks lists the marks of bounds.
var boundMarks = []string{Proved, Declared, Printed}

// Series holds points of one algorithm in one setting, ascending in X.
type Series struct {
	Mark      string
	Colour    int // in Figure.Colours
	Algorithm string
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

// faint reports whether a series is drawn faintly, as another setting than those that are shown.
func (f *Figure) faint(s Series) bool {
	return s.Mark == Measured && !f.Band && !f.Loose && !f.shown(s)
}

func (f *Figure) hasFaint() bool { return slices.ContainsFunc(f.Series, f.faint) }

// The largest numbers of series that a figure shows all at first: maxSeveral where several keys
// tell them apart, else maxStrong.
const (
	maxStrong  = 12
	maxSeveral = 8
)

// tell makes the lines that are shown distinguishable. Colours tell the keys by apart, and the
// algorithms where by is empty; labels say in what else lines of one colour differ, and where there
// is no room for them, each line has its own colour.
func (f *Figure) tell(by []string) {
	f.choose(by)
	if len(by) > 0 {
		f.colourBy(by)
	} else {
		by = []string{algorithmKey}
	}
	if f.Loose {
		f.tellPoints(by)
		return
	}
	if !f.label(by) {
		for i := range f.Series {
			for j := range f.Series[i].Points {
				f.Series[i].Points[j].Label = ""
			}
		}
		f.colourBy(f.withDiffering(by))
	}
}

// tellPoints gives the points of each setting their own colour where these are few.
func (f *Figure) tellPoints(by []string) {
	all := f.withDiffering(by)
	if len(f.X.Ticks) > 0 && f.X.Title == "" { // the algorithms stand along the axis
		all = slices.DeleteFunc(all, func(k string) bool { return k == algorithmKey })
	}
	names := map[string]bool{}
	for _, s := range f.measured() {
		names[f.nameOf(s, all)] = true
	}
	if len(names) > 1 && len(names) <= maxStrong {
		f.colourBy(all)
	} else if more := all[min(len(by), len(all)):]; len(more) > 0 {
		f.Caption = append(f.Caption, "Points of one colour differ in "+strings.Join(more, ", ")+".")
	}
}

// choose selects what is shown at first: everything, or one value of each key, namely that with the
// most points among the series that are still shown. Where colours tell keys apart that somebody has
// named, they alone have several values.
func (f *Figure) choose(by []string) {
	all := f.measured()
	most := maxStrong
	switch {
	case len(by) > 0:
		most = 0
	case len(f.Keys) > 1:
		most = maxSeveral
	}
	if f.Loose && (len(by) > 0 || len(all) <= 20*maxStrong) || len(all) <= most {
		return
	}
	for i, k := range f.Keys {
		if slices.Contains(by, k.Name) {
			continue
		}
		count := map[string]int{}
		for _, s := range all {
			if v := s.Keys[i]; v != "" && f.shown(s) {
				count[v]++ // for level lines
				if !s.Level {
					count[v] += len(all) * len(s.Points)
				}
			}
		}
		for _, v := range k.Values {
			if len(count) > 1 && count[v] > count[f.Keys[i].Chosen] {
				f.Keys[i].Chosen = v
			}
		}
	}
}

// algorithmKey is the key that colours tell apart where nobody has named another.
const algorithmKey = "algorithm"

// colourBy gives each combination of the keys' values its own colour, those that are shown first.
func (f *Figure) colourBy(by []string) {
	f.By, f.Colours = strings.Join(by, ", "), nil
	index := map[string]int{}
	for _, shown := range []bool{true, false} {
		for i := range f.Series {
			s := &f.Series[i]
			if f.shown(*s) != shown {
				continue
			}
			name := f.nameOf(*s, by)
			if _, ok := index[name]; !ok {
				index[name] = len(f.Colours)
				f.Colours = append(f.Colours, name)
			}
			s.Colour = index[name]
		}
	}
}

// nameOf names a series by the values of some keys.
func (f *Figure) nameOf(s Series, by []string) string {
	var parts []string
	for _, name := range by {
		i := slices.IndexFunc(f.Keys, func(k Key) bool { return k.Name == name })
		switch {
		case name == algorithmKey:
			parts = append(parts, s.Algorithm)
		case i >= 0 && s.Keys[i] != "":
			parts = append(parts, name+" "+valueLabel(s.Keys[i]))
		}
	}
	if len(parts) == 0 {
		return "no " + strings.Join(by, ", ")
	}
	return strings.Join(parts, ", ")
}

// withDiffering returns the keys by, and those in which series that are shown differ.
func (f *Figure) withDiffering(by []string) []string {
	all := slices.Clone(by)
	for i, differs := range f.differing() {
		if name := f.Keys[i].Name; differs && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// maxLabel is the largest number of characters in a label of a series.
const maxLabel = 24

// nameTag is a label of a line and the point at which it may stand.
type nameTag struct {
	*Point
	text   string
	colour int
}

// near reports whether two labels would stand in one place.
func (f *Figure) near(a, b nameTag) bool {
	return math.Abs(f.X.at(a.X)-f.X.at(b.X)) < 0.15 && math.Abs(f.Y.at(a.Y)-f.Y.at(b.Y)) < 0.045
}

// label names the settings of the lines that are shown, where they differ in more than the keys by:
// at the end of a line, and in the middle of a curve of rates. Where several names would stand in
// one place, it leaves one if they are equal and none otherwise. It reports whether the labels and
// colours tell all lines apart.
func (f *Figure) label(by []string) (clear bool) {
	var tags []nameTag
	differ := f.differing()
	for _, s := range f.measured() {
		if !f.shown(s) {
			continue
		}
		var parts []string
		for i, k := range f.Keys {
			if differ[i] && s.Keys[i] != "" && !slices.Contains(by, k.Name) {
				parts = append(parts, k.Name+" "+valueLabel(s.Keys[i]))
			}
		}
		tag := nameTag{f.labelPoint(s), strings.Join(parts, ", "), s.Colour}
		free := tag.text != "" && utf8.RuneCountInString(tag.text) <= maxLabel && !s.Level
		for _, other := range tags {
			if f.near(tag, other) {
				if free = false; other.text != tag.text {
					other.Label = ""
				}
			}
		}
		if free {
			tag.Label = tag.text
		}
		tags = append(tags, tag)
	}
	return f.areTold(tags)
}

// areTold reports whether lines of one colour differ in the labels beside them. A line may share the
// label of another that ends where it does.
func (f *Figure) areTold(tags []nameTag) bool {
	lines := map[int]int{} // of each colour
	for _, tag := range tags {
		lines[tag.colour]++
	}
	seen := map[nameTag]bool{}
	for _, tag := range tags {
		beside := slices.ContainsFunc(tags, func(o nameTag) bool { return o.Label == tag.text && f.near(tag, o) })
		id := nameTag{text: tag.text, colour: tag.colour}
		if seen[id] || lines[tag.colour] > 1 && tag.text != "" && !beside {
			return false
		}
		seen[id] = true
	}
	return true
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

// byX sorts points by X, and keeps the order of those that agree in it.
func byX(points []Point) {
	slices.SortStableFunc(points, func(a, b Point) int { return cmp.Compare(a.X, b.X) })
}
