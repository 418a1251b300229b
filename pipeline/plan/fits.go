package plan

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// A Fit is one item of the sweep file's fits, with its points.
type Fit struct {
	Form    estimate.Form
	Terms   []string
	Claimed []float64 // claimed coefficient of each term; nil: none
	Source  string    // source of the claims
	Fitted  string    // "n*" or "the mean regret"
	Groups  []FitGroup
}

// A FitGroup is a set of points that agree in everything except the numbers of the terms and the
// axes that zip pairs with them.
type FitGroup struct {
	Algorithm string // its name in the sweep file
	Words     string // fixed values that differ between groups of the algorithm
	Terms     []int  // indices of the terms that apply to the algorithm and vary
	Points    []FitPoint
}

// A FitPoint is one point of a fit.
type FitPoint struct {
	Cell   int       // index in Plan.Cells
	Rounds int64     // task online: the number of rounds, else 0
	X      []float64 // value of each term of the group
}

func (f Fit) String() string {
	var letters []string
	for i := range f.Terms {
		letters = append(letters, "abcefghijk"[i:i+1])
	}
	text := f.Fitted + " = " + f.Form.Formula(f.Terms, letters)
	text += ", for " + wording.Count(len(f.Groups), "group") + " of cells that differ only in these numbers"
	if len(f.Claimed) > 0 {
		var claims []string
		for _, v := range f.Claimed {
			claims = append(claims, formatValue(v))
		}
		text += "; claimed: " + strings.Join(claims, ", ")
		if f.Source != "" {
			text += " (" + f.Source + ")"
		}
	}
	return text
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
		form, _ := estimate.FormNamed(spec.Model)
		fit := Fit{Form: form, Terms: make([]string, len(spec.In)), Claimed: spec.Claimed, Source: spec.Source, Fitted: "n*"}
		for k, value := range spec.In {
			fit.Terms[k] = value.Text
		}
		if f.file.Task().Rounds() {
			fit.Fitted = "the mean regret"
		}
		if spec.Source != "" && spec.Claimed == nil {
			r.At(path+".source", `a source requires the claimed exponents: add "claimed: [0.5]"`)
		}
		if n := len(spec.Claimed); n > 0 && n != len(spec.In) {
			r.At(path+".claimed", "%s for %s: one claim for each term is needed", wording.Count(n, "claim"),
				wording.Count(len(spec.In), "term"))
		}
		if !slices.ContainsFunc(f.cells, func(c *trial.Cell) bool { return c.Beta > 0 || c.Kind().Rounds() }) {
			r.At(path, "without a goal there is no n* to fit; add a goal, or leave fits out")
			continue
		}
		terms, sound := f.terms(spec, path, r)
		if !sound {
			continue
		}
		var err error
		if fit.Groups, err = f.groups(terms, form, path, r); err != nil {
			return nil, err
		}
		all = append(all, fit)
	}
	return all, nil
}

// terms parses the terms of an item, and reports terms that no cell has.
func (f *fitter) terms(spec schemas.FitSpec, path string, r *sweep.Reporter) (terms []term, sound bool) {
	sound = true
	for i, value := range spec.In {
		text := value.Text
		at := fmt.Sprintf("%s.in[%d]", path, i)
		t, err := parseTerm(text)
		if err != nil {
			r.At(at, "%q: %v", wording.Shorten(text), err)
			sound = false
		}
		if len(t) == 0 && spec.Model != "sum" && err == nil {
			r.At(at, "the term 1 is the constant of model: sum; the model %s has a constant", spec.Model)
			sound = false
		}
		for _, x := range t.names() {
			if !f.isKnown(x) {
				f.explainMissing(x, at, r)
				sound = false
			}
		}
		terms = append(terms, t)
	}
	return terms, sound
}

// isKnown reports whether some cell has a value of x.
func (f *fitter) isKnown(x string) bool {
	return f.isRounds(x) || slices.ContainsFunc(f.cells, func(c *trial.Cell) bool {
		_, ok := valueIn(c, x)
		return ok && c.Rung == nil
	})
}

// values returns the values in a cell of the names that apply there.
func (f *fitter) values(c *trial.Cell, rounds int64, names []string) map[string]float64 {
	of := map[string]float64{}
	for _, x := range names {
		if f.isRounds(x) {
			of[x] = float64(rounds)
		} else if v, ok := valueIn(c, x); ok {
			of[x] = v
		}
	}
	return of
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
		r.At(path, "the fit is of n against other numbers: name one that n depends on%s", hint)
	case x == "replica":
		r.At(path, "a replica is a copy with other noise, not a quantity%s", hint)
	case quantity(x) != nil || x == trial.RoundsAxis:
		r.At(path, "%q has no value in this sweep%s", x, hint)
	case f.names[x] || f.names[strings.TrimPrefix(x, schemas.ParamPrefix)]:
		r.At(path, "%q has no numbers to fit against%s", x, hint)
	default:
		r.At(path, "unknown quantity %q%s", wording.Shorten(x), hint)
	}
}

