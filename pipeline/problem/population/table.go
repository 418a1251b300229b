package population

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

// table collects the cells of a data file. A reader calls begin with the columns; then, for each row or
// batch of rows, grow, and number, category or label for each cell of a column that begin gave a role;
// and finish at the end.
type table struct {
	spec   *schemas.Data
	side   uint64 // exclusive upper bound of the cells, which are whole numbers; 0: any number
	single bool   // a row is one number
	matrix bool   // the file is a class matrix: every column is a feature, there are no labels
	most   int64  // numbers that a file of this size may hold; set by read

	roles []role // roles of the file's columns
	rows  int

	numbers []float64          // rows x len(spec.Features), row-major
	codes   [][]int32          // the code of the value, by categorical column and row
	values  []map[string]int32 // the code of each value, by categorical column
	y       []float64
	labels  []string // distinct labels, at most two

	gaps []gap    // missing cells, unless they are refused
	left []column // columns that are no features, because they hold other things than numbers
}

// column describes one column of a file.
type column struct {
	name string
	kind kind
	why  string // reason why the column is no feature; empty for numbers
}

// kind says what the cells of a column hold.
type kind int

const (
	empty      kind = iota // nothing
	numbers                // numbers or booleans
	other                  // other texts, too: labels or categories
	unreadable             // a type that is not supported
)

// A cell is a cell of a file: a number or a text. An empty text is a missing cell.
type cell struct {
	text    string
	number  float64
	numeric bool // number is given
}

// role says what a column is used for. index is its place among the features or the categorical
// columns.
type role struct {
	use   use
	name  string
	index int
}

// use is one of the uses of a column.
type use int

const (
	unused use = iota
	asLabel
	asNumber
	asCategory
)

// place returns the place of an error in words: a row as an editor or a data frame viewer counts
// it, from 1, and a column.
func (t *table) place(row int, name string) string {
	return fmt.Sprintf("%s: row %d, column %q", t.spec.File, row, name)
}

// begin gives the columns their roles, and fills in the features unless the problem lists them.
func (t *table) begin(columns []column) error {
	numbers := map[string]int{} // of the columns, by name
	for i, c := range columns {
		if j, twice := numbers[c.name]; twice && c.name != "" {
			return refuse("data.file",
				"%s: columns %d and %d are both named %q; the first line has to name the columns, each "+
					"in its own way", t.spec.File, j+1, i+1, c.name)
		}
		numbers[c.name] = i
	}
	if len(t.spec.Features) == 0 {
		if err := t.allNumeric(columns); err != nil {
			return err
		}
	}
	t.roles = make([]role, len(columns))
	var errs []error
	for _, list := range []struct {
		key   string
		use   use
		names []string
	}{
		{"data.label", asLabel, t.labelColumn()},
		{"data.categorical", asCategory, t.spec.Categorical},
		{"data.features", asNumber, t.spec.Features},
	} {
		for k, name := range list.names {
			i, ok := numbers[name]
			if !ok {
				errs = append(errs, t.noColumn(list.key, name, columns))
				continue
			}
			if c := columns[i]; c.kind == unreadable {
				errs = append(errs,
					refuse(list.key, "%s: column %q cannot be used: %s; convert it or leave it out", t.spec.File, name, c.why))
			}
			t.roles[i] = role{list.use, name, k}
		}
	}
	t.codes = make([][]int32, len(t.spec.Categorical))
	t.values = make([]map[string]int32, len(t.spec.Categorical))
	for k := range t.values {
		t.values[k] = map[string]int32{}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	return t.checkColumns()
}

// labelColumn lists the name of the column of labels, if there is one.
func (t *table) labelColumn() []string {
	if t.matrix || t.spec.Label == "" {
		return nil
	}
	return []string{t.spec.Label}
}

// allNumeric makes the features of all numeric columns, in the order of the file.
func (t *table) allNumeric(columns []column) error {
	for i, c := range columns {
		if t.matrix && (c.kind >= other || c.name == "0" || c.name == "1") {
			return refuse("file",
				"%s: column %d, %q: the first line names the points, and every cell below it is 0 or 1",
				t.spec.File, i+1, c.name)
		}
		switch {
		case c.name == t.spec.Label || slices.Contains(t.spec.Categorical, c.name):
		case c.name == "" && (t.matrix || c.kind == numbers):
			return refuse("data.features", "%s: column %d has no name; name it, or list the columns to use",
				t.spec.File, i+1)
		case t.matrix || c.kind == numbers:
			t.spec.Features = append(t.spec.Features, c.name)
		default:
			if c.kind == empty {
				c.why = "all of its cells are missing"
			}
			t.left = append(t.left, c)
		}
	}
	return nil
}

// checkColumns checks the numeric columns against the class and the scale.
func (t *table) checkColumns() error {
	features := t.spec.Features
	if t.single && len(features) != 1 {
		return refuse("data.features", "%s: one column of integers is needed, but %d are numeric (%s); name one",
			t.spec.File, len(features), quoted(features))
	}
	if len(features)+len(t.spec.Categorical) == 0 {
		return refuse("data.features", "%s: no column is numeric: %s; name columns in problem.data.categorical",
			t.spec.File, t.leftOut())
	}
	ranges := t.spec.Scale.Ranges
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
		if slices.Contains(features, name) {
			continue
		}
		if n, ok := wording.Nearest(name, features); ok {
			return refuse("data.scale.ranges", "%q is not among the features, did you mean %q?", name, n)
		}
		return refuse("data.scale.ranges", "%q is not among the features %s", name, quoted(features))
	}
	return nil
}

