package plan

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/problem/distribution"
	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// A Fit is one item of the sweep file's fits, with its points.
type Fit struct {
	X        string
	Scale    estimate.Scale
	Exponent *float64 // claimed exponent; nil: none
	Source   string   // source of the claim
	Fitted   string   // "n*" or "the mean regret"
	Groups   []FitGroup
}

// A FitGroup is a set of points that agree in everything except x and the axes that zip pairs with x. It has at least
// two different x.
type FitGroup struct {
	Algorithm string // its name in the sweep file
	Words     string // fixed values that differ between groups of the algorithm
	Points    []FitPoint
}

// A FitPoint is one point of a fit.
type FitPoint struct {
	Cell   int   // index in Plan.Cells
	Rounds int64 // task online: the number of rounds, else 0
	X      float64
}

func (f Fit) String() string {
	ln := func(name string, log bool) string {
		if log {
			return "ln " + name
		}
		return name
	}
	out := fmt.Sprintf("%s as a linear function of %s; one slope for each of %s of cells that differ only in %s",
		ln(f.Fitted, f.Scale.LogY), ln(f.X, f.Scale.LogX), wording.Count(len(f.Groups), "group"), f.X)
	if f.Exponent != nil {
		out += fmt.Sprintf("; claimed slope %s", formatValue(*f.Exponent))
		if f.Source != "" {
			out += " (" + f.Source + ")"
		}
	}
	return out
}

// A fitter finds the points of fits.
type fitter struct {
	*layout
	cells   []*trial.Cell
	origins []*checkedInstance // instances by cell
}

// fits groups the cells for each item of fits, and reports items without points.
func (f *fitter) fits(r *sweep.Reporter) ([]Fit, error) {
	var all []Fit
	for i, spec := range f.file.Sweep.Fits {
		path := fmt.Sprintf("fits[%d]", i)
		scale, _ := estimate.ScaleNamed(spec.Scale)
		fit := Fit{X: spec.X, Scale: scale, Exponent: spec.Exponent, Source: spec.Source, Fitted: "n*"}
		if f.file.Task().Rounds() {
			fit.Fitted = "the mean regret"
		}
		if spec.Source != "" && spec.Exponent == nil {
			r.At(path+".source", `a source requires the claimed exponent: add "exponent: 0.5"`)
		}
		places := f.points(spec.X)
		if len(places) == 0 {
			f.explainMissing(spec.X, path+".x", r)
			continue
		}
		if i := slices.IndexFunc(places, func(p FitPoint) bool { return p.X <= 0 }); i >= 0 && scale.LogX {
			r.At(path+".scale", "%q has the value %s, which has no logarithm: use scale: linear or semilog, or "+
				"exclude the value",
				spec.X, formatValue(places[i].X))
			continue
		}
		var err error
		if fit.Groups, err = f.groups(places, spec.X); err != nil {
			return nil, err
		}
		if len(fit.Groups) == 0 {
			r.At(path+".x", "no two cells differ in %q alone: give it a list of values", spec.X)
		}
		all = append(all, fit)
	}
	return all, nil
}

// points returns the points of the cells (in task online, of cells and numbers of rounds) that have an x.
func (f *fitter) points(x string) (places []FitPoint) {
	for i, c := range f.cells {
		if c.Rung != nil { // no n*
			continue
		}
		for _, rounds := range roundsOf(c) {
			p := FitPoint{Cell: i, Rounds: rounds, X: float64(rounds)}
			if !f.isRounds(x) {
				var ok bool
				if p.X, ok = valueIn(c, x); !ok {
					continue
				}
			}
			places = append(places, p)
		}
	}
	return places
}