// checkFits reports items of fits with an unknown name, in a file with other mistakes.
func (l *layout) checkFits(r *sweep.Reporter) {
	for i, spec := range l.file.Sweep.Fits {
		for k, value := range spec.In {
			t, _ := parseTerm(value.Text)
			for _, x := range t.names() {
				path := fmt.Sprintf("fits[%d].in[%d]", i, k)
				known := l.names[x] || isKey(x) || x == trial.RoundsAxis || x == "n" || strings.HasPrefix(x, "n_")
				if known || !r.Sound(path) || l.partial && (l.catalog.parameters[x] || !r.Sound("plugins")) {
					continue
				}
				r.At(path, "unknown quantity %q%s", wording.Shorten(x), wording.DidYouMean(x, l.namesLike(x)))
			}
		}
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
	v, ok := asNumber(c.Param(name)).(float64)
	return v, ok
}

// numbersOf returns the names that may be the x of a fit through the cell.
func numbersOf(c *trial.Cell) (names []string) {
	for _, k := range trial.KeyColumns() {
		if _, ok := valueIn(c, k.Name); ok {
			names = append(names, k.Name)
		}
	}
	for name := range c.AllParams() {
		if isKey(name) || c.Kind().Rounds() && name == trial.RoundsAxis {
			name = schemas.ParamPrefix + name
		}
		if _, ok := valueIn(c, name); ok {
			names = append(names, name)
		}
	}
	return names
}

// groups divides the cells (in task online, the cells and numbers of rounds) into groups that agree
// in everything except the numbers of the terms, in the order of the cells. It reports terms
// without a place on the form's scale and terms that vary in no group. It omits groups in which no
// term varies.
func (f *fitter) groups(terms []term, form estimate.Form, path string, r *sweep.Reporter) ([]FitGroup, error) {
	var names []string
	for _, t := range terms {
		names = append(names, t.names()...)
	}
	index := map[string]int{}
	var all []FitGroup
	var fixed [][]fixedValue
	for cell, c := range f.cells {
		if c.Rung != nil { // no n*
			continue
		}
		for _, rounds := range roundsOf(c) {
			apply, x, ok := place(terms, f.values(c, rounds, names), form, path, r)
			if !ok {
				return nil, nil
			}
			values := f.origins[cell].fixedBut(names, c)
			if c.Kind().Rounds() && !slices.ContainsFunc(names, f.isRounds) {
				values = append(values, fixedValue{Name: trial.RoundsAxis, Value: rounds, text: formatValue(float64(rounds))})
			}
			id, err := trial.Canonical([]any{apply, values})
			if err != nil {
				return nil, err
			}
			i, ok := index[string(id)]
			if !ok {
				i = len(all)
				index[string(id)] = i
				all, fixed = append(all, FitGroup{Algorithm: c.As, Terms: apply}), append(fixed, values)
			}
			all[i].Points = append(all[i].Points, FitPoint{Cell: cell, Rounds: rounds, X: x})
		}
	}
	used := make([]bool, len(terms))
	for i := range all {
		all[i].dropConstants(terms, form)
		for _, k := range all[i].Terms {
			used[k] = used[k] || all[i].varies()
		}
	}
	for k, t := range terms {
		if !used[k] && len(t) > 0 {
			r.At(fmt.Sprintf("%s.in[%d]", path, k), "no two cells differ in %q alone: give it a list of values",
				strings.Join(t.names(), ", "))
		}
	}
	kept := 0
	for i, g := range all {
		if g.varies() {
			all[kept], fixed[kept] = g, fixed[i]
			kept++
		}
	}
	nameGroups(all[:kept], fixed)
	return all[:kept], nil
}

// place returns the indices of the terms that apply in a cell, and their values. It reports a value
// that has no place on the form's scale.
func place(terms []term, of map[string]float64, form estimate.Form, path string, r *sweep.Reporter) (
	apply []int, x []float64, ok bool,
) {
	for k, t := range terms {
		if slices.ContainsFunc(t.names(), func(name string) bool { _, ok := of[name]; return !ok }) {
			continue
		}
		v := t.value(of)
		if at := form.Place(v); math.IsNaN(at) || math.IsInf(at, 0) {
			r.At(fmt.Sprintf("%s.in[%d]", path, k), "the term has the value %s where %s: use another model or exclude "+
				"the value", formatValue(v), assignments(t, of))
			return nil, nil, false
		}
		apply, x = append(apply, k), append(x, v)
	}
	return apply, x, true
}

// assignments returns the values of the names in a term: "lambda = 0".
func assignments(t term, of map[string]float64) string {
	var all []string
	for _, x := range t.names() {
		all = append(all, x+" = "+formatValue(of[x]))
	}
	return wording.And(all)
}

// dropConstants removes terms that have one value in the group, because the constant of the form,
// or the term 1, stands for them.
func (g *FitGroup) dropConstants(terms []term, form estimate.Form) {
	constant := form.Constant() || slices.ContainsFunc(g.Terms, func(k int) bool { return len(terms[k]) == 0 })
	for i := len(g.Terms) - 1; i >= 0; i-- {
		varies := slices.ContainsFunc(g.Points, func(p FitPoint) bool { return p.X[i] != g.Points[0].X[i] })
		if varies || !constant || len(terms[g.Terms[i]]) == 0 {
			continue
		}
		g.Terms = slices.Delete(slices.Clone(g.Terms), i, i+1)
		for j := range g.Points {
			g.Points[j].X = slices.Delete(g.Points[j].X, i, i+1)
		}
	}
}

// varies reports whether a term varies in the group.
func (g *FitGroup) varies() bool {
	return slices.ContainsFunc(g.Points, func(p FitPoint) bool { return !slices.Equal(p.X, g.Points[0].X) })
}

// nameGroups sets the Words of each group: the values that distinguish it from other groups of its algorithm.
func nameGroups(groups []FitGroup, fixed [][]fixedValue) {
	values := map[string]map[string]bool{} // values by algorithm and name
	for i, g := range groups {
		for _, v := range fixed[i] {
			id := g.Algorithm + " " + v.Name
			if values[id] == nil {
				values[id] = map[string]bool{}
			}
			values[id][v.text] = true
		}
	}
	for i := range groups {
		var words []string
		for _, v := range fixed[i] {
			if len(values[groups[i].Algorithm+" "+v.Name]) > 1 && !v.absent {
				words = append(words, v.Name+" "+v.text)
			}
		}
		groups[i].Words = strings.Join(words, ", ")
	}
}

// A fixedValue is a value that all points of a group share.
type fixedValue struct {
	Name   string
	Value  any // compared between cells
	text   string
	absent bool // the key does not apply to the group
}

// fixedBut returns the values that stay fixed when the numbers named vary, about in the order of
// the table's columns: the values in the sweep file except these and the axes that zip pairs with
// them. Derived defaults, such as the parameters of a preset, the reference error or the
// evaluation, may vary too.
func (d *draft) fixedBut(names []string, c *trial.Cell) []fixedValue {
	varies := map[string]bool{}
	for _, x := range names {
		maps.Copy(varies, d.entry.pairedWith(x))
	}
	var fixed []fixedValue
	put := func(name string, value any) {
		if !varies[name] {
			fixed = append(fixed, fixedValue{Name: name, Value: value, text: formatValue(value), absent: value == nil})
		}
	}
	for _, k := range trial.KeyColumns() {
		switch {
		case k.Name == "file": // with the data
		case c.Problem.Plugin != nil && (k.Name == "d" || k.Name == "domain"): // its parameters determine them
		case k.Name == "data":
			if data := c.Problem.Data; data != nil && !varies["data"] {
				text := filepath.Base(data.File) + " " + data.Label
				fixed = append(fixed, fixedValue{Name: "data", Value: data, text: text})
			}
			if matrix := c.Problem.Matrix; matrix != nil && !varies["file"] {
				fixed = append(fixed, fixedValue{Name: "file", Value: matrix.Digest, text: filepath.Base(matrix.File)})
			}
			if len(d.entry.grid.Problem.Test) > 0 {
				put("test", float64(c.Problem.Test))
			}
		case k.Name == "reference":
			put("reference", scalar(d.setting.reference))
		case !k.Has(trial.Derived) && !varies[k.Name]:
			v := plainValue(k, c)
			fixed = append(fixed, fixedValue{Name: k.Name, Value: v, text: formatValue(v), absent: isAbsent(k, c)})
		}
		if k.Name == "adversary" {
			for _, name := range d.entry.paramsBut(varies) {
				put(schemas.ParamPrefix+name, c.Param(name))
			}
		}
	}
	return fixed
}

// isAbsent reports whether the column does not apply to the cell. A rate of 0 of a noise that the file states applies.
func isAbsent(k trial.KeyColumn, c *trial.Cell) bool {
	return k.Value(c) == nil && !(k.Has(trial.FromZero) && c.Problem.Noise.Kind != "none")
}

// paramsBut returns the names of the parameters in the sweep file: of the algorithm, and of a problem of a plugin
// except those that determine a number that varies.
func (e *entry) paramsBut(varies map[string]bool) []string {
	names := slices.Sorted(maps.Keys(e.use.Params))
	if drawn := e.grid.Problem.Plugin; drawn != nil {
		for _, name := range slices.Sorted(maps.Keys(drawn.Params)) {
			if !varies[name] {
				names = append(names, name)
			}
		}
	}
	return names
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
