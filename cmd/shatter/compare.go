package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/estimate"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/result/render"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
)

var compareFormats = []string{"table", "json", "csv", "md"}

func compareCommand() *cobra.Command {
	var format string
	var flags []string
	var confidence float64
	c := &cobra.Command{
		Use: "compare A [B]", Short: "Say in which cells two results differ beyond their intervals", Args: cobra.RangeArgs(1, 2),
		Long: `Compare the results in two folders, cell by cell, or cells of one result with each other.

Cells are the same if their keys are: seed, n and trials may differ. With --by COLUMN, as often as needed, cells are compared that agree in all
columns but these (parameters go with the algorithm); --by COLUMN=X,Y has X on the side of A and Y on that of B:

  shatter compare shatter-out/monday shatter-out/tuesday
  shatter compare shatter-out/twins --by replica
  shatter compare shatter-out/quickstart --by algorithm=expmech/em,expmech/pf

Two cells differ if their brackets have no n in common, or if their trials at the same n differ: in successes and errors (pairs of trials on the
same data, or else two samples), in task online in regret. They are the same if nothing tells them apart, unknown if one is not decided. The
confidence is that of everything that is said: brackets have that of their tables, tests share --confidence (Holm).

Exit codes: 0 nothing differs; 1 something does; 2 no cell in common, or no results.`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkOutput(c.OutOrStdout(), format, compareFormats); err != nil {
				return err
			}
			if !(confidence > 0 && confidence < 1) {
				return usageError{fmt.Errorf("--confidence %v: a number between 0 and 1 is needed", confidence)}
			}
			m, err := openMatcher(args, flags)
			if err != nil {
				return err
			}
			r, err := m.compare(1 - confidence)
			if err != nil {
				return err
			}
			return r.report(c.OutOrStdout(), c.ErrOrStderr(), format)
		},
	}
	c.Flags().StringVarP(&format, "output", "o", "table", "format: "+strings.Join(compareFormats, ", ")+"; csv and json have the cells that are the same too")
	c.Flags().StringArrayVar(&flags, "by", nil, "COLUMN in which the cells of a pair may differ, or COLUMN=X,Y")
	c.Flags().Float64Var(&confidence, "confidence", 0.95, "that no test rejects what holds, over all tests together")
	return c
}

// openMatcher reads the tables of one or two folders.
func openMatcher(dirs, flags []string) (*matcher, error) {
	by, err := parseBy(flags)
	if err != nil {
		return nil, err
	}
	if len(dirs) == 1 && len(by) == 0 {
		return nil, usageError{fmt.Errorf("one folder: name a second one, or with --by COLUMN in what the cells to compare differ, like --by replica")}
	}
	a, err := readCompared(dirs[0])
	if err != nil {
		return nil, err
	}
	b := a
	if len(dirs) == 2 && !sameFolder(dirs[0], dirs[1]) {
		if b, err = readCompared(dirs[1]); err != nil {
			return nil, err
		}
	}
	return newMatcher(a, b, by)
}

func sameFolder(a, b string) bool {
	x, err := os.Stat(a)
	y, fail := os.Stat(b)
	return err == nil && fail == nil && os.SameFile(x, y)
}

// comparison is what was found.
type comparison struct {
	*matcher
	level      float64 // of all tests together
	pairs      [][2]int
	contests   []*contest
	judgements []estimate.Judgement
}

// compare pairs the cells, sets their trials against each other and judges.
func (m *matcher) compare(level float64) (*comparison, error) {
	r := &comparison{matcher: m, level: level, pairs: m.pairs()}
	if len(r.pairs) == 0 {
		return nil, m.explain()
	}
	for _, side := range []*compared{m.a, m.b} {
		if side.trials != nil {
			continue // the same folder
		}
		if err := side.readTrials(); err != nil {
			return nil, err
		}
	}
	pairs := make([]estimate.Pair, len(r.pairs))
	for k, ij := range r.pairs {
		c := m.contest(ij[0], ij[1])
		r.contests = append(r.contests, c)
		pairs[k] = estimate.Pair{A: m.a.side(ij[0]), B: m.b.side(ij[1]), Tests: c.tests}
	}
	r.judgements = estimate.Compare(pairs, level)
	for k, ij := range r.pairs {
		if m.a == m.b && ij[0] == ij[1] {
			r.judgements[k].Verdict = estimate.Same // itself, decided or not
		}
	}
	return r, nil
}

