package result

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

// Question asks a table what its brackets certify.
type Question struct {
	Given []Value // values of columns that rows must have
	N     int64   // the sample size; 0: it is what is asked for
	For   string  // the column that is asked for; "": n, or with N the one number in which rows differ
}

// Value is a value of a column.
type Value struct {
	Column string
	Value  float64
}

// Solve answers a question from the brackets of a table: for each setting, the value of a number at
// which n examples are shown insufficient and the one at which they are shown sufficient. rises says
// whether success rises with a number, and whether that is known.
//
// Every answer follows from brackets of the table, and so all of them hold together with its
// confidence, if success never falls as n grows and goes the way that rises says.
func Solve(table *sheet.Sheet, q Question, rises func(column string) (rises, known bool)) (*sheet.Sheet, error) {
	s := solver{Sheet: table, question: q, rises: rises}
	if s.games() && schemas.IndexOf(table.Columns, "find") < 0 {
		return nil, fmt.Errorf("the result has no brackets: in task online games succeed or fail only for a search, " +
			"\"find: rounds\"; compare the regrets of its table, as far as regret_low and regret_high tell them apart")
	}
	rows, err := s.given()
	if err != nil {
		return nil, err
	}
	if s.games() {
		return s.searches(rows)
	}
	if q.N == 0 {
		if q.For != "" && q.For != "n" {
			return nil, fmt.Errorf("to solve for %s, say at which n: --n 2000", q.For)
		}
		return s.sizes(rows)
	}
	axis, err := s.axis(rows)
	if err != nil {
		return nil, err
	}
	return s.along(rows, axis)
}

// solver answers a question from a table.
type solver struct {
	*sheet.Sheet
	question Question
	rises    func(column string) (rises, known bool)
}

// at returns a value of a row, nil where the table has no such column.
func (s *solver) at(row []any, column string) any {
	if i := schemas.IndexOf(s.Columns, column); i >= 0 {
		return row[i]
	}
	return nil
}

