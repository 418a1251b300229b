package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// brief is a sheet made short for people.
type brief struct {
	above   []string // lines: what is the same in all rows, and the parameters of each algorithm
	below   []string // lines: how sure the table is, where the theory's values come from, what was left out
	columns []schemas.Column
	rows    [][]string

	unproved bool // the privacy of some row is not proved, and the column privacy says so
}

// briefOf drops empty columns, and says above what is the same in all rows, in all rows of an
// algorithm (its parameters), or in all rows of a class that have a value (what describes its
// problem), unless it is a measured number.
func briefOf(s *sheet.Sheet) brief {
	b := brief{unproved: hasUnproved(s)}
	s = withStanding(s)
	var same []string
	classes := notes{by: "class", of: map[string][]string{}}
	algorithms := notes{by: "algorithm", of: map[string][]string{}}
	var shown []int
	for i, c := range s.Columns {
		c.Name = short(c.Name)
		values := distinct(s, i)
		if len(values) == 0 || c.Name == "sample" || c.Name == "fixed" { // these two are for programs
			continue
		}
		if lines, ok := belowOf(s, i, c.Name); ok {
			b.below = append(b.below, lines...)
		} else if isAside(c) && len(values) == 1 && isFull(s, i) {
			same = append(same, c.Name+" "+values[0])
		} else if !(describes(c) && classes.note(s, i)) && !(isParam(c) && algorithms.note(s, i)) {
			shown = append(shown, i)
			b.columns = append(b.columns, c)
		}
	}
	if len(same) > 0 {
		b.above = append(b.above, strings.Join(same, ", "))
	}
	b.above = append(append(b.above, classes.lines()...), algorithms.lines()...)
	if s.Confidence > 0 && slices.ContainsFunc(b.columns, isBracket) {
		sure := fmt.Sprintf(
			"confidence %s that no bracket (n_low, n_high] of the table misses its n*",
			short(s.Confidence),
		)
		b.below = append([]string{sure}, b.below...)
	}
	b.below = append(b.below, s.Notes...)
	if isOverData(s) && slices.ContainsFunc(b.columns, isBracket) {
		b.below = append(b.below, onePopulation)
	}
	for _, row := range s.Rows {
		b.rows = append(b.rows, lineOf(row, shown))
	}
	return b
}

// belowOf returns what stands below the table in place of column i. It is not ok for a column of the
// table itself.
func belowOf(s *sheet.Sheet, i int, name string) (lines []string, ok bool) {
	if source, ok := strings.CutSuffix(name, "_source"); ok {
		return byAlgorithm(s, i, ofSource(s, source)), true
	}
	switch name {
	case "theory_reason":
		return byAlgorithm(s, i, "no "+ofSource(s, "theory")), true
	case "contradicts":
		return alarms(s, i), true
	case "theory_standing": // worth a column where it is not the same everywhere
		return nil, slices.Equal(distinct(s, i), []string{trial.Proved})
	}
	return nil, false
}

// byAlgorithm writes a line for each value of column i, with what it is about, and with the
// algorithms that have the value, unless all rows with one have the same.
func byAlgorithm(s *sheet.Sheet, i int, about string) (lines []string) {
	values := distinct(s, i)
	by := slices.IndexFunc(s.Columns, func(c schemas.Column) bool { return c.Name == "algorithm" })
	if len(values) == 1 || by < 0 {
		return []string{about + ": " + strings.Join(values, "; ")}
	}
	algorithms := map[string][]string{}
	for _, row := range s.Rows {
		if v, a := short(row[i]), short(row[by]); !slices.Contains(algorithms[v], a) {
			algorithms[v] = append(algorithms[v], a)
		}
	}
	for _, v := range values {
		lines = append(lines, fmt.Sprintf("%s of %s: %s", about, strings.Join(algorithms[v], ", "), v))
	}
	return lines
}

// alarms says which bounds column i, contradicts, calls refuted.
func alarms(s *sheet.Sheet, i int) (lines []string) {
	for _, row := range s.Rows {
		if row[i] != nil {
			lines = append(lines, fmt.Sprintf("CONTRADICTED BOUND in cell %s: %s", short(row[0]), short(row[i])))
		}
	}
	return lines
}

// columnOf returns the index of the column of this name, or -1 where there is none.
func columnOf(s *sheet.Sheet, name string) int {
	return slices.IndexFunc(s.Columns, func(c schemas.Column) bool { return c.Name == name })
}

// hasUnproved reports whether the privacy of some row is not proved.
func hasUnproved(s *sheet.Sheet) bool {
	proof := columnOf(s, "privacy_standing")
	return proof >= 0 && slices.ContainsFunc(s.Rows, func(row []any) bool {
		return row[proof] != nil && row[proof] != trial.Proved
	})
}

