package render

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas"
)

// drawnSheet returns a sheet with some of the columns of results.
func drawnSheet(t *rapid.T) *sheet.Sheet {
	texts := rapid.SampledFrom([]any{
		nil, "a", "halfspace", "boosting/centering & more", "approximate", "unproved", "proved", "decided",
		"above_range", "a reason {of} 100 % _ that goes on and on over more than one line of a narrow terminal", "Größe ε",
		strings.Repeat("long", 30),
	})
	values := map[schemas.ColumnType]func() any{
		schemas.TextColumn: func() any { return texts.Draw(t, "text") },
		schemas.IntColumn:  func() any { return rapid.SampledFrom([]any{nil, int64(0), int64(1 << 60)}).Draw(t, "int") },
		schemas.FloatColumn: func() any {
			return rapid.SampledFrom([]any{nil, 0.5, -1.25, 1e-9, 123456.7, 2e300, 0.0123}).Draw(t, "float")
		},
		schemas.BoolColumn: func() any { return rapid.Bool().Draw(t, "bool") },
	}
	columns := []schemas.Column{
		{Name: "cell", Type: schemas.TextColumn}, {Name: "algorithm", Type: schemas.TextColumn},
		{Name: "class", Type: schemas.TextColumn}, {Name: "distribution", Type: schemas.TextColumn},
		{Name: "target", Type: schemas.TextColumn}, {Name: "data", Type: schemas.TextColumn},
		{Name: "d", Type: schemas.IntColumn}, {Name: "epsilon", Type: schemas.FloatColumn},
		{Name: "privacy", Type: schemas.TextColumn}, {Name: "privacy_standing", Type: schemas.TextColumn},
		{Name: "p_kappa", Type: schemas.FloatColumn}, {Name: "p_preset_0", Type: schemas.TextColumn},
		{Name: "n_low", Type: schemas.IntColumn}, {Name: "n_high", Type: schemas.IntColumn},
		{Name: "n_star", Type: schemas.IntColumn}, {Name: "status", Type: schemas.TextColumn},
		{Name: "reason", Type: schemas.TextColumn}, {Name: "theory_n", Type: schemas.FloatColumn},
		{Name: "theory_source", Type: schemas.TextColumn}, {Name: "ratio_low", Type: schemas.FloatColumn},
		{Name: "ratio_high", Type: schemas.FloatColumn}, {Name: "contradicts", Type: schemas.TextColumn},
		{Name: "m_loss", Type: schemas.FloatColumn}, {Name: "predictable", Type: schemas.BoolColumn},
	}
	columns = slices.DeleteFunc(columns, func(c schemas.Column) bool { return rapid.IntRange(0, 3).Draw(t, c.Name) == 0 })
	var rows [][]any
	for range rapid.IntRange(0, 5).Draw(t, "rows") {
		var row []any
		for _, c := range columns {
			row = append(row, values[c.Type]())
		}
		rows = append(rows, row)
	}
	s := sheet.Of("table", columns, rows...)
	s.Confidence, s.Title, s.Notes = 0.95, "sweep x", []string{"no rechecks: none"}
	return s
}

// drawnColumns returns names of columns to show, or none.
func drawnColumns(t *rapid.T, s *sheet.Sheet) (names []string) {
	if len(s.Columns) == 0 || rapid.Bool().Draw(t, "the format chooses") {
		return nil
	}
	for _, c := range rapid.SliceOfN(rapid.SampledFrom(s.Columns), 1, 6).Draw(t, "columns") {
		names = append(names, c.Name)
	}
	return names
}

// No line of a table is longer than the view's width, and every unproved privacy is marked.
func TestNoLineIsTooLong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawnSheet(t)
		v := View{Columns: drawnColumns(t, s), Width: rapid.IntRange(20, 200).Draw(t, "width")}
		var b strings.Builder
		if err := v.Render(s, &b, "table"); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > v.Width {
				t.Fatalf("%d characters of %d: %s\n%s", n, v.Width, line, b.String())
			}
		}
		flat := strings.Join(strings.Fields(b.String()), " ")
		if len(v.Columns) == 0 && hasUnproved(s) && s.Index("privacy") >= 0 &&
			!strings.Contains(flat, "(unproved)") &&
			slices.Contains(s.Distinct(s.Index("privacy_standing")), any("unproved")) {
			t.Fatalf("silent:\n%s", b.String())
		}
	})
}

