package population

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shatterlab/shatter/pipeline/problem/blame"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

// A table collects the columns of a data file. A reader calls begin with the columns; then, for
// each row or batch of rows, reserve, and addText or addNumber for each cell of a column in use.
type table struct {
	spec   *schemas.Data
	side   uint64 // exclusive upper bound of the features, which are whole numbers; 0: any number
	single bool   // a row is one number
	matrix bool   // the file is a class matrix: every column is a feature, there is no label
	most   int64  // maximum number of numbers that a file of this size may hold

	chooses    bool      // the problem lists no features: all columns of numbers are features
	columns    []*column // columns of the file
	features   []*column // columns of features, in the order of the rows' numbers
	categories []*column
	label      *column
	width      int // number of features that are not left out
	rows       int
}

// A column is one column of a file.
type column struct {
	name       string
	use        use
	listed     bool   // the problem names the column; otherwise it is a feature only if it holds numbers alone
	unreadable bool   // it holds neither numbers nor text
	why        string // reason why the column is no feature unless it is listed; empty: none

	numbers []float64 // cells of a feature; NaN: missing
	codes   []int32   // index of each cell in values, for labels and categories; -1: missing
	values  []string  // distinct labels or categories
	known   map[string]int32
	gaps    int // number of missing cells

	fault    string // reason why the column's first unusable cell cannot be used; empty: none
	faultRow int
	faults   int // number of unusable cells
}

// use is the use of a column.
type use int

const (
	unused use = iota
	asFeature
	asCategory
	asLabel
)

// begin gives the columns their uses. Unless the problem lists the features, it makes features of
// all other columns, which addText and settle may leave out.
func (t *table) begin(columns []*column) error {
	t.columns, t.chooses = columns, len(t.spec.Features) == 0
	byName := map[string]*column{}
	for i, c := range columns {
		if other := byName[c.name]; other != nil && c.name != "" {
			return refuse("data.file", "%s: columns %d and %d are both named %q; the first line has to name the columns, "+
				"each in its own way", t.spec.File, slices.Index(columns, other)+1, i+1, c.name)
		}
		byName[c.name] = c
	}
	var errs []error
	find := func(key string, u use, names []string) (found []*column) {
		for _, name := range names {
			c := byName[name]
			switch {
			case name == "":
			case c == nil:
				errs = append(errs, t.noColumn(key, name))
			case c.unreadable:
				errs = append(errs, refuse(key, "%s: column %q cannot be used: %s; convert it or leave it out", t.spec.File,
					name, c.why))
			default:
				c.use, c.listed = u, true
				found = append(found, c)
			}
		}
		return found
	}
	if !t.matrix {
		t.label = append(find("data.label", asLabel, []string{t.spec.Label}), nil)[0]
	}
	t.categories = find("data.categorical", asCategory, t.spec.Categorical)
	t.features = find("data.features", asFeature, t.spec.Features)
	for i, c := range columns {
		if t.matrix && (c.why != "" || slices.Contains([]string{"", "0", "1"}, c.name)) {
			return refuse("file", "%s: column %d, %q: the first line names the points, and every cell below it is 0 or 1",
				t.spec.File, i+1, c.name)
		}
		if t.chooses && c.use == unused && c.why == "" {
			c.use, c.listed = asFeature, t.matrix
			t.features = append(t.features, c)
		}
	}
	t.width = len(t.features)
	return errors.Join(errs...)
}

// noColumn blames the name of a column that the file does not have.
func (t *table) noColumn(key, name string) error {
	var names []string
	for _, c := range t.columns {
		names = append(names, c.name)
	}
	if n, ok := wording.Nearest(name, names); ok {
		return refuse(key, "%s has no column %q, did you mean %q?", t.spec.File, name, n)
	}
	return refuse(key, "%s has no column %q; its columns are %s", t.spec.File, name, quoted(names))
}

// quoted lists names in quotes: at most twelve, and how many more there are.
func quoted(names []string) string {
	var list []string
	for _, name := range names {
		list = append(list, fmt.Sprintf("%q", name))
	}
	return wording.Few(list, 12)
}

// reserve counts more rows, as many as a file states, and refuses more than it can hold.
func (t *table) reserve(more int64) error {
	if more < 0 || more > maxValues {
		return t.damaged(fmt.Errorf("it states %d rows", more))
	}
	t.rows += int(more)
	switch numbers := float64(t.rows) * float64(t.width+1); {
	case t.matrix && t.rows*t.width > maxMatrix:
		return refuse("data.file", "%s: more than %d labels; use a smaller class", t.spec.File, maxMatrix)
	case numbers > maxValues:
		return refuse("data.file", "%s: more than 2^30 numbers; use fewer columns or rows", t.spec.File)
	case numbers > float64(t.most):
		return refuse("data.file", "%s: more than %d numbers, far more than a file of its size holds; if they are meant, "+
			"write it as CSV", t.spec.File, t.most)
	}
	return nil
}

