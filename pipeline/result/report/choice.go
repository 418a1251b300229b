package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

// A Choice selects figures. Its fields correspond to the flags of shatter plot, whose names appear
// in errors. The zero value selects the figures of the page.
type Choice struct {
	What  []string // kinds of figures, and metrics
	X     string   // parameter along x, or n
	Group []string // keys with a color for each value; all other keys are fixed
	Scale string   // scale of the axes, by its name: linear, log (of x), semilog (of y), log-log
}

// Where returns the sweep with the rows of its table that satisfy all conditions, and the
// corresponding rows of the curve. Conditions on columns of the curve alone select among its rows.
func (s *Sweep) Where(conditions ...sheet.Condition) (*Sweep, error) {
	if len(conditions) == 0 {
		return s, nil
	}
	var ofName, ofTable, ofCurve []sheet.Condition // on the algorithm's name, other columns, the curve alone
	for _, c := range conditions {
		if c.Column == algorithmKey {
			ofName = append(ofName, c)
		} else if _, err := s.whole.table.Find(c.Column); err != nil {
			if _, inCurve := s.whole.curve.Find(c.Column); inCurve != nil {
				return nil, err
			}
			ofCurve = append(ofCurve, c)
		} else {
			ofTable = append(ofTable, c)
		}
	}
	named, err := s.whole.table.Where(ofName...)
	if err != nil {
		return nil, err
	}
	table, err := named.Where(ofTable...)
	if err != nil {
		return nil, err
	}
	kept := *s
	kept.whole.table, kept.where = newFrame(table), append(slices.Clone(s.where), conditions...)
	left := kept.whole.table.algorithms()
	kept.Dropped = slices.DeleteFunc(newFrame(named).algorithms(),
		func(name string) bool { return slices.Contains(left, name) })
	cells := kept.whole.table.cells()
	kept.failed = s.failed.of(cells)
	rest, err := s.whole.curve.of(cells).Where(ofCurve...)
	if err != nil {
		return nil, err
	}
	kept.whole.curve = newFrame(rest)
	kept.split()
	return &kept, nil
}

// of returns the frame with the rows of some cells, as cells returns them.
func (f *frame) of(cells map[string]bool) *frame {
	return newFrame(f.Filter(func(row int) bool {
		cell := f.text(row, "cell")
		return cells[cell] || cells[cell+" "+f.text(row, curveColumn)]
	}))
}

// algorithms returns the names of the algorithms in a table.
func (f *frame) algorithms() []string { return f.distinctOf(f.all(), algorithmKey) }

// cells returns the ids of the cells of a table, with the number of rounds if it has one.
func (f *frame) cells() map[string]bool {
	all := map[string]bool{}
	for row := range f.Len() {
		id := f.text(row, "cell")
		if rounds := f.text(row, "rounds"); rounds != "" {
			id += " " + rounds
		}
		all[id] = true
	}
	return all
}

// A ChoiceError reports that a field of a Choice has a wrong value. Key names it: what, x, group or
// scale.
type ChoiceError struct{ Key, Value, Reason string }

func (e *ChoiceError) Error() string { return fmt.Sprintf("%s %s: %s", e.Key, e.Value, e.Reason) }

// Choose returns the figures of a choice. It returns an error if the choice names something that
// the result does not have, or if there is nothing to draw. If only some quantities have no figure,
// left explains why.
func (s *Sweep) Choose(c Choice) (all []Figure, left []string, err error) {
	wanted, err := s.wanted(c.What)
	if err != nil {
		return nil, nil, err
	}
	if _, err := scaleNamed(c.Scale); err != nil && c.Scale != "" {
		return nil, nil, err
	}
	if c.X != "" {
		if c.X, wanted, err = s.chosenX(c, wanted); err != nil {
			return nil, nil, err
		}
	}
	if c.Group, err = s.chosenGroup(c, wanted); err != nil {
		return nil, nil, err
	}
	used := map[string]int{}
	for _, m := range wanted {
		figures := s.draw(m, c, used)
		if len(figures) == 0 {
			left = add(left, c.whyNone(m))
		}
		all = append(all, figures...)
	}
	if len(all) == 0 {
		return nil, nil, errors.New("nothing to draw: " + strings.Join(left, "; "))
	}
	return all, left, nil
}

// A scale is a choice of logarithmic axes.
type scale struct{ logX, logY bool }

// scaleNamed returns the scale with a name.
func scaleNamed(name string) (scale, error) {
	names := []string{"linear", "log", "semilog", "log-log"}
	i := slices.Index(names, name)
	if i < 0 {
		return scale{}, &ChoiceError{"scale", name, fmt.Sprintf("one of %s is needed", strings.Join(names, ", "))}
	}
	return scale{logX: i%2 == 1, logY: i >= 2}, nil
}

// chosenX returns the column that c.X denotes, and the measures that have it.
func (s *Sweep) chosenX(c Choice, wanted []measure) (column string, fit []measure, err error) {
	var numbers, names []string // numbers: keys that are numbers and vary; names: all keys
	isNumber := true
	for _, m := range wanted {
		if len(c.What) == 0 && m.curve != (c.X == curveColumn) {
			continue
		}
		f := s.frameOf(m)
		for _, k := range f.keys() {
			names = add(names, plain(k))
			if (m.curve || k != curveColumn) && slices.ContainsFunc(groups(f), func(g group) bool { return g.varies(k) }) {
				numbers = add(numbers, plain(k))
			}
			if plain(k) == plain(c.X) {
				column, isNumber = k, f.numeric(k)
			}
		}
		fit = append(fit, m)
	}
	if slices.Contains(numbers, plain(c.X)) {
		return column, fit, nil
	}
	can := "no parameter is a number that varies in these rows"
	if len(numbers) > 0 {
		can = "possible: " + strings.Join(numbers, ", ")
	}
	why := "it does not vary in these rows"
	if nearest, ok := wording.Nearest(c.X, names); column == "" && ok {
		why = fmt.Sprintf("no such parameter (did you mean %s?)", nearest)
	} else if column == "" {
		why = "no such parameter"
	} else if !isNumber {
		why = "its values are not numbers"
	}
	return "", nil, &ChoiceError{"x", c.X, why + "; " + can}
}

// chosenGroup returns the keys that c.Group denotes, without prefix.
func (s *Sweep) chosenGroup(c Choice, wanted []measure) (keys []string, err error) {
	var known, along []string
	for _, m := range wanted {
		along = add(along, plain(cmp.Or(c.X, m.x)))
		for _, k := range s.frameOf(m).keys() {
			known = add(known, plain(k))
		}
	}
	for _, k := range c.Group {
		if !slices.Contains(known, plain(k)) {
			return nil, &ChoiceError{"group", k, "no such key" + wording.DidYouMean(k, known)}
		}
		if slices.Contains(along, plain(k)) {
			return nil, &ChoiceError{"group", k, "it is along x already; choose another parameter for x"}
		}
		keys = add(keys, plain(k))
	}
	return keys, nil
}

// frameOf returns the rows that have the measure.
func (s *Sweep) frameOf(m measure) *frame {
	switch {
	case m.over != nil:
		return m.over
	case m.curve:
		return s.curve
	}
	return s.sized
}

// plain returns the name of a column without its prefix.
func plain(column string) string { return strings.TrimPrefix(column, schemas.ParamPrefix) }

// add appends a name unless the list contains it.
func add(list []string, name string) []string {
	if slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}