var (
	escaped = regexp.MustCompile(`\\[\\&%$#_{}]`)
	spans   = regexp.MustCompile(`\\multicolumn\{2\}`)
)

// A tabular's braces and dollars are balanced, and all its rows have as many cells as it has
// columns.
func TestTexIsWellFormed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawnSheet(t)
		var b strings.Builder
		if err := (View{Columns: drawnColumns(t, s)}).Render(s, &b, "tex"); err != nil {
			t.Fatal(err)
		}
		columns := 0
		for line := range strings.Lines(b.String()) {
			if strings.HasPrefix(line, "%") {
				continue
			}
			if align, ok := strings.CutPrefix(line, `\begin{tabular}`); ok {
				columns = strings.Count(align, "l") + strings.Count(align, "r")
			}
			cells := 1 + strings.Count(escaped.ReplaceAllString(line, ""), "&") + len(spans.FindAllString(line, -1))
			bare := escaped.ReplaceAllString(line, "")
			if strings.Count(bare, "{") != strings.Count(bare, "}") || strings.Count(bare, "$")%2 != 0 {
				t.Fatalf("not balanced: %s", line)
			}
			if strings.HasSuffix(line, "\\\\\n") && cells != columns {
				t.Fatalf("%d cells in %d columns: %s\n%s", cells, columns, line, b.String())
			}
		}
	})
}

func TestHeading(t *testing.T) {
	for column, want := range map[string]string{
		"algorithm": "Algorithm", "epsilon": `$\varepsilon$`, "alpha": `$\alpha$`, "n_star": `$n^\star$`, "d": "$d$",
		"p_kappa": `$\kappa$`, "p_eta_min": `$\eta_{\mathrm{min}}$`, "p_c": "$c$", "m_training_error": "Training error",
		"p_a&b": `A\&b`, "count(*)": "Count({*})", "": "",
	} {
		if got := heading(column); got != want {
			t.Errorf("%s: %s, want %s", column, got, want)
		}
	}
}

// twoProblems returns a table that is too wide for 80 characters.
func twoProblems() *sheet.Sheet {
	text := func(name string) schemas.Column { return schemas.Column{Name: name, Type: schemas.TextColumn} }
	number := func(name string) schemas.Column { return schemas.Column{Name: name, Type: schemas.FloatColumn} }
	count := func(name string) schemas.Column { return schemas.Column{Name: name, Type: schemas.IntColumn} }
	columns := []schemas.Column{
		text("cell"), text("algorithm"), text("class"), count("d"), count("domain"), text("distribution"), text("data"),
		number("epsilon"), text("privacy"), number("p_scale"), number("p_kappa"), number("n_low"), number("n_high"),
		number("n_star"), text("status"), number("theory_n"), text("theory_source"), number("ratio_low"),
		number("ratio_high"), number("trials"), text("privacy_source"),
	}
	var rows [][]any
	for i, epsilon := range []float64{0.5, 1} {
		for j, algorithm := range []string{"expmech/em", "perturbed/gaussian"} {
			source := []any{"sharp: of em alone", nil}[j]
			theory := []any{425.0 / epsilon, nil}[j]
			rows = append(rows,
				[]any{fmt.Sprintf("a00000000%d", 2*i+j), algorithm, "thresholds", nil, int64(1 << 32), "needle", nil,
					epsilon, "pure", 1 / epsilon, nil, 100 / epsilon, 150 / epsilon, 150 / epsilon, "decided", theory, source,
					0.7, 1.07, 713.0, "distribution 1"})
		}
		for _, kappa := range []float64{0.1, 0.3} {
			rows = append(rows,
				[]any{fmt.Sprintf("b0000000%d%.0f", i, 10*kappa), "boosting/hs-stl", "halfspace", int64(10), nil, nil,
					"breast_cancer.csv", epsilon, "approximate", nil, kappa, 512.0, nil, nil, "above_range", nil, nil, nil, nil,
					20000.0, "distribution 2"})
		}
	}
	s := sheet.Of("table", columns, rows...)
	s.Confidence, s.Title = 0.95, "sweep two, result digest 0123"
	return s
}

