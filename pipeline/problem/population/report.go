package population

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/wording"
)

// A Report describes in words what was read from a file.
type Report struct {
	Lines    []string // rows, label, features, columns that are left out
	Warnings []string
}

// report describes the table, of whose rows or cells a share was missing.
func (t *table) report(missing float64) *Report {
	d, r := t.spec, &Report{}
	add := func(format string, a ...any) { r.Lines = append(r.Lines, fmt.Sprintf(format, a...)) }
	warn := func(format string, a ...any) {
		r.Warnings = append(r.Warnings, d.File+": "+fmt.Sprintf(format, a...))
	}
	rows := filepath.Base(d.File) + ": " + wording.Count(t.rows, "row")
	switch {
	case missing > 0 && d.Missing == missingDrop:
		rows += fmt.Sprintf(", after %s of the rows were dropped, which have missing cells", wording.Percent(missing))
	case missing > 0:
		rows += fmt.Sprintf("; %s of the cells are missing and filled with the mean of their column",
			wording.Percent(missing))
	}
	add("%s", rows)
	negative := t.label.values[0]
	if negative == d.Positive {
		negative = t.label.values[1]
	}
	add("label %q: %q is +1, %q is -1", d.Label, d.Positive, negative)
	add("%s", t.chosen())
	if len(d.Scale.Ranges) > 0 {
		add("scaled: each feature from its range to [-1, 1], then each row divided by sqrt(%d)", t.divided())
	}
	if left, n := t.leftOut(); left != "" {
		add("left out: %s", left)
		warn("%s left out: %s. To choose columns, list them in problem.data.features (numbers) or "+
			"problem.data.categorical (text)", wording.Count(n, "column"), left)
	} else if n := len(t.columns) - len(t.used()); n > 0 {
		add("left out: %s that problem.data.features does not list", wording.Count(n, "column"))
	}
	for _, c := range t.features {
		t.suspect(c, warn)
	}
	for _, c := range t.categories {
		if n := len(categoriesOf(c)); n > 100 && n > t.rows/10 {
			warn("column %q has %d values in %d rows, and each becomes a coordinate; leave it out of "+
				"problem.data.categorical if it names the rows", c.name, n, t.rows)
		}
	}
	return r
}

// chosen lists the columns that the rows are made of.
func (t *table) chosen() string {
	var parts []string
	if n := len(t.features); n > 0 {
		parts = append(parts, fmt.Sprintf("%s: %s", wording.Count(n, "feature"), quoted(t.spec.Features)))
	}
	for _, c := range t.categories {
		parts = append(parts, fmt.Sprintf("%q as %s", c.name, wording.Count(len(categoriesOf(c)), "0/1 column")))
	}
	if t.spec.Bias {
		parts = append(parts, "a constant (bias)")
	}
	return strings.Join(parts, "; ")
}

// leftOut lists the columns that are left out by default, with the reasons, and counts them. Lines
// that end with a delimiter make a column without name and cells, which does not count.
func (t *table) leftOut() (list string, count int) {
	var parts []string
	for _, c := range t.columns {
		if t.chooses && c.use == unused && (c.name != "" || c.gaps < t.rows) {
			parts = append(parts, fmt.Sprintf("%q (%s)", c.name, c.why))
		}
	}
	return wording.Few(parts, 12), len(parts)
}

// suspect warns about a feature that looks like a number of the row, or has a value that looks like
// a code for missing cells: the least or largest one, written with nines only, and far from all
// others.
func (t *table) suspect(c *column, warn func(format string, a ...any)) {
	ascending, low, high := t.rows >= 10, math.Inf(1), math.Inf(-1)
	codes := map[float64]int{}
	for i, v := range c.numbers {
		if code := math.Abs(v); slices.Contains(codesForMissing, code) {
			codes[v]++
		} else {
			low, high = min(low, v), max(high, v)
		}
		ascending = ascending && v == math.Trunc(v) && (i == 0 || v > c.numbers[i-1])
	}
	if ascending && !t.single {
		warn("column %q counts the rows: its values are whole, ascending and all different. If it is an identifier, "+
			"list the other columns in problem.data.features", c.name)
	}
	for _, v := range slices.Sorted(maps.Keys(codes)) {
		if low <= high && (max(low-v, v-high) > high-low || v < 0 && low >= 0) {
			warn("column %q is %v in %s and otherwise from %.4g to %.4g. If that stands for a missing value, empty "+
				"these cells and set problem.data.missing", c.name, v, wording.Count(codes[v], "row"), low, high)
		}
	}
}

// codesForMissing are the absolute values that files use for missing numbers.
var codesForMissing = []float64{99, 999, 9999, 99999, 999999}