// explainMissing reports an x that no cell has.
func (f *fitter) explainMissing(x, path string, r *sweep.Reporter) {
	known := map[string]bool{}
	for _, c := range f.cells {
		for _, name := range numbersOf(c) {
			known[name] = true
		}
	}
	if f.file.Task().Rounds() {
		known[trial.RoundsAxis] = true
	}
	hint := wording.DidYouMean(x, slices.Sorted(maps.Keys(known)))
	switch {
	case x == "n" || strings.HasPrefix(x, "n_"):
		r.At(path, "the fit is of n against x: name a number that n depends on%s", hint)
	case x == "replica":
		r.At(path, "a replica is a copy with other noise, not a quantity%s", hint)
	case quantity(x) != nil || x == trial.RoundsAxis:
		r.At(path, "%q has no value in this sweep%s", x, hint)
	case f.names[x] || f.names[strings.TrimPrefix(x, schemas.ParamPrefix)]:
		r.At(path, "%q has no numbers to fit against%s", x, hint)
	default:
		r.At(path, "unknown quantity %q%s", sweep.Shorten(x), hint)
	}
}

// checkFits reports items of fits with an unknown x, in a file with other mistakes.
func (l *layout) checkFits(r *sweep.Reporter) {
	for i, spec := range l.file.Sweep.Fits {
		path, x := fmt.Sprintf("fits[%d].x", i), spec.X
		known := l.names[x] || isKey(x) || x == trial.RoundsAxis || x == "n" || strings.HasPrefix(x, "n_")
		if known || !r.Sound(path) || l.partial && (l.catalog.parameters[x] || !r.Sound("plugins")) {
			continue
		}
		r.At(path, "unknown quantity %q%s", sweep.Shorten(x), wording.DidYouMean(x, l.namesLike(x)))
	}
}

// isRounds reports whether x is the number of rounds of task online, not a parameter of that name.
func (f *fitter) isRounds(x string) bool { return x == trial.RoundsAxis && f.file.Task().Rounds() }

// roundsOf returns the numbers of rounds of a cell of task online, and a single 0 for other cells.
func roundsOf(c *trial.Cell) []int64 {
	if c.Kind().Rounds() {
		return c.N
	}
	return []int64{0}
}

// quantity returns the key column with the name if it may be the x of a fit; else nil.
func quantity(x string) *trial.KeyColumn {
	for _, k := range trial.KeyColumns() {
		if k.Name == x && k.Has(trial.Quantity) {
			return &k
		}
	}
	return nil
}

// valueIn returns the value of x in a cell, and whether it applies there.
func valueIn(c *trial.Cell, x string) (float64, bool) {
	if k := quantity(x); k != nil {
		v := k.Number(c)
		return v, v != 0 || k.Has(trial.FromZero)
	}
	name := strings.TrimPrefix(x, schemas.ParamPrefix)
	if name == x && isKey(x) {
		return 0, false
	}
	v, ok := asNumber(c.Params[name]).(float64)
	return v, ok
}

// numbersOf returns the names that may be the x of a fit through the cell.
func numbersOf(c *trial.Cell) (names []string) {
	for _, k := range trial.KeyColumns() {
		if _, ok := valueIn(c, k.Name); ok {
			names = append(names, k.Name)
		}
	}
	for name := range c.Params {
		if isKey(name) || c.Kind().Rounds() && name == trial.RoundsAxis {
			name = schemas.ParamPrefix + name
		}
		if _, ok := valueIn(c, name); ok {
			names = append(names, name)
		}
	}
	return names
}

// groups divides points into groups that agree in everything except x, in the order of the cells. It omits groups
// with a single x.
func (f *fitter) groups(places []FitPoint, x string) ([]FitGroup, error) {
	index := map[string]int{}
	var all []FitGroup
	fixed := make([]fixedValues, 0, len(places))
	for _, p := range places {
		c := f.cells[p.Cell]
		values := f.origins[p.Cell].fixedBut(x, c)
		if c.Kind().Rounds() && !f.isRounds(x) {
			values.put(trial.RoundsAxis, p.Rounds, formatValue(float64(p.Rounds)))
		}
		id, err := trial.Canonical(values.id())
		if err != nil {
			return nil, err
		}
		i, ok := index[string(id)]
		if !ok {
			i = len(all)
			index[string(id)] = i
			all, fixed = append(all, FitGroup{Algorithm: c.As}), append(fixed, values)
		}
		all[i].Points = append(all[i].Points, p)
	}
	nameGroups(all, fixed)
	return slices.DeleteFunc(all, func(g FitGroup) bool {
		return !slices.ContainsFunc(g.Points, func(p FitPoint) bool { return p.X != g.Points[0].X })
	}), nil
}