// withStanding returns the sheet with the column privacy_standing told in the columns privacy and
// privacy_source, where it says something else than proved: "pure (declared)". What is not certified
// has no source there, since it follows from nothing.
func withStanding(s *sheet.Sheet) *sheet.Sheet {
	proof, kind, source := columnOf(s, "privacy_standing"), columnOf(s, "privacy"), columnOf(s, "privacy_source")
	if proof < 0 || kind < 0 {
		return s
	}
	told := *s
	told.Rows = make([][]any, len(s.Rows))
	for i, row := range s.Rows {
		row = slices.Clone(row)
		if said := row[proof]; said != nil && said != trial.Proved {
			row[kind] = fmt.Sprintf("%v (%v)", row[kind], said)
			if source >= 0 && said == trial.NotCertified {
				row[source] = nil
			} else if source >= 0 && row[source] != nil {
				row[source] = fmt.Sprintf("%v: %v", said, row[source])
			}
		}
		row[proof] = nil
		told.Rows[i] = row
	}
	return &told
}

// lineOf returns the values of the given columns of a row.
func lineOf(row []any, columns []int) []string {
	line := make([]string, len(columns))
	for j, i := range columns {
		if line[j] = short(row[i]); line[j] == "" {
			line[j] = "-"
		}
	}
	return line
}

// onePopulation says what n* means where the population is a file.
const onePopulation = "over data, n* is for one concept and one population; without disguise, what was known of them " +
	"beforehand counts as learnt"

// isOverData reports whether the population of some row is a file.
func isOverData(s *sheet.Sheet) bool {
	i := columnOf(s, "data")
	return i >= 0 && slices.ContainsFunc(s.Rows, func(row []any) bool { return row[i] != nil })
}

// notes collects columns that depend on the column by alone.
type notes struct {
	by    string
	order []string            // the values of by, in the order of the rows
	of    map[string][]string // for each value of by, names and values of the columns
}

// note collects column i if it is such a column: where it has a value at all, that is the same for
// the same value of by. It is false where it is not.
func (n *notes) note(s *sheet.Sheet, i int) bool {
	by := columnOf(s, n.by)
	if by < 0 {
		return false
	}
	values := map[string]any{}
	var order []string
	for _, row := range s.Rows {
		of := short(row[by])
		v, seen := values[of]
		if seen && v != nil && row[i] != nil && v != row[i] {
			return false
		}
		if !seen {
			order = append(order, of)
		}
		if v == nil {
			values[of] = row[i]
		}
	}
	n.order = order
	for of, v := range values {
		if v != nil {
			name := strings.TrimPrefix(short(s.Columns[i].Name), schemas.ParamPrefix)
			n.of[of] = append(n.of[of], name+" "+short(v))
		}
	}
	return true
}

// lines returns a line for each value of by that has notes.
func (n *notes) lines() []string {
	var lines []string
	for _, of := range n.order {
		if len(n.of[of]) > 0 {
			lines = append(lines, of+": "+strings.Join(n.of[of], ", "))
		}
	}
	return lines
}

func isBracket(c schemas.Column) bool { return c.Name == "n_low" || c.Name == "n_high" }

func isParam(c schemas.Column) bool { return strings.HasPrefix(c.Name, schemas.ParamPrefix) }

// describes reports whether a column describes the problem or what counts as success, beside the
// class itself.
func describes(c schemas.Column) bool {
	return slices.Contains([]string{"evaluation", "prior_success", "positive_share", "constant_error", "pulled_share"},
		c.Name) ||
		slices.ContainsFunc(trial.KeyColumns(), func(k trial.KeyColumn) bool {
			return k.Name == c.Name && k.Has(trial.Describes)
		})
}

// ofSource returns the column that the column <source>_source is about: theory_n or theory_regret.
func ofSource(s *sheet.Sheet, source string) string {
	for _, c := range s.Columns {
		if c.Name == source+"_n" || c.Name == source+"_regret" {
			return c.Name
		}
	}
	return source
}

// isAside reports whether a column may stand above the table: a key, the way of evaluation, or how
// many trials failed or were lost.
func isAside(c schemas.Column) bool {
	switch c.Name {
	case "cell":
		return false
	case "evaluation", "failed", "lost":
		return true
	}
	return trial.IsKeyColumn(c.Name)
}

// distinct returns the values of column i, each once, in the order of the rows.
func distinct(s *sheet.Sheet, i int) []string {
	var values []string
	seen := map[string]bool{}
	for _, row := range s.Rows {
		if v := short(row[i]); row[i] != nil && !seen[v] {
			seen[v] = true
			values = append(values, v)
		}
	}
	return values
}

// isFull reports whether column i has a value in each row.
func isFull(s *sheet.Sheet, i int) bool {
	return !slices.ContainsFunc(s.Rows, func(row []any) bool { return row[i] == nil })
}

// short returns a value for people, on one line.
func short(v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'g', 4, 64)
	}
	return oneLine(sheet.Text(v))
}

// oneLine returns a text without line breaks and without characters that move a terminal's cursor
// or turn text around.
func oneLine(v string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, strings.Join(strings.Fields(v), " "))
}
