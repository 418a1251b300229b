package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/trial"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// compared is one of the two results of a comparison.
type compared struct {
	dir    string
	table  *sheet.Sheet
	at     map[string]int // columns by name
	online bool           // its rows are games: a cell at a number of rounds
	trials map[string]map[int64]*result.Outcomes
}

// readCompared reads the table of a result and looks whether it has the columns that a comparison needs.
func readCompared(dir string) (*compared, error) {
	table, err := sheet.ReadTable(dir, "table")
	if err != nil {
		return nil, explainRead(dir, err)
	}
	r := &compared{dir: dir, table: table, at: map[string]int{}}
	for i, c := range table.Columns {
		r.at[c.Name] = i
	}
	_, r.online = r.at["regret_mean"]
	need := result.Columns("table")
	if r.online {
		need = result.Columns("games")
	}
	for _, c := range need {
		if i, ok := r.at[c.Name]; !ok || table.Columns[i].Type != c.Type {
			return nil, usageError{fmt.Errorf("the table in %q has no column %s of type %s: another version of shatter wrote it; running the sweep again writes it anew",
				dir, c.Name, c.Type)}
		}
	}
	return r, nil
}

// readTrials reads the outcomes that tests are made of.
func (r *compared) readTrials() (err error) {
	metric := ""
	if r.online {
		metric = schemas.Regret
	}
	if r.trials, err = result.ReadTrials(r.dir, metric); err != nil {
		return explainRead(r.dir, err)
	}
	return nil
}

// value is what stands in a row; nil where the table has no such column.
func (r *compared) value(row int, column string) any {
	if i, ok := r.at[column]; ok {
		return r.table.Rows[row][i]
	}
	return nil
}

// text is a value for comparing and naming; "none" where there is none.
func (r *compared) text(row int, column string) string {
	if v := r.value(row, column); v != nil {
		return fmt.Sprint(v)
	}
	return "none"
}

func (r *compared) number(row int, column string) int64 {
	n, _ := r.value(row, column).(int64) // the types were looked at; null is 0
	return n
}

func (r *compared) label(row int, column string) string {
	s, _ := r.value(row, column).(string)
	return s
}

// byColumn is a column in which the cells of a pair may differ, and perhaps the values that the one and the other have.
type byColumn struct {
	column string
	a, b   string // both empty: any
}

// parseBy reads COLUMN or COLUMN=X,Y.
func parseBy(flags []string) ([]byColumn, error) {
	var all []byColumn
	for _, f := range flags {
		column, values, given := strings.Cut(f, "=")
		x := byColumn{column: column}
		if given {
			var two bool
			if x.a, x.b, two = strings.Cut(values, ","); !two || x.a == "" || x.b == "" {
				return nil, usageError{fmt.Errorf("--by %s: COLUMN or COLUMN=X,Y is needed, where X is the value on the one side and Y that on the other", f)}
			}
		}
		all = append(all, x)
	}
	return all, nil
}

// equal reports whether a value is the one that was given; numbers may be written in any way.
func equal(value, given string) bool {
	x, err := strconv.ParseFloat(value, 64)
	y, fail := strconv.ParseFloat(given, 64)
	return value == given || err == nil && fail == nil && x == y
}

// matcher pairs the rows of two results.
type matcher struct {
	a, b *compared // the same for pairs inside one result
	by   []byColumn
	keys []string // columns that have to agree
}

func newMatcher(a, b *compared, by []byColumn) (*matcher, error) {
	m := &matcher{a: a, b: b, by: by}
	if a.online != b.online {
		return nil, usageError{fmt.Errorf("%q and %q cannot be compared: the one is of task online, the other is not", a.dir, b.dir)}
	}
	columns := m.columns()
	for _, x := range by {
		if !slices.Contains(columns, x.column) {
			return nil, usageError{fmt.Errorf("--by %s: no such column%s", x.column, wording.DidYouMean(x.column, columns))}
		}
	}
	for _, c := range columns {
		if !m.free(c) {
			m.keys = append(m.keys, c)
		}
	}
	return m, nil
}

// columns is all that says what a row of the tables is about.
func (m *matcher) columns() (names []string) {
	for _, c := range trial.KeyColumns() {
		if c.Name != "cell" && c.Name != "sample" {
			names = append(names, c.Name)
		}
	}
	for _, r := range []*compared{m.a, m.b} {
		for _, c := range r.table.Columns {
			if strings.HasPrefix(c.Name, schemas.ParamPrefix) && !slices.Contains(names, c.Name) {
				names = append(names, c.Name)
			}
		}
	}
	if m.a.online {
		names = append(names, "rounds")
	}
	return names
}

// free reports whether the rows of a pair may differ in a column. Parameters, and what is proved of its privacy, go with an algorithm.
func (m *matcher) free(column string) bool {
	return slices.ContainsFunc(m.by, func(x byColumn) bool {
		return x.column == column || x.column == "algorithm" && (column == "privacy" || strings.HasPrefix(column, schemas.ParamPrefix))
	})
}