// report writes the comparison, and gives the exit code.
func (r *comparison) report(stdout, stderr io.Writer, format string) error {
	switch format {
	case "json", "csv":
		fmt.Fprintln(stderr, r.summary())
		if err := render.Render(r.sheet(), stdout, format); err != nil {
			return err
		}
	default:
		if _, err := fmt.Fprintln(stdout, r.summary()); err != nil {
			return err
		}
		if s := r.brief(); len(s.Rows) > 0 {
			fmt.Fprintln(stdout)
			if err := renderSheet(stdout, s, format, 0); err != nil {
				return err
			}
		}
	}
	if r.oneIf(estimate.Differ) > 0 {
		return statusError(exitUnfinished)
	}
	return nil
}

func (r *comparison) oneIf(verdict string) (n int) {
	for _, j := range r.judgements {
		n += oneIf(j.Verdict == verdict)
	}
	return n
}

// summary says in one line what was found and how sure it is.
func (r *comparison) summary() string {
	what, of := "pair", " of cells"
	switch {
	case len(r.by) == 0 && r.a.online:
		what, of = "row", ""
	case len(r.by) == 0:
		what, of = "cell", ""
	}
	if len(r.pairs) != 1 {
		what += "s"
	}
	line := fmt.Sprintf("%d %s%s compared, %d same, %d differ, %d unknown", len(r.pairs), what, of, r.oneIf(estimate.Same), r.oneIf(estimate.Differ), r.oneIf(estimate.Unknown))
	for side, x := range []*compared{r.a, r.b} {
		if n := len(x.table.Rows) - r.used(side); n > 0 && len(r.by) == 0 {
			line += fmt.Sprintf(", %d only in %s", n, []string{"A", "B"}[side])
		}
	}
	return line + "; " + r.confidence()
}

// used is the rows of a side that are in a pair.
func (r *comparison) used(side int) int {
	rows := map[int]bool{}
	for _, ij := range r.pairs {
		rows[ij[side]] = true
	}
	return len(rows)
}

// confidence is that of all that is said: the levels of both tables and of the tests add up.
func (r *comparison) confidence() string {
	sure := 1.0
	var of []string
	add := func(confidence float64, what string) {
		sure -= 1 - confidence
		of = append(of, fmt.Sprintf("%.4g of %s", confidence, what))
	}
	switch a, b := r.a.table.Confidence, r.b.table.Confidence; {
	case r.a == r.b && a > 0:
		add(a, "the brackets")
	case a > 0 && b > 0:
		add(a, "the brackets of A")
		add(b, "those of B")
	}
	tests := 0
	for _, c := range r.contests {
		tests += len(c.tests)
	}
	if tests > 0 {
		add(1-r.level, fmt.Sprintf("the tests (%d)", tests))
	}
	if len(of) == 0 {
		return "no tests, no brackets"
	}
	return fmt.Sprintf("confidence %.4g for all of them together: %s", max(0, sure), strings.Join(of, ", "))
}

// field is a column of a comparison and its value for pair k.
type field struct {
	schemas.Column
	value func(k int) any
}

func text(name string, value func(k int) any) field {
	return field{schemas.Column{Name: name, Type: schemas.TextColumn, Label: true}, value}
}

func integer(name string, value func(k int) any) field {
	return field{schemas.Column{Name: name, Type: schemas.IntColumn}, value}
}

func float(name string, value func(k int) any) field {
	return field{schemas.Column{Name: name, Type: schemas.FloatColumn}, value}
}

// of is a column of the one table or the other, under a name of its own. A parameter's may be in one of them only.
func (r *comparison) of(side int, column, name string) field {
	t := []*compared{r.a, r.b}[side]
	typ := schemas.TextColumn
	if i, ok := t.at[column]; ok {
		typ = t.table.Columns[i].Type
	}
	return field{schemas.Column{Name: name, Type: typ}, func(k int) any { return t.value(r.pairs[k][side], column) }}
}

// both is a column of both tables.
func (r *comparison) both(column string) []field {
	return []field{r.of(0, column, column+"_a"), r.of(1, column, column+"_b")}
}

// about says which cells a pair is of.
func (r *comparison) about() (fields []field) {
	if len(r.by) == 0 {
		fields = append(fields, r.of(0, "cell", "cell"))
	} else {
		fields = append(fields, r.both("cell")...)
	}
	for _, x := range r.by {
		fields = append(fields, r.both(x.column)...)
	}
	for _, name := range r.keys {
		fields = append(fields, r.of(0, name, name))
	}
	return fields
}

func (r *comparison) verdict() []field {
	return []field{
		text("verdict", func(k int) any { return r.judgements[k].Verdict }),
		text("differs_in", func(k int) any { return orNil(strings.Join(r.judgements[k].By, ", ")) }),
	}
}