// A table shows the columns that distinguish its rows, and the sources of the values that it shows.
func TestView(t *testing.T) {
	for _, c := range []struct {
		name   string
		view   View
		where  string
		sort   []string
		format string
	}{
		{"narrow", View{Width: 80}, "class=thresholds,halfspace", nil, "table"},
		{"where", View{Width: 100}, "algorithm=boosting/hs-stl", []string{"-kappa", "epsilon"}, "table"},
		{"columns", View{Columns: []string{"n_high", "algorithm", "scale", "theory_source"}}, "epsilon=1", nil, "table"},
		{"cell", View{Columns: []string{"cell", "n_low", "n_high"}}, "epsilon=1", []string{"n_high"}, "tex"},
		{"short", View{}, "class=thresholds,halfspace", nil, "tex"},
		{"short", View{}, "class=thresholds,halfspace", nil, "md"},
	} {
		conditions, err := sheet.ParseConditions([]string{c.where})
		if err != nil {
			t.Fatal(err)
		}
		s, err := twoProblems().Where(conditions...)
		if err != nil {
			t.Fatal(err)
		}
		if s, err = s.Sort(c.sort...); err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := c.view.Render(s, &b, c.format); err != nil {
			t.Fatal(err)
		}
		testkit.Golden(t, c.name+"."+c.format, []byte(b.String()))
	}
	if err := (View{Columns: []string{"n_hihg"}}).Render(twoProblems(), &strings.Builder{}, "md"); err == nil ||
		err.Error() != "n_hihg: table has no such column, did you mean n_high?" {
		t.Error(err)
	}
}

// A tabular of fits has the digits of their standard errors, and its notes have mathematics and verdicts.
func TestFitsInTex(t *testing.T) {
	var columns []schemas.Column
	for _, name := range []string{"fit", "algorithm", "model", "term", "cells", "y", "estimate", "estimate_se",
		"estimate_low", "estimate_high", "theory_estimate", "claimed", "verdict", "goodness"} {
		c := schemas.Column{Name: name, Type: schemas.FloatColumn}
		switch name {
		case "algorithm", "model", "term", "y", "verdict":
			c.Type = schemas.TextColumn
		}
		columns = append(columns, c)
	}
	none := "none: the model does not fit"
	s := sheet.Of("fits", columns,
		[]any{0., "erm", "power", "1/epsilon", 4., "n_model", 0.950012, 0.00632, 0.93761, 0.96239, 1., 1.,
			"rejected at 95 %", 0.4},
		[]any{1., "erm", "sum", "1/epsilon", 4., "n_model", -2.8123, 0.341, -3.5, -2.1, nil, 1., none, 0.00017},
		[]any{1., "erm", "sum", "ln domain", 4., "n_model", -1.4212, 1.2, -4.5, 1.2, nil, nil, nil, 0.00017},
		[]any{1., "erm", "sum", "1", 4., "n_model", 12.0, 34.0, -80., 104., nil, -1e-5, none, 0.00017})
	for _, format := range []string{"tex", "table"} {
		var b strings.Builder
		if err := (View{Notes: true}).Render(s, &b, format); err != nil {
			t.Fatal(err)
		}
		testkit.Golden(t, "fits."+format, []byte(b.String()))
	}
}

// Findings distinguish a bracket from the span of several, and name the algorithms above the range.
func TestFindings(t *testing.T) {
	var columns []schemas.Column
	for _, name := range []string{"class", "distribution", "file", "data", "algorithm", "status"} {
		columns = append(columns, schemas.Column{Name: name, Type: schemas.TextColumn})
	}
	for _, name := range []string{"n_low", "n_high", "theory_n", "epsilon"} {
		columns = append(columns, schemas.Column{Name: name, Type: schemas.FloatColumn})
	}
	row := func(class, algorithm, status string, values ...any) []any {
		return append([]any{class, nil, nil, nil, algorithm, status}, values...)
	}
	s := sheet.Of("table", columns,
		row("parities", "em", "decided", 10., 20., 15., nil), row("parities", "em", "decided", 30., 50., 40., nil),
		row("parities", "em", "above_range", 100., nil, nil, nil), row("points", "em", "decided", 7., 9., nil, nil),
		row("points", "mean", "above_range", 100., nil, nil, 1.), row("points", "boost", "above_range", 80., nil, nil, 1.),
		row("halfspace", "mean", "above_range", 100., nil, nil, 1.))
	got := strings.Join(Findings(s), "\n")
	if want := "parities: em has 2 cells, whose brackets span 11 to 50 examples (bounds 15 to 40); " +
		"em needs more than 100 in 1 other cell\n" +
		"points: em needs 8 to 9 examples; mean at epsilon 1, boost at epsilon 1 need more than 80"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