// nameGroups sets the Words of each group: the values that distinguish it from other groups of its algorithm.
func nameGroups(groups []FitGroup, fixed []fixedValues) {
	values := map[string]map[string]bool{} // values by algorithm and name
	for i, g := range groups {
		for _, v := range fixed[i] {
			id := g.Algorithm + " " + v.name
			if values[id] == nil {
				values[id] = map[string]bool{}
			}
			values[id][v.text] = true
		}
	}
	for i := range groups {
		var words []string
		for _, v := range fixed[i] {
			absent := v.text == "0" && isDistributionKey(v.name) // in the problem of this group
			if len(values[groups[i].Algorithm+" "+v.name]) > 1 && !absent {
				words = append(words, v.name+" "+v.text)
			}
		}
		groups[i].Words = strings.Join(words, ", ")
	}
}

// isDistributionKey reports whether only some distributions take the key, such as mass.
func isDistributionKey(name string) bool {
	return slices.ContainsFunc(distribution.Keys(), func(k *distribution.Key) bool { return k.Name == name })
}

// fixedValues holds the values that all points of a group share, about in the order of the table's columns.
type fixedValues []fixedValue

type fixedValue struct {
	name  string
	value any // compared between cells
	text  string
}

func (v *fixedValues) put(name string, value any, words string) {
	*v = append(*v, fixedValue{name, value, words})
}

func (v fixedValues) id() map[string]any {
	id := map[string]any{}
	for _, x := range v {
		id[x.name] = x.value
	}
	return id
}

// fixedBut returns the values that stay fixed when x varies: the values in the sweep file except x and the axes that
// zip pairs with it. Derived defaults, such as the parameters of a preset, the reference error or the evaluation, may
// vary with x.
func (d *draft) fixedBut(x string, c *trial.Cell) fixedValues {
	varies := d.entry.pairedWith(x)
	var fixed fixedValues
	put := func(name string, value any) {
		if !varies[name] {
			fixed.put(name, value, formatValue(value))
		}
	}
	for _, k := range trial.KeyColumns() {
		switch {
		case k.Name == "file": // with the data
		case k.Name == "data":
			if data := c.Problem.Data; data != nil && !varies["data"] {
				fixed.put("data", data, filepath.Base(data.File)+" "+data.Label)
			}
			if matrix := c.Problem.Matrix; matrix != nil && !varies["file"] {
				fixed.put("file", matrix.Digest, filepath.Base(matrix.File))
			}
			if len(d.entry.grid.Problem.Test) > 0 {
				put("test", float64(c.Problem.Test))
			}
		case k.Name == "reference":
			put("reference", scalar(d.setting.reference))
		case !k.Has(trial.Derived):
			put(k.Name, plainValue(k, c))
		}
		if k.Name == "adversary" {
			for _, name := range slices.Sorted(maps.Keys(d.entry.use.Params)) {
				put(schemas.ParamPrefix+name, c.Params[name])
			}
		}
	}
	return fixed
}

// plainValue returns a column's value in the cell as a float64 or a string; null becomes zero.
func plainValue(k trial.KeyColumn, c *trial.Cell) any {
	if k.Type == schemas.TextColumn {
		s, _ := k.Value(c).(string)
		return s
	}
	return k.Number(c)
}

// pairedWith returns x and the names, as in fixedBut, of the axes that zip pairs with it.
func (e *entry) pairedWith(x string) map[string]bool {
	varies := map[string]bool{x: true, schemas.ParamPrefix + x: !isKey(x)}
	paired, _ := e.axisOf(x)
	for i, a := range e.axes {
		if paired < 0 || i == paired || e.leader[i] != e.leader[paired] {
			continue
		}
		for _, name := range a.names {
			if a.param {
				name = schemas.ParamPrefix + name
			}
			varies[name] = true
		}
	}
	return varies
}