// noColumn blames the name of a column that the file does not have.
func (t *table) noColumn(key, name string, columns []column) error {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	if n, ok := wording.Nearest(name, names); ok {
		return refuse(key, "%s has no column %q, did you mean %q?", t.spec.File, name, n)
	}
	return refuse(key, "%s has no column %q; its columns are %s", t.spec.File, name, quoted(names))
}

// quoted lists names in quotes: at most twelve, and how many more there are.
func quoted(names []string) string {
	const most = 12
	list := make([]string, 0, most+1)
	for i, name := range names {
		if i == most {
			list = append(list, fmt.Sprintf("and %d more", len(names)-most))
			break
		}
		list = append(list, fmt.Sprintf("%q", name))
	}
	return strings.Join(list, ", ")
}

// growBy makes room for more rows, as many as a file states.
func (t *table) growBy(more int64) error {
	if more < 0 || more > maxValues {
		return t.damaged(fmt.Errorf("it states %d rows", more))
	}
	return t.grow(t.rows + int(more))
}

// grow makes room for a total of rows.
func (t *table) grow(rows int) error {
	switch features := float64(len(t.spec.Features)); {
	case t.matrix && float64(rows)*features > maxMatrix+4096*features: // room is made in steps; ReadMatrix counts
		return refuse("data.file", "%s: more than %d labels; use a smaller class", t.spec.File, maxMatrix)
	case float64(rows)*(features+1) > maxValues:
		return refuse("data.file", "%s: more than 2^30 numbers; use fewer columns or rows", t.spec.File)
	case float64(rows)*(features+1) > float64(t.most):
		return refuse("data.file",
			"%s: more than %d numbers, far more than a file of its size holds; if they are meant, "+
				"write it as CSV", t.spec.File, t.most)
	}
	more := rows - t.rows
	t.rows = rows
	t.numbers = extend(t.numbers, more*len(t.spec.Features))
	t.y = extend(t.y, more)
	for k := range t.codes {
		t.codes[k] = extend(t.codes[k], more)
	}
	return nil
}

// maxFile returns the size in bytes of the largest file.
func (t *table) maxFile() int64 {
	if t.matrix {
		return 64 * maxMatrix // a label takes a byte or two
	}
	return maxFile
}

// extend makes a slice longer. The new elements have any value.
func extend[T any](s []T, more int) []T {
	return slices.Grow(s, more)[:len(s)+more]
}

// set sets a cell of the row-th row. shown is the number of the row in messages.
func (t *table) set(role role, row, shown int, c cell) error {
	switch {
	case role.use == asNumber && c.numeric:
		return t.number(role, row, shown, c.number)
	case role.use == asNumber && !isMissing(c.text):
		v, ok := t.parse(c.text)
		if ok {
			return t.number(role, row, shown, v)
		}
		remedy := t.notNumber(c.text)
		if remedy == "" {
			remedy = "; correct it, drop the row, or name the column in problem.data.categorical"
		}
		if t.matrix {
			remedy = "; every cell of a class matrix is 0 or 1"
		}
		return refuse("data.file", "%s: %q is not a number%s", t.place(shown, role.name), clip(c.text), remedy)
	case role.use == asNumber || c.text == "":
		return t.missing(role, row, shown, c.text)
	case role.use == asCategory:
		return t.category(role, row, c.text)
	}
	return t.label(row, shown, c.text)
}