// sheet has all pairs and everything that is known of them.
func (r *comparison) sheet() *sheet.Sheet {
	fields := append(r.verdict(), r.about()...)
	measured := []string{"status", "reason", "n_low", "n_high"}
	if r.a.online {
		measured = []string{"regret_mean", "regret_low", "regret_high"}
	}
	for _, c := range measured {
		fields = append(fields, r.both(c)...)
	}
	counted := func(name string, value func(c *contest) (n int, known bool)) {
		fields = append(fields, integer(name, func(k int) any {
			if n, ok := value(r.contests[k]); ok {
				return int64(n)
			}
			return nil
		}))
	}
	fields = append(fields, text("compared", func(k int) any { return r.contests[k].String() }))
	counted("trials_a", func(c *contest) (int, bool) { return c.trialsA, true })
	counted("trials_b", func(c *contest) (int, bool) { return c.trialsB, true })
	if r.a.online {
		fields = append(fields, float("difference", func(k int) any { return mean(r.contests[k].regret) }))
	} else {
		counted("successes_a", func(c *contest) (int, bool) { return c.successesA, true })
		counted("successes_b", func(c *contest) (int, bool) { return c.successesB, true })
		counted("only_a", func(c *contest) (int, bool) { return c.onlyA, c.paired() })
		counted("only_b", func(c *contest) (int, bool) { return c.onlyB, c.paired() })
		counted("less_error_a", func(c *contest) (int, bool) { return c.lessA, c.same })
		counted("less_error_b", func(c *contest) (int, bool) { return c.lessB, c.same })
	}
	for _, of := range []string{"successes", "errors", "regret"} {
		if of == "regret" == r.a.online {
			fields = append(fields, float("p_"+of, func(k int) any { return r.pValue(k, of) }))
		}
	}
	fields = append(fields, float("p_adjusted", func(k int) any { return smallest(r.judgements[k].Adjusted) }))
	return r.make(fields, func(int) bool { return true })
}

// pValue is that of one test of a pair; nil where it was not made.
func (r *comparison) pValue(k int, of string) any {
	for _, t := range r.contests[k].tests {
		if t.Of == of {
			return t.P
		}
	}
	return nil
}

// brief has the pairs that are not the same, and what a person asks about them.
func (r *comparison) brief() *sheet.Sheet {
	fields := append(r.verdict(), r.about()...)
	for side, t := range []*compared{r.a, r.b} {
		fields = append(fields, text([]string{"a", "b"}[side], func(k int) any { return t.measured(r.pairs[k][side]) }))
	}
	if !r.a.online {
		fields = append(fields, text("successes", func(k int) any {
			c := r.contests[k]
			return fmt.Sprintf("%d : %d", c.successesA, c.successesB)
		}), text("less_error", func(k int) any {
			c := r.contests[k]
			if !c.same {
				return nil
			}
			return fmt.Sprintf("%d : %d", c.lessA, c.lessB)
		}))
	}
	fields = append(fields, float("p", func(k int) any { return smallest(r.judgements[k].Adjusted) }),
		text("compared", func(k int) any { return r.contests[k].String() }))
	return r.make(fields, func(k int) bool { return r.judgements[k].Verdict != estimate.Same })
}

// measured is what a table says of a row: its bracket, or its regret.
func (r *compared) measured(row int) string {
	if r.online {
		short := func(column string) string {
			if v, ok := r.value(row, column).(float64); ok {
				return fmt.Sprintf("%.4g", v)
			}
			return "-"
		}
		return fmt.Sprintf("%s [%s, %s]", short("regret_mean"), short("regret_low"), short("regret_high"))
	}
	low, high := "0", "inf"
	if n := r.number(row, "n_low"); n > 0 {
		low = fmt.Sprint(n)
	}
	if n := r.number(row, "n_high"); n > 0 {
		high = fmt.Sprint(n) + "]"
	} else {
		high += ")"
	}
	return fmt.Sprintf("%s (%s, %s", r.text(row, "status"), low, high)
}

// make makes a sheet of the pairs that are wanted.
func (r *comparison) make(fields []field, wanted func(k int) bool) *sheet.Sheet {
	s := &sheet.Sheet{Name: "comparison"}
	for _, f := range fields {
		s.Columns = append(s.Columns, f.Column)
	}
	for k := range r.pairs {
		if !wanted(k) {
			continue
		}
		row := make([]any, len(fields))
		for i, f := range fields {
			row[i] = f.value(k)
		}
		s.Rows = append(s.Rows, row)
	}
	return s
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func mean(v []float64) any {
	if len(v) == 0 {
		return nil
	}
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}