// key is what the rows of a pair have in common: the cell, or without it all columns but those that are free.
func (m *matcher) key(r *compared, row int) string {
	if len(m.by) == 0 {
		return r.text(row, "cell") + " " + r.text(row, "rounds")
	}
	values := make([]string, len(m.keys))
	for i, c := range m.keys {
		values[i] = strconv.Quote(r.text(row, c))
	}
	return strings.Join(values, " ")
}

// wanted reports whether two rows differ as --by says.
func (m *matcher) wanted(i, j int) bool {
	differ := len(m.by) == 0 || m.a != m.b
	for _, x := range m.by {
		v, w := m.a.text(i, x.column), m.b.text(j, x.column)
		if x.a != "" && !(equal(v, x.a) && equal(w, x.b)) {
			return false
		}
		differ = differ || v != w
	}
	return differ
}

// once reports whether each pair of rows of one result is looked at from one side only.
func (m *matcher) once() bool {
	return m.a == m.b && len(m.by) > 0 && !slices.ContainsFunc(m.by, func(x byColumn) bool { return x.a != "" })
}

// pairs is the rows of a with the rows of b that they are compared with, in the order of a.
func (m *matcher) pairs() (pairs [][2]int) {
	rows := map[string][]int{}
	for j := range m.b.table.Rows {
		key := m.key(m.b, j)
		rows[key] = append(rows[key], j)
	}
	for i := range m.a.table.Rows {
		for _, j := range rows[m.key(m.a, i)] {
			if (!m.once() || i < j) && m.wanted(i, j) {
				pairs = append(pairs, [2]int{i, j})
			}
		}
	}
	return pairs
}

// maxNearest is the rows of each side among which explain looks.
const maxNearest = 500

// explain says why there is no pair: in what the two cells differ that are nearest to being one.
func (m *matcher) explain() error {
	var nearest []string
	found := false
	for i := range min(len(m.a.table.Rows), maxNearest) {
		for j := range min(len(m.b.table.Rows), maxNearest) {
			if m.once() && i >= j || !m.wanted(i, j) {
				continue
			}
			if d := m.differences(i, j); !found || len(d) < len(nearest) {
				found, nearest = true, d
			}
		}
	}
	switch {
	case !found && len(m.by) > 0:
		return usageError{errors.New("no cells to compare: no two have the values that --by asks for; shatter table DIR shows those that there are")}
	case !found:
		return usageError{fmt.Errorf("no cells to compare: %q or %q has none", m.a.dir, m.b.dir)}
	case len(nearest) == 0:
		return usageError{errors.New("no cell in common: those that look alike differ in what the tables do not show, such as the content of a data file")}
	}
	return usageError{fmt.Errorf("no cell in common: the two that are nearest differ in %s; --by COLUMN compares cells that differ in a column", strings.Join(nearest, ", "))}
}

func (m *matcher) differences(i, j int) (in []string) {
	for _, c := range m.keys {
		if v, w := m.a.text(i, c), m.b.text(j, c); v != w {
			in = append(in, fmt.Sprintf("%s (%s and %s)", c, v, w))
		}
	}
	return in
}

// contest is what the trials of two cells show against each other.
type contest struct {
	online                 bool
	same                   bool  // the trials of equal n and repetition are on the same data
	played                 bool  // and by the same adversary, if any
	fixed                  bool  // no search chose how many there are
	sizes                  []int // sample sizes of which both have trials
	trialsA, trialsB       int   // at these; where they are paired, up to the last repetition that both have
	successesA, successesB int
	onlyA, onlyB           int // pairs of which only one succeeded
	lessA, lessB           int // pairs of which the one has the smaller error; a trial that failed has the largest
	regret                 []float64
	tests                  []estimate.Test
}

// contest sets the trials of two rows against each other.
func (m *matcher) contest(i, j int) *contest {
	c := &contest{
		online: m.a.online,
		same:   m.a.value(i, "sample") != nil && m.a.value(i, "sample") == m.b.value(j, "sample"),
		played: m.a.value(i, "adversary") == m.b.value(j, "adversary"),
		fixed:  m.a.fixed(i) && m.b.fixed(j),
	}
	a, b := m.a.trials[m.a.label(i, "cell")], m.b.trials[m.b.label(j, "cell")]
	for n := range a {
		if b[n] != nil && (!c.online || n == m.a.number(i, "rounds") && n == m.b.number(j, "rounds")) {
			c.sizes = append(c.sizes, int(n))
		}
	}
	slices.Sort(c.sizes)
	fisher := estimate.Test{Of: "successes", P: 1, Least: 1} // the smallest of all sizes
	for _, n := range c.sizes {
		x, y := a[int64(n)], b[int64(n)]
		switch {
		case c.online:
			c.games(x, y)
		case c.paired():
			c.pair(x, y)
		default:
			c.sample(&fisher, x, y)
		}
	}
	c.test(fisher)
	return c
}

