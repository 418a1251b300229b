package population

import (
	"fmt"
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
	negative := t.labels[0]
	if negative == d.Positive {
		negative = t.labels[1]
	}
	add("label %q: %q is +1, %q is -1", d.Label, d.Positive, negative)
	add("%s", t.used())
	if left := t.leftOut(); left != "" {
		add("left out: %s", left)
		warn("%s left out: %s. To choose columns, list them in problem.data.features (numbers) or "+
			"problem.data.categorical (text)", wording.Count(len(t.left), "column"), left)
	} else if n := len(t.roles) - len(d.Features) - len(d.Categorical) - 1; n > 0 {
		add("left out: %s that problem.data.features does not list", wording.Count(n, "column"))
	}
	for k := range d.Features {
		t.suspect(k, warn)
	}
	for k, values := range t.values {
		if n := len(values); n > 100 && n > t.rows/10 {
			warn("column %q has %d values in %d rows, and each becomes a coordinate; leave it out of "+
				"problem.data.categorical if it names the rows", d.Categorical[k], n, t.rows)
		}
	}
	return r
}

// used lists the columns that are used.
func (t *table) used() string {
	var parts []string
	if n := len(t.spec.Features); n > 0 {
		parts = append(parts, fmt.Sprintf("%s: %s", wording.Count(n, "feature"), quoted(t.spec.Features)))
	}
	for k, name := range t.spec.Categorical {
		parts = append(parts, fmt.Sprintf("%q as %s", name, wording.Count(len(t.values[k]), "0/1 column")))
	}
	if t.spec.Bias {
		parts = append(parts, "a constant (bias)")
	}
	return strings.Join(parts, "; ")
}

// leftOut lists the columns that are left out by default, with the reasons.
func (t *table) leftOut() string {
	const most = 12
	var parts []string
	for i, c := range t.left {
		if i == most {
			parts = append(parts, fmt.Sprintf("%d more", len(t.left)-most))
			break
		}
		parts = append(parts, fmt.Sprintf("%q (%s)", c.name, c.why))
	}
	return strings.Join(parts, ", ")
}

// suspect warns about a feature that looks like a number of the row, or has a value that looks like a code for missing
// cells: the least or largest one, written with nines only, and far from all others.
func (t *table) suspect(k int, warn func(format string, a ...any)) {
	features, name := len(t.spec.Features), t.spec.Features[k]
	ascending, low, high := t.rows >= 10, math.Inf(1), math.Inf(-1)
	codes := map[float64]int{}
	for i := range t.rows {
		v := t.numbers[i*features+k]
		if code := math.Abs(v); slices.Contains(codesForMissing, code) {
			codes[v]++
		} else {
			low, high = min(low, v), max(high, v)
		}
		ascending = ascending && v == math.Trunc(v) && (i == 0 || v > t.numbers[(i-1)*features+k])
	}
	if ascending && !t.single {
		warn("column %q counts the rows: its values are whole, ascending and all different. If it is an identifier, "+
			"list the other columns in problem.data.features", name)
	}
	for _, code := range codesForMissing {
		for _, v := range []float64{-code, code} {
			n := codes[v]
			far := max(low-v, v-high) > high-low || v < 0 && low >= 0
			if n > 0 && low <= high && far {
				warn("column %q is %v in %s and otherwise from %.4g to %.4g. If that stands for a missing value, empty "+
					"these cells and set problem.data.missing", name, v, wording.Count(n, "row"), low, high)
			}
		}
	}
}

// codesForMissing are the absolute values that files use for missing numbers.
var codesForMissing = []float64{99, 999, 9999, 99999, 999999}
