package plan

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// Fit is one item of the sweep file's fits.
type Fit struct {
	X, Scale string
	Exponent *float64 // claimed; nil: none
	Source   string   // of the claim
	Groups   []FitGroup

	what string // is fitted
}

// FitGroup is cells that agree in all but x and what zip pairs with it. At least two of them have different x.
type FitGroup struct {
	Algorithm string // its "as"
	Words     string // what is fixed in this group and differs in others of the algorithm
	Points    []FitPoint
}

// FitPoint is one place of a fit.
type FitPoint struct {
	Cell   int   // index in Plan.Cells
	Rounds int64 // task online: the number of rounds, else 0
	X      float64
}

// quantities are the keys of a sweep file that a fit may be against, beside rounds and the parameters of algorithms, and where a
// cell has them. Where one does not apply it is 0, and has no place on an axis, but for the rate of the noise.
var quantities = map[string]func(c *trial.Cell) float64{
	"domain":     func(c *trial.Cell) float64 { return float64(c.Problem.Domain) },
	"d":          func(c *trial.Cell) float64 { return float64(c.Problem.Dim) },
	"mass":       func(c *trial.Cell) float64 { return c.Problem.Mass },
	"minority":   func(c *trial.Cell) float64 { return c.Problem.Minority },
	"margin":     func(c *trial.Cell) float64 { return c.Problem.Margin },
	"noise_rate": func(c *trial.Cell) float64 { return c.Problem.Noise.Rate },
	"epsilon":    func(c *trial.Cell) float64 { return c.Epsilon },
	"delta":      func(c *trial.Cell) float64 { return c.Delta },
	"alpha":      func(c *trial.Cell) float64 { return c.Alpha },
	"beta":       func(c *trial.Cell) float64 { return c.Beta },
	"queries":    func(c *trial.Cell) float64 { return float64(c.Queries) },
}

const roundsName = "rounds"

// String says in words what is fitted.
func (f Fit) String() string {
	ln := func(name, of string) string {
		if f.Scale == of || of == "log" && f.Scale == "log-log" {
			return "ln " + name
		}
		return name
	}
	out := fmt.Sprintf("%s against %s: one slope for each of %s of cells that agree in all else", ln(f.what, "log-log"), ln(f.X, "log"),
		plural(len(f.Groups), "group"))
	if f.Exponent != nil {
		out += fmt.Sprintf("; claimed %s", show(*f.Exponent))
		if f.Source != "" {
			out += " (" + f.Source + ")"
		}
	}
	return out
}

// fits groups the plan's cells for each item of fits, and blames the items that fit nothing.
func (r *resolver) fits(p *Plan, drafts map[trial.Key]*pending) error {
	for i, spec := range r.file.Sweep.Fits {
		path := fmt.Sprintf("fits[%d]", i)
		f := Fit{X: spec.X, Scale: spec.Scale, Exponent: spec.Exponent, Source: spec.Source, what: "n*"}
		if r.file.Task() == schemas.TaskOnline {
			f.what = "the mean regret"
		}
		if spec.Source != "" && spec.Exponent == nil {
			r.blame(path+".source", `it is the source of a claim: give that too, "exponent: 0.5"`)
		}
		places, ok := r.places(p.Cells, spec.X, path+".x")
		if !ok {
			continue
		}
		if i := slices.IndexFunc(places, func(at FitPoint) bool { return at.X <= 0 }); i >= 0 && spec.Scale != "linear" {
			r.blame(path+".scale", "%q has the value %s, which has no logarithm: use scale: linear, or exclude it", spec.X, show(places[i].X))
			continue
		}
		var err error
		if f.Groups, err = r.groups(p.Cells, places, spec.X, drafts); err != nil {
			return err
		}
		if len(f.Groups) == 0 {
			r.blame(path+".x", "no two cells differ in %q alone: give it a list of values", spec.X)
		}
		p.Fits = append(p.Fits, f)
	}
	return nil
}

// places finds the cells that x applies to. It is false where a mistake was found.
func (r *resolver) places(cells []*trial.Cell, x, path string) (places []FitPoint, ok bool) {
	known := map[string]bool{}
	for i, c := range cells {
		for _, name := range numbersOf(c) {
			known[name] = true
		}
		for _, rounds := range r.roundsOf(c) {
			at := FitPoint{Cell: i, Rounds: rounds, X: float64(rounds)}
			if !r.isRounds(x) {
				if at.X, ok = valueIn(c, x); !ok {
					continue
				}
			}
			places = append(places, at)
		}
	}
	if len(places) > 0 {
		return places, true
	}
	if r.file.Task() == schemas.TaskOnline {
		known[roundsName] = true
	}
	switch names := slices.Sorted(maps.Keys(known)); {
	case x == "n" || strings.HasPrefix(x, "n_"):
		r.blame(path, "n is what is fitted; x is what it depends on%s", wording.DidYouMean(x, names))
	case x == "replica":
		r.blame(path, "a replica is a copy with other noise, no quantity%s", wording.DidYouMean(x, names))
	case quantities[x] != nil || x == roundsName:
		r.blame(path, "%q has no value in this sweep%s", x, wording.DidYouMean(x, names))
	case r.names[x] || r.names[strings.TrimPrefix(x, schemas.ParamPrefix)]:
		r.blame(path, "%q has no numbers to fit against%s", x, wording.DidYouMean(x, names))
	default:
		r.blame(path, "unknown quantity %q%s", sweep.Shorten(x), wording.DidYouMean(x, names))
	}
	return nil, false
}

// isRounds reports whether x is the number of rounds of a game, and not a parameter of that name.
func (r *resolver) isRounds(x string) bool {
	return x == roundsName && r.file.Task() == schemas.TaskOnline
}