// number sets a cell of a numeric column.
func (t *table) number(role role, row, shown int, v float64) error {
	if math.IsNaN(v) {
		return t.missing(role, row, shown, "NaN")
	}
	if math.IsInf(v, 0) {
		return refuse("data.file", "%s: %v is not a finite number; drop the row or fill the cell",
			t.place(shown, role.name), v)
	}
	if t.side != 0 && !(v >= 0 && v < float64(t.side) && v == math.Trunc(v)) {
		return refuse("data.file", "%s: %v is not an integer in 0..%d; correct it%s",
			t.place(shown, role.name), v, t.side-1, t.orDomain())
	}
	t.numbers[row*len(t.spec.Features)+role.index] = v
	return nil
}

// orDomain returns the other remedy for a number that is too large, if there is one.
func (t *table) orDomain() string {
	if t.side == 2 {
		return ""
	}
	return ", or problem.domain"
}

// category sets a cell of a categorical column.
func (t *table) category(role role, row int, v string) error {
	k := role.index
	code, ok := t.values[k][v]
	if !ok {
		code = int32(len(t.values[k]))
		if code == maxDim {
			return refuse("data.categorical", "%s: column %q has more than %d values; leave it out",
				t.spec.File, t.spec.Categorical[k], maxDim)
		}
		t.values[k][strings.Clone(v)] = code
	}
	t.codes[k][row] = code
	return nil
}

// label sets the label of a row. shown is the number of the row in messages.
func (t *table) label(row, shown int, v string) error {
	if !slices.Contains(t.labels, v) {
		if len(t.labels) == 2 {
			return refuse("data.label", "%s: %q is a third label, after %q and %q; labels must have two values",
				t.place(shown, t.spec.Label), v, t.labels[0], t.labels[1])
		}
		t.labels = append(t.labels, strings.Clone(v))
	}
	t.y[row] = -1
	if v == t.spec.Positive {
		t.y[row] = 1
	}
	return nil
}

// unsupported is an error that blames the format of a file.
type unsupported string

func (e unsupported) Error() string { return string(e) }

// damaged returns an error that blames the file as a whole. Libraries call "unimplemented" or "unsupported" what they
// cannot read.
func (t *table) damaged(cause any) error {
	words := fmt.Sprint(cause)
	for _, word := range []string{"unimplemented", "unsupported", "not implemented"} {
		if strings.Contains(words, word) {
			cause = unsupported(words + "; " + howToRewrite[t.spec.Format])
		}
	}
	if reason, ok := cause.(unsupported); ok {
		return refuse("data.file", "%s is not supported: %s", t.spec.File, reason)
	}
	return refuse("data.file", "%s is damaged, or not a file of the format %s: %v", t.spec.File, t.spec.Format, cause)
}

// finish deals with missing cells, checks the labels, one-hot encodes the categorical columns, scales the rows, and
// returns the population.
func (t *table) finish() (*Rows, error) {
	if t.rows == 0 {
		return nil, refuse("data.file", "%s has no rows", t.spec.File)
	}
	missing, err := t.fillGaps()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(t.labels, t.spec.Positive) {
		return nil, refuse("data.positive", "%q never occurs in column %q, whose values are %s; choose one of these",
			t.spec.Positive, t.spec.Label, quoted(t.labels))
	}
	if !slices.Contains(t.y, 1) || !slices.Contains(t.y, -1) {
		return nil, refuse("data.label", "%s: all rows of column %q are %q; labels must have two values",
			t.spec.File, t.spec.Label, t.labels[0])
	}
	x, dim, err := t.oneHot()
	if err != nil {
		return nil, err
	}
	rows := &Rows{X: x, Y: slices.Clip(t.y), Dim: dim, Missing: missing, Report: t.report(missing)}
	if t.side == 0 {
		rows.Pulled = scaledTable{t}.scale(x, dim)
	}
	return rows, nil
}