// number returns a value of a row as a number, NaN where it is none.
func (s *solver) number(row []any, column string) float64 {
	switch v := s.at(row, column).(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return math.NaN()
}

// given returns the rows with the values that the question gives.
func (s *solver) given() ([][]any, error) {
	rows := slices.Collect(s.Rows())
	for _, v := range s.question.Given {
		var kept [][]any
		var others []float64
		for _, row := range rows {
			switch x := s.number(row, v.Column); {
			case x == v.Value:
				kept = append(kept, row)
			case !math.IsNaN(x) && !slices.Contains(others, x):
				others = append(others, x)
			}
		}
		if len(kept) == 0 {
			return nil, fmt.Errorf("%s %v is not certified: the result has %s; ask about one that it has, "+
				"or run a sweep with %s %v", v.Column, v.Value, listed(v.Column, others), v.Column, v.Value)
		}
		rows = kept
	}
	return rows, nil
}

// listed lists the values of a column.
func listed(column string, values []float64) string {
	if len(values) == 0 {
		return "no " + column
	}
	slices.Sort(values)
	var words []string
	for _, v := range values {
		words = append(words, strconv.FormatFloat(v, 'g', 4, 64))
	}
	return column + " " + wording.Few(words, 8)
}

// The verdicts on a sample size.
const (
	open = iota
	insufficient
	sufficient
)

// verdict returns what a row shows of n examples.
func (s *solver) verdict(row []any, n float64) int {
	low, high := s.number(row, "n_low"), s.number(row, "n_high")
	switch s.at(row, "status") {
	case estimate.StatusFailed, estimate.StatusTrivial:
		return open
	case estimate.StatusNotMonotone: // nothing is known of other sizes, and low may be above high
		switch n {
		case low:
			return insufficient
		case high:
			return sufficient
		}
		return open
	}
	switch {
	case n <= low:
		return insufficient
	case n >= high:
		return sufficient
	}
	return open
}

// sizes answers with the brackets themselves.
func (s *solver) sizes(rows [][]any) (*sheet.Sheet, error) {
	rows = slices.DeleteFunc(slices.Clone(rows), func(row []any) bool {
		return s.at(row, "find") != nil || s.at(row, "n_low") == nil && s.at(row, "n_high") == nil
	})
	if len(rows) == 0 {
		return nil, fmt.Errorf("no sample size is certified there: no cell has an n_low or an n_high")
	}
	var answers []answer
	for _, row := range rows {
		answers = append(answers, answer{row: row, insufficient: s.number(row, "n_low"), sufficient: s.number(row, "n_high")})
	}
	return s.sheet(rows, "n", answers), nil
}

// games reports whether the table is that of task online.
func (s *solver) games() bool { return schemas.IndexOf(s.Columns, "n_low") < 0 }

// searches answers with what the searches over games have found.
func (s *solver) searches(rows [][]any) (*sheet.Sheet, error) {
	if s.question.N != 0 {
		return nil, fmt.Errorf("games have rounds and no examples: leave --n out, and where a number is searched at "+
			"several numbers of rounds, give one, --where rounds=%d", s.question.N)
	}
	rows = slices.DeleteFunc(slices.Clone(rows), func(row []any) bool {
		return s.at(row, "find") == nil || s.question.For != "" && s.at(row, "find") != s.question.For
	})
	var answers []answer
	told := map[any]bool{}
	for _, row := range rows {
		a := answer{row: row, insufficient: s.number(row, "find_insufficient"), sufficient: s.number(row, "find_sufficient")}
		if id := s.at(row, "find_id"); !told[id] && !(math.IsNaN(a.insufficient) && math.IsNaN(a.sufficient)) {
			told[id], answers = true, append(answers, a)
		}
	}
	if len(answers) == 0 {
		return nil, fmt.Errorf("nothing is certified there: no search has a find_insufficient or a find_sufficient")
	}
	if s.varies(rows, "find") {
		return nil, fmt.Errorf("rows differ in the number that was searched: say which one to solve for, --for %v",
			s.at(rows[0], "find"))
	}
	axis, _ := s.at(rows[0], "find").(string)
	return s.sheet(rows, axis, answers), nil
}

// telling returns the columns that say what a row is about, but for those of hashes and, unless
// params is set, of parameters.
func (s *solver) telling(params bool) (names []string) {
	for _, c := range s.Columns {
		if c.Name == "cell" || c.Name == "sample" || trial.IsParam(c.Name) && !params {
			continue
		}
		if trial.TellsCell(c.Name) || c.Name == trial.RoundsAxis {
			names = append(names, c.Name)
		}
	}
	return names
}

// varies reports whether a column has different values in some rows.
func (s *solver) varies(rows [][]any, column string) bool {
	return slices.ContainsFunc(rows, func(row []any) bool { return s.at(row, column) != s.at(rows[0], column) })
}

// some returns a value of a column that is not null; nil where all are.
func (s *solver) some(rows [][]any, column string) any {
	for _, row := range rows {
		if v := s.at(row, column); v != nil {
			return v
		}
	}
	return nil
}

// axis returns the number that is asked for: "" where rows differ in none.
func (s *solver) axis(rows [][]any) (string, error) {
	var differ []string
	for _, name := range s.telling(true) {
		i := schemas.IndexOf(s.Columns, name)
		numeric := s.Columns[i].Type == schemas.FloatColumn || s.Columns[i].Type == schemas.IntColumn
		if numeric && name != "replica" && name != "above" && s.varies(rows, name) {
			differ = append(differ, name)
		}
	}
	if name := s.question.For; name != "" {
		if !slices.Contains(differ, name) {
			return "", fmt.Errorf("the result has no two values of %s there%s", name, wording.DidYouMean(name, differ))
		}
		if _, known := s.direction(rows, name); !known {
			return "", fmt.Errorf("whether success rises or falls with %s is not known, so its values cannot be compared: "+
				"give one, --where %s=%v", name, name, s.some(rows, name))
		}
		return name, nil
	}
	differ = slices.DeleteFunc(differ, func(name string) bool { _, known := s.direction(rows, name); return !known })
	if name, ok := s.at(rows[0], "find").(string); ok && !s.varies(rows, "find") && slices.Contains(differ, name) {
		return name, nil
	}
	if len(differ) > 1 {
		return "", fmt.Errorf("rows differ in %s: say which one to solve for, --for %s, or give values of the others",
			wording.And(differ), differ[0])
	}
	return strings.Join(differ, ""), nil
}

// direction returns whether success rises with a column.
func (s *solver) direction(rows [][]any, column string) (rises, known bool) {
	for _, row := range rows {
		if s.at(row, "find") == column {
			return s.at(row, "find_success") == schemas.SuccessRises, true
		}
	}
	return s.rises(column)
}

// answer is what is known of one setting.
type answer struct {
	row                      []any
	insufficient, sufficient float64
}

// along answers for the values of a column, "" where the rows differ in no number.
func (s *solver) along(rows [][]any, axis string) (*sheet.Sheet, error) {
	n := float64(s.question.N)
	if axis != "" {
		rows = slices.DeleteFunc(slices.Clone(rows), func(row []any) bool { return s.at(row, axis) == nil })
	}
	groups, order := s.groups(rows, axis)
	rises, _ := s.direction(rows, axis)
	var answers []answer
	for _, id := range order {
		of := groups[id]
		if axis != "" {
			slices.SortStableFunc(of, func(a, b []any) int { return cmp.Compare(s.number(a, axis), s.number(b, axis)) })
			if !rises {
				slices.Reverse(of)
			}
		}
		a := answer{row: of[0], insufficient: math.NaN(), sufficient: math.NaN()}
		for _, row := range of { // from the hardest value on
			value := 1.0 // without an axis: that it is so
			if axis != "" {
				value = s.number(row, axis)
			}
			switch s.verdict(row, n) {
			case insufficient:
				a.insufficient = value
			case sufficient:
				if math.IsNaN(a.sufficient) {
					a.sufficient = value
				}
			}
		}
		if gap := a.insufficient - a.sufficient; gap == 0 || !math.IsNaN(gap) && (gap > 0) == rises {
			return nil, fmt.Errorf("at n = %d the brackets contradict each other: %s %v suffices and %v does not; success "+
				"falls there, so give one value, --where %s=%v", s.question.N, axis, a.sufficient, a.insufficient, axis,
				a.sufficient)
		}
		if !math.IsNaN(a.insufficient) || !math.IsNaN(a.sufficient) {
			answers = append(answers, a)
		}
	}
	if len(answers) == 0 {
		return nil, fmt.Errorf("n = %d is not certified: every bracket there has it inside; %s", s.question.N,
			s.nearest(rows))
	}
	return s.sheet(rows, axis, answers), nil
}

// nearest says which sample sizes the rows certify.
func (s *solver) nearest(rows [][]any) string {
	low, high := math.Inf(-1), math.Inf(1)
	for _, row := range rows {
		if x := s.number(row, "n_low"); x > low {
			low = x
		}
		if x := s.number(row, "n_high"); x < high {
			high = x
		}
	}
	ends := []string{"no n is shown insufficient", "no n sufficient"}
	if low > 0 {
		ends[0] = fmt.Sprintf("the largest n shown insufficient is %v", low)
	}
	if !math.IsInf(high, 1) {
		ends[1] = fmt.Sprintf("the least shown sufficient is %v", high)
	}
	return strings.Join(ends, ", ")
}

// groups puts rows together that agree in all but the axis, and at which n a search looked at it.
// Parameters count only where rows that agree otherwise have the same value of the axis: they may
// follow from it.
func (s *solver) groups(rows [][]any, axis string) (map[string][][]any, []string) {
	for _, params := range []bool{false, true} {
		groups, order, seen := map[string][][]any{}, []string(nil), map[string]bool{}
		clear := true
		for _, row := range rows {
			id := ""
			for _, name := range s.telling(params) {
				if name != axis {
					id += fmt.Sprintf("|%v", s.at(row, name))
				}
			}
			place := fmt.Sprintf("%s@%v at n %v", id, s.at(row, axis), s.at(row, "find_n"))
			clear, seen[place] = clear && !seen[place], true
			if groups[id] == nil {
				order = append(order, id)
			}
			groups[id] = append(groups[id], row)
		}
		if clear || params {
			return groups, order
		}
	}
	panic("unreachable")
}

// sheet makes the answers a sheet: what tells them apart and what they have in common, then the
// question and the answer.
func (s *solver) sheet(rows [][]any, axis string, answers []answer) *sheet.Sheet {
	var columns []schemas.Column
	var from []int
	for _, name := range s.telling(true) {
		i := schemas.IndexOf(s.Columns, name)
		if trial.IsParam(name) && !s.varies(rows, name) || name == axis {
			continue
		}
		from = append(from, i)
		columns = append(columns, s.Columns[i])
	}
	add := func(name string, of schemas.ColumnType, doc string) {
		columns = append(columns, schemas.Column{Name: name, Type: of, Doc: doc})
	}
	if s.question.N > 0 {
		add("n", schemas.IntColumn, "sample size")
	}
	if axis == "" {
		add("answer", schemas.TextColumn, "whether n is sufficient")
	} else {
		add("solved_for", schemas.TextColumn, "the number that is asked for")
		add("insufficient", schemas.FloatColumn, "the easiest value shown insufficient")
		add("sufficient", schemas.FloatColumn, "the hardest value shown sufficient")
	}
	var lines [][]any
	for _, a := range answers {
		var row []any
		for _, i := range from {
			row = append(row, a.row[i])
		}
		if s.question.N > 0 {
			row = append(row, s.question.N)
		}
		switch {
		case axis != "":
			row = append(row, axis, schemas.Clean(a.insufficient), schemas.Clean(a.sufficient))
		case !math.IsNaN(a.sufficient):
			row = append(row, "sufficient")
		default:
			row = append(row, "insufficient")
		}
		lines = append(lines, row)
	}
	out := sheet.Of("solve", columns, lines...)
	out.Confidence = s.Confidence
	return out
}