// roundsOf is the places of a cell: one for each number of rounds, or one.
func (r *resolver) roundsOf(c *trial.Cell) []int64 {
	if c.Online() {
		return c.N
	}
	return []int64{0}
}

// valueIn is x in a cell, where it applies.
func valueIn(c *trial.Cell, x string) (float64, bool) {
	if of := quantities[x]; of != nil {
		v := of(c)
		return v, v != 0 || x == "noise_rate"
	}
	name := strings.TrimPrefix(x, schemas.ParamPrefix)
	if name == x && slices.Contains(fixed, x) {
		return 0, false
	}
	v, ok := asNumber(c.Params[name]).(float64)
	return v, ok
}

// numbersOf is the names that a fit of the cell may be against.
func numbersOf(c *trial.Cell) (names []string) {
	for name := range quantities {
		if _, ok := valueIn(c, name); ok {
			names = append(names, name)
		}
	}
	for name := range c.Params {
		if slices.Contains(fixed, name) || c.Online() && name == roundsName {
			name = schemas.ParamPrefix + name
		}
		if _, ok := valueIn(c, name); ok {
			names = append(names, name)
		}
	}
	return names
}

// groups puts places together whose cells agree in all but x, in the order of the cells, and leaves out those with one x.
func (r *resolver) groups(cells []*trial.Cell, places []FitPoint, x string, drafts map[trial.Key]*pending) ([]FitGroup, error) {
	index := map[string]int{}
	var all []FitGroup
	settings := make([]setting, 0, len(places))
	for _, at := range places {
		c := cells[at.Cell]
		s := r.settingOf(c, drafts[c.Key], x)
		if c.Online() && !r.isRounds(x) {
			s.put(roundsName, at.Rounds, show(float64(at.Rounds)))
		}
		id, err := trial.Canonical(s.id())
		if err != nil {
			return nil, err
		}
		i, ok := index[string(id)]
		if !ok {
			i = len(all)
			index[string(id)] = i
			all, settings = append(all, FitGroup{Algorithm: c.As}), append(settings, s)
		}
		all[i].Points = append(all[i].Points, at)
	}
	nameGroups(all, settings)
	return slices.DeleteFunc(all, func(g FitGroup) bool {
		return !slices.ContainsFunc(g.Points, func(at FitPoint) bool { return at.X != g.Points[0].X })
	}), nil
}

// nameGroups says of each group what tells it apart from the others of its algorithm.
func nameGroups(groups []FitGroup, settings []setting) {
	values := map[string]map[string]bool{} // by algorithm and name
	for i, g := range groups {
		for _, p := range settings[i] {
			id := g.Algorithm + " " + p.name
			if values[id] == nil {
				values[id] = map[string]bool{}
			}
			values[id][p.words] = true
		}
	}
	for i := range groups {
		var words []string
		for _, p := range settings[i] {
			if len(values[groups[i].Algorithm+" "+p.name]) > 1 {
				words = append(words, p.name+" "+p.words)
			}
		}
		groups[i].Words = strings.Join(words, ", ")
	}
}

// setting is all that is fixed in a group, in the order of the table's columns.
type setting []pair

type pair struct {
	name  string
	value any // what has to agree
	words string
}

func (s *setting) put(name string, value any, words string) {
	*s = append(*s, pair{name, value, words})
}

func (s setting) id() map[string]any {
	id := map[string]any{}
	for _, p := range s {
		id[p.name] = p.value
	}
	return id
}

// settingOf is what is fixed when x varies: what the file sets, but for x and what zip pairs with it. Defaults that follow from the
// rest, like parameters of a preset, the reference error or the way of evaluation, may vary along with x.
func (r *resolver) settingOf(c *trial.Cell, d *pending, x string) setting {
	varies := d.entry.pairedWith(x)
	var s setting
	put := func(name string, value any) {
		if !varies[name] {
			s.put(name, value, show(value))
		}
	}
	p := c.Problem
	put("class", p.Class)
	put("d", float64(p.Dim))
	put("domain", float64(p.Domain))
	put("distribution", p.Distribution)
	put("mass", p.Mass)
	put("minority", p.Minority)
	put("margin", p.Margin)
	put("noise", p.Noise.Kind)
	put("noise_rate", p.Noise.Rate)
	if p.Data != nil && !varies["data"] {
		s.put("data", p.Data, filepath.Base(p.Data.File)+" "+p.Data.Label)
	}
	if p.Matrix != nil && !varies["file"] {
		s.put("file", p.Matrix.Digest, filepath.Base(p.Matrix.File))
	}
	if len(d.entry.grid.Problem.Test) > 0 {
		put("test", float64(p.Test))
	}
	if c.Adversary != nil {
		put("queries", float64(c.Queries))
		put("adversary", c.Adversary.String())
	}
	put("algorithm", c.As)
	for _, name := range slices.Sorted(maps.Keys(d.entry.use.Params)) {
		put(schemas.ParamPrefix+name, c.Params[name])
	}
	put("epsilon", c.Epsilon)
	put("delta", c.Delta)
	put("alpha", c.Alpha)
	put("beta", c.Beta)
	put("above", aboveValue(d.draft.above))
	put("replica", float64(c.Replica))
	return s
}

// pairedWith is x and the names of the axes that zip pairs with it, as settingOf calls them.
func (e *entry) pairedWith(x string) map[string]bool {
	varies := map[string]bool{x: true, schemas.ParamPrefix + x: !slices.Contains(fixed, x)}
	at, _ := e.axisOf(x)
	for i, a := range e.axes {
		if at < 0 || i == at || e.leader[i] != e.leader[at] {
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
