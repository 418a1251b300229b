package population

import (
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
	side   uint64  // exclusive upper bound of the cells, which are whole numbers; 0: any number
	single bool    // a row is one number
	matrix bool    // the file is a class matrix: every column is a feature, there are no labels
	format *format // set by read
	most   int64   // numbers that a file of this size may hold; set by read

	roles []role // roles of the file's columns
	rows  int

	numbers []float64          // rows x len(spec.Features), row-major
	codes   [][]int32          // the code of the value, by categorical column and row
	values  []map[string]int32 // the code of each value, by categorical column
	y       []float64
	labels  []string // distinct labels, at most two
}

// column describes one column of a file.
type column struct {
	name string
	kind kind
}

// kind says what the cells of a column hold.
type kind int

const (
	numbers kind = iota // numbers
	textual             // strings, booleans, dictionaries: labels or categories
	unknown             // not known, because the first cell is missing, or of a type that is not supported
)

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
				return t.noColumn(list.key, name, columns)
			}
			if err := t.checkKind(list.key, list.use, columns[i]); err != nil {
				return err
			}
			t.roles[i] = role{list.use, name, k}
		}
	}
	t.codes = make([][]int32, len(t.spec.Categorical))
	t.values = make([]map[string]int32, len(t.spec.Categorical))
	for k := range t.values {
		t.values[k] = map[string]int32{}
	}
	return t.checkColumns()
}

// labelColumn lists the name of the column of labels, if there is one.
func (t *table) labelColumn() []string {
	if t.matrix {
		return nil
	}
	return []string{t.spec.Label}
}

// checkKind checks that the type of a column suits its use, in formats whose columns have types.
func (t *table) checkKind(key string, use use, c column) error {
	switch {
	case t.format.untyped:
		return nil
	case c.kind == unknown:
		return refuse(key, "%s: column %q holds neither numbers nor text; leave it out", t.spec.File, c.name)
	case use == asNumber && c.kind != numbers:
		return refuse(key, "%s: column %q does not hold numbers; name it in problem.data.categorical, or leave it out",
			t.spec.File, c.name)
	}
	return nil
}

// allNumeric makes the features of all numeric columns, in the order of the file.
func (t *table) allNumeric(columns []column) error {
	for i, c := range columns {
		if t.matrix && (c.kind != numbers || c.name == "0" || c.name == "1") {
			return refuse("file",
				"%s: column %d, %q: the first line names the points, and every cell below it is 0 or 1",
				t.spec.File, i+1, c.name)
		}
		if c.name == t.spec.Label || slices.Contains(t.spec.Categorical, c.name) || c.kind == textual {
			continue
		}
		if c.name == "" {
			return refuse("data.features", "%s: column %d has no name; name it, or list the columns to use",
				t.spec.File, i+1)
		}
		if c.kind == unknown && t.format.untyped {
			return refuse("data.features",
				"%s: the cell is missing, so whether the column holds numbers is unknown; list the "+
					"columns to use", t.place(2, c.name))
		}
		if c.kind == numbers {
			t.spec.Features = append(t.spec.Features, c.name)
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
		return refuse("data.features", "%s: no column is numeric; name columns in problem.data.categorical",
			t.spec.File)
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
	hint := ""
	if t.format.untyped && len(names) == 1 && strings.ContainsAny(names[0], ";\t|") {
		hint = "; cells are to be separated by commas"
	}
	return refuse(key, "%s has no column %q; its columns are %s%s", t.spec.File, name, quoted(names), hint)
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

// number sets a cell of the numeric column k. shown is the number of the row in messages.
func (t *table) number(row, shown, k int, v float64) error {
	name := t.spec.Features[k]
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return refuse("data.file", "%s: %v is not a finite number; drop the row or fill the cell",
			t.place(shown, name), v)
	}
	if t.side != 0 && !(v >= 0 && v < float64(t.side) && v == math.Trunc(v)) {
		return refuse("data.file", "%s: %v is not an integer in 0..%d; correct it%s",
			t.place(shown, name), v, t.side-1, t.orDomain())
	}
	t.numbers[row*len(t.spec.Features)+k] = v
	return nil
}

// orDomain returns the other remedy for a number that is too large, if there is one.
func (t *table) orDomain() string {
	if t.side == 2 {
		return ""
	}
	return ", or problem.domain"
}

// category sets a cell of the categorical column k. shown is the number of the row in messages.
func (t *table) category(row, shown, k int, v string) error {
	if v == "" {
		return t.missing(shown, t.spec.Categorical[k])
	}
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
	if v == "" {
		return t.missing(shown, t.spec.Label)
	}
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

// damaged returns an error that blames the file as a whole.
func (t *table) damaged(cause any) error {
	return refuse("data.file", "%s is damaged, or not a file of the format %s: %v", t.spec.File, t.spec.Format, cause)
}

// missing returns the error of a missing cell.
func (t *table) missing(shown int, name string) error {
	return refuse("data.file", "%s: the cell is missing; drop the row or fill the cell", t.place(shown, name))
}

// finish checks the labels, one-hot encodes the categorical columns, scales the rows, and returns
// the population.
func (t *table) finish() (*Rows, error) {
	if t.rows == 0 {
		return nil, refuse("data.file", "%s has no rows", t.spec.File)
	}
	if !slices.Contains(t.labels, t.spec.Positive) {
		return nil, refuse("data.positive", "%q never occurs in column %q, whose values are %s; choose one of these",
			t.spec.Positive, t.spec.Label, quoted(t.labels))
	}
	if len(t.labels) == 1 {
		return nil, refuse("data.label", "%s: all rows of column %q are %q; labels must have two values",
			t.spec.File, t.spec.Label, t.labels[0])
	}
	x, dim, err := t.oneHot()
	if err != nil {
		return nil, err
	}
	rows := &Rows{X: x, Y: slices.Clip(t.y), Dim: dim}
	if t.side == 0 {
		rows.Pulled = scaledTable{t}.scale(x, dim)
	}
	return rows, nil
}