// addText appends a cell to a column in use. row is the number of its row in messages, counted as
// an editor or a data frame viewer does. An empty text is a missing cell.
func (t *table) addText(c *column, row int, text string) {
	switch {
	case c.use == asFeature:
		v, ok := t.parse(text)
		switch {
		case ok && !math.IsNaN(v):
			t.addNumber(c, row, v)
		case ok || isMissing(text):
			t.addGap(c, row, text)
		case !c.listed:
			c.use, c.numbers = unused, nil
			t.width--
			c.why = fmt.Sprintf("row %d holds %q%s", row, wording.Shorten(text), t.notNumber(text))
		case t.matrix:
			t.fail(c, row, "%q is not a number; every cell of a class matrix is 0 or 1", wording.Shorten(text))
		default:
			t.fail(c, row, "%q is not a number%s", wording.Shorten(text), cmp.Or(t.notNumber(text),
				"; correct it, drop the row, or name the column in problem.data.categorical"))
		}
	case text == "":
		t.addGap(c, row, text)
	default:
		code, ok := c.known[text]
		if !ok {
			code = t.addValue(c, row, strings.Clone(text))
		}
		c.codes = append(c.codes, code)
	}
}

// addValue adds a label or category.
func (t *table) addValue(c *column, row int, value string) int32 {
	code := len(c.values)
	switch {
	case !utf8.ValidString(value):
		t.fail(c, row, "%q is not UTF-8; %s", value, t.toUTF8("LATIN1"))
	case c.use == asLabel && code == 2:
		t.fail(c, row, "%q is a third label, after %q and %q; labels must have two values: drop the other rows",
			value, c.values[0], c.values[1])
	case code == maxDim:
		t.fail(c, row, "the column has more than %d values; leave it out", maxDim)
	}
	if c.fault != "" {
		return 0
	}
	if c.known == nil {
		c.known = map[string]int32{}
	}
	c.values, c.known[value] = append(c.values, value), int32(code)
	return int32(code)
}

// addNumber appends a number to a feature.
func (t *table) addNumber(c *column, row int, v float64) {
	switch {
	case math.IsNaN(v):
		t.addGap(c, row, "NaN")
		return
	case math.IsInf(v, 0):
		t.fail(c, row, "%v is not a finite number; drop the row or fill the cell", v)
	case t.side == 2 && v != 0 && v != 1:
		t.fail(c, row, "%v is not an integer in 0..1; correct it", v)
	case t.side != 0 && !(v >= 0 && v < float64(t.side) && v == math.Trunc(v)):
		t.fail(c, row, "%v is not an integer in 0..%d; correct it, or problem.domain", v, t.side-1)
	}
	c.numbers = append(c.numbers, v)
}

// addGap appends a missing cell. text is its text in the file, for example "NA".
func (t *table) addGap(c *column, row int, text string) {
	c.gaps++
	if c.use == asFeature {
		c.numbers = append(c.numbers, math.NaN())
	} else {
		c.codes = append(c.codes, -1)
	}
	if t.spec.Missing == missingDrop || t.spec.Missing == missingMean && c.use == asFeature {
		return
	}
	if text != "" {
		text = " (" + text + ")"
	}
	remedy := "drop the row, fill the cell, or set problem.data.missing: drop"
	switch {
	case t.matrix:
		remedy = "fill the cell"
	case c.use == asFeature && t.side == 0:
		remedy += " or mean"
	}
	t.fail(c, row, "the cell is missing%s; %s", text, remedy)
}

// fail records the first cell of a column that cannot be used.
func (t *table) fail(c *column, row int, format string, a ...any) {
	if c.faults++; c.faults == 1 {
		c.fault, c.faultRow = fmt.Sprintf(format, a...), row
	}
}

// settle determines the features, checks them against the class and the scale, and returns an
// error for each column with cells that cannot be used.
func (t *table) settle() error {
	var names []string
	var faulty []*column
	for i, c := range t.columns {
		switch {
		case c.use == asFeature && !c.listed && c.gaps == t.rows:
			c.use, c.why = unused, "all of its cells are missing"
		case c.use == asFeature && c.name == "":
			return refuse("data.features", "%s: column %d has no name; name it, or list the columns to use in "+
				"problem.data.features", t.spec.File, i+1)
		case c.use != unused && c.faults > 0:
			faulty = append(faulty, c)
		}
	}
	t.features = slices.DeleteFunc(t.features, func(c *column) bool { return c.use == unused })
	for _, c := range t.features {
		names = append(names, c.name)
	}
	t.spec.Features = names
	switch {
	case t.single && len(names) != 1:
		return refuse("data.features", "%s: one column of integers is needed, but %d are numeric (%s); name one",
			t.spec.File, len(names), quoted(names))
	case len(names)+len(t.categories) == 0:
		left, _ := t.leftOut()
		return refuse("data.features", "%s: no column is numeric: %s; name columns in problem.data.categorical",
			t.spec.File, left)
	}
	if err := checkRanges(t.spec.Scale.Ranges, names); err != nil {
		return err
	}
	slices.SortStableFunc(faulty, func(a, b *column) int { return cmp.Compare(a.faultRow, b.faultRow) })
	var errs []error
	for _, c := range faulty {
		place := fmt.Sprintf("%s: row %d, column %q", t.spec.File, c.faultRow, c.name)
		if c.faults > 1 {
			place += fmt.Sprintf(" (and %s below it)", wording.Count(c.faults-1, "cell"))
		}
		errs = append(errs, refuse("data.file", "%s: %s", place, c.fault))
	}
	return errors.Join(errs...)
}

// checkRanges checks that each feature has a range, if there are any.
func checkRanges(ranges map[string][2]float64, features []string) error {
	if len(ranges) == 0 {
		return nil
	}
	for _, name := range features {
		if _, ok := ranges[name]; !ok {
			return refuse("data.scale.ranges", "no range for column %q; add one, or list the columns to use in "+
				"problem.data.features", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(ranges)) {
		if !slices.Contains(features, name) {
			return blame.Name("problem.data.scale.ranges", name, features)
		}
	}
	return nil
}