// fixed reports whether no search chose the trials of a row.
func (r *compared) fixed(row int) bool { return r.online || r.value(row, "fixed") == true }

// paired reports whether trials are compared in pairs of equal n and repetition. On other data these are pairs all the same; if the
// numbers of trials are fixed, two samples that need not be of one size are better.
func (c *contest) paired() bool { return c.same || !c.fixed }

// pair counts the pairs at one sample size.
func (c *contest) pair(x, y *result.Outcomes) {
	pairs := min(len(x.Error), len(y.Error))
	c.trialsA, c.trialsB = c.trialsA+pairs, c.trialsB+pairs
	for k := range pairs {
		s, t := x.Success[k], y.Success[k]
		c.successesA, c.successesB = c.successesA+oneIf(s), c.successesB+oneIf(t)
		c.onlyA, c.onlyB = c.onlyA+oneIf(s && !t), c.onlyB+oneIf(t && !s)
		e, f := orInf(x.Error[k]), orInf(y.Error[k])
		c.lessA, c.lessB = c.lessA+oneIf(e < f), c.lessB+oneIf(f < e)
	}
}

// sample counts two samples at one sample size, and tests them.
func (c *contest) sample(t *estimate.Test, x, y *result.Outcomes) {
	k, l := 0, 0
	for _, s := range x.Success {
		k += oneIf(s)
	}
	for _, s := range y.Success {
		l += oneIf(s)
	}
	c.trialsA, c.trialsB = c.trialsA+len(x.Success), c.trialsB+len(y.Success)
	c.successesA, c.successesB = c.successesA+k, c.successesB+l
	t.P = min(t.P, estimate.Fisher(k, len(x.Success), l, len(y.Success)))
	t.Least = min(t.Least, estimate.Fisher(len(x.Success), len(x.Success), 0, len(y.Success)))
}

// games takes the differences of regret over, of the sequences that both sides played to their end.
func (c *contest) games(x, y *result.Outcomes) {
	for k := range min(len(x.Metric), len(y.Metric)) {
		if d := x.Metric[k] - y.Metric[k]; !math.IsNaN(d) && !math.IsInf(d, 0) {
			c.regret = append(c.regret, d)
		}
	}
	c.trialsA, c.trialsB = len(c.regret), len(c.regret)
}

// test makes the tests. fisher has the smallest p-values of Fisher's, one for each sample size.
func (c *contest) test(fisher estimate.Test) {
	sign := estimate.SequentialSignTest
	if c.fixed {
		sign = estimate.SignTest
	}
	pairs := min(c.trialsA, c.trialsB)
	switch {
	case pairs == 0:
	case c.online:
		c.tests = []estimate.Test{{Of: "regret", P: estimate.PairedTest(c.regret), Least: estimate.SignTest(pairs, 0)}}
	case !c.paired():
		sizes := float64(len(c.sizes))
		c.tests = []estimate.Test{{Of: fisher.Of, P: min(1, fisher.P*sizes), Least: min(1, fisher.Least*sizes)}}
	default:
		c.tests = []estimate.Test{{Of: "successes", P: sign(c.onlyA, c.onlyB), Least: sign(pairs, 0)}}
		if c.same {
			c.tests = append(c.tests, estimate.Test{Of: "errors", P: sign(c.lessA, c.lessB), Least: sign(pairs, 0)})
		}
	}
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

func orInf(e float64) float64 {
	if math.IsNaN(e) {
		return math.Inf(1)
	}
	return e
}

// String says which trials were compared, and how.
func (c *contest) String() string {
	if len(c.sizes) == 0 {
		return "no trials at one n"
	}
	how, each, data := "unpaired", " each", "other data"
	if c.same {
		how, each, data = "paired", "", "same data"
	}
	if c.same && !c.played {
		data += ", other adversary"
	}
	trials := strconv.Itoa(c.trialsA)
	if c.trialsA != c.trialsB {
		trials, each = trials+" and "+strconv.Itoa(c.trialsB), ""
	}
	where := "n = " + few(c.sizes)
	if c.online {
		where = few(c.sizes) + " rounds"
	}
	return fmt.Sprintf("%s over %s trials%s at %s: %s", how, trials, each, where, data)
}

// few names a few numbers, and how many more there are.
func few(numbers []int) string {
	const most = 4
	var names []string
	for _, n := range numbers[:min(most, len(numbers))] {
		names = append(names, strconv.Itoa(n))
	}
	if more := len(numbers) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// side is the bracket of a row.
func (r *compared) side(row int) estimate.Side {
	return estimate.Side{
		Status: r.label(row, "status"), Low: r.number(row, "n_low"), High: r.number(row, "n_high"), Fixed: r.fixed(row),
	}
}

// smallest is the smallest of adjusted p-values; nil where there is none.
func smallest(adjusted []float64) any {
	if len(adjusted) == 0 {
		return nil
	}
	return slices.MinFunc(adjusted, cmp.Compare)
}
