package report

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/result/render"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/schemas"
)

// figuresOf returns the figures of the page without metrics.
func figuresOf(t testing.TB, s *Sweep) []Figure {
	t.Helper()
	all, _, err := s.Choose(Choice{})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func named(t *testing.T, s *Sweep, name string) Figure {
	t.Helper()
	var names []string
	for _, f := range figuresOf(t, s) {
		if f.Name == name {
			return f
		}
		names = append(names, f.Name)
	}
	t.Fatalf("no figure %s in %v", name, names)
	return Figure{}
}

func lineNames(f Figure) (names []string) {
	for _, l := range f.Lines {
		names = append(names, l.Name)
	}
	return names
}

// There is one figure per parameter that varies, and none for a parameter that follows from it
// (p_rounds is the square of d). An algorithm without the parameter is a level line.
func TestFigureOfEachParameter(t *testing.T) {
	var names []string
	for _, f := range figuresOf(t, learned(t, 40)) {
		names = append(names, f.Name)
	}
	if want := []string{"n-parities-d", "n-parities-epsilon", "curve-parities"}; !slices.Equal(names, want) {
		t.Fatalf("figures %v, want %v", names, want)
	}
	f := named(t, learned(t, 40), "n-parities-epsilon")
	for _, l := range f.Lines {
		if erm := strings.HasPrefix(l.Name, "baseline/erm"); l.Level != erm || len(l.Points) != 2 {
			t.Errorf("%s: level %v, %d points", l.Name, l.Level, len(l.Points))
		}
	}
	p := f.Lines[0].Points[1]
	middle := math.Sqrt(534) * math.Sqrt(801)
	if f.Lines[0].Name != "acme/one" || p != (Point{X: 1, Y: middle, Low: 534, High: 801, Cell: "0000000005"}) {
		t.Errorf("line %s, point %+v", f.Lines[0].Name, p)
	}
}

// Without a parameter that varies along a line, the cells stand next to each other, by algorithm.
func TestFigureByAlgorithm(t *testing.T) {
	f := named(t, where(t, learned(t, 40), "d=4", "epsilon=1"), "n-parities-algorithm")
	if !f.Loose || len(f.X.Ticks) != 2 || len(f.Lines) != 1 || f.Lines[0].Points[1].X != 1 {
		t.Errorf("%+v", f)
	}
}

// A parameter that zip pairs with another adds no lines, and the figure names it.
func TestPairedParameter(t *testing.T) {
	s := learned(t, 10)
	s.table.set("margin", func(row int) any { return 1 / s.table.Number(row, "d") })
	f := named(t, s, "n-parities-d")
	want := []string{"acme/one, epsilon 0.5", "acme/one, epsilon 1", "acme/two, epsilon 0.5", "acme/two, epsilon 1",
		"baseline/erm"}
	if got := lineNames(f); !slices.Equal(got, want) || !slices.Contains(f.Caption, "Along a line also changes: margin.") {
		t.Errorf("lines %q, caption %q", got, f.Caption)
	}
}

// If there are too many settings, the figure shows one of them that has all algorithms.
func TestChosenSetting(t *testing.T) {
	for _, f := range figuresOf(t, learned(t, 2000)) {
		if len(f.Lines) < 10 || len(f.Lines) > maxLines || len(f.Choices) != 1 {
			t.Errorf("%s: lines %q, %q", f.Name, lineNames(f), f.Choices)
		}
	}
}

// On the page the answer is next to its setting, and the cell's name is last.
func TestColumnsOfThePage(t *testing.T) {
	p := pageOf(t, learned(t, 10))
	var names []string
	for _, c := range p.Table.Columns {
		names = append(names, c.Name)
	}
	if got, want := strings.Join(slices.Delete(slices.Clone(names[:8]), 6, 7), " "),
		"algorithm d epsilon n_star n_low n_high status"; got != want || !strings.HasPrefix(names[6], "bar (") ||
		names[len(names)-1] != "cell" {
		t.Errorf("columns %v", names)
	}
	for i, x := range p.Table.Rows {
		row := x.Values
		if row[0].Text != p.table.text(i, "algorithm") || row[7].Text != p.table.text(i, "status") || !row[7].Status ||
			row[6].Bar == "" || x.ID != p.table.text(i, "cell") ||
			row[3].Text != p.table.text(i, "n_star") {
			t.Errorf("row %d: %v", i, row)
		}
	}
	if c := p.Slopes.Columns[0]; c.Name != "group" || c.Doc == "" {
		t.Errorf("slopes begin with %+v", c)
	}
}

// A bound far from the measured values is named and not drawn. A regret that is not above 0 and the
// unknown end of a bracket are drawn at the lower edge.
func TestEdges(t *testing.T) {
	s := learned(t, 10)
	s.table.set("paper_n", func(int) any { return 4e12 })
	f := named(t, s, "n-parities-d")
	if len(f.Lines[0].Bounds[Printed]) > 0 || len(f.Lines[0].Bounds[Proved]) == 0 || !slices.Contains(f.Caption,
		"Not drawn, because it is too far from the measured values: printed bound, up to 4e+12.") {
		t.Errorf("caption %q", f.Caption)
	}
	f = named(t, games(t), "regret-points-rounds")
	if p := f.Lines[0].Points[0]; p.Y != f.Y.Low || !f.Y.Log ||
		!strings.Contains(strings.Join(f.Caption, ""), "lower edge") {
		t.Errorf("%+v on %+v, caption %q", p, f.Y, f.Caption)
	}
	s = games(t)
	s.table.set("theory_regret", func(int) any { return 0.0 })
	f = named(t, s, "regret-points-rounds")
	if bounds := f.Lines[0].Bounds[Proved]; len(bounds) == 0 || bounds[0].Y != f.Y.Low {
		t.Errorf("a bound of 0 is drawn as %+v on %+v", bounds, f.Y)
	}
	f = named(t, undecided(t), "n-halfspace-d")
	points := f.Lines[0].Points
	want := []Point{
		{X: 5, Y: 4096, Low: 4096, High: f.Y.High, Open: "above_range", Cell: "1"},
		{X: 10, Y: points[1].Y, Low: 10, High: 10000, Open: "undecided", Cell: "2"},
		{X: 20, Y: 16, Low: f.Y.Low, High: 16, Open: "below_range", Cell: "3"},
	}
	if !slices.Equal(points, want) || math.Abs(points[1].Y-math.Sqrt(10*10000)) > 1e-9 {
		t.Errorf("points %+v", points)
	}
}

// Ticks are within their axis, ascend, are not crowded, and have distinct labels.
func TestTicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(1e-6, 1e6).Draw(t, "low")
		high := low * rapid.Float64Range(1.01, 1e12).Draw(t, "ratio")
		a := newAxis("x", []float64{low, high}, rapid.Bool().Draw(t, "log"), rapid.Bool().Draw(t, "exact"))
		if len(a.Ticks) < 2 || len(a.Ticks) > 12 {
			t.Fatalf("%d ticks on %+v", len(a.Ticks), a)
		}
		for i, tick := range a.Ticks {
			if tick.Value < a.Low || tick.Value > a.High ||
				i > 0 && (tick.Value <= a.Ticks[i-1].Value || tick.Label == a.Ticks[i-1].Label) {
				t.Fatalf("tick %d of %+v", i, a)
			}
		}
	})
	for v, want := range map[float64]string{0: "0", 0.05: "0.05", 1500: "1500", 8192: "2^13", 65536: "2^16", 20000: "20k",
		3e6: "3M", 1e16: "1e+16"} {
		if got := tickLabel(v); got != want {
			t.Errorf("%v is labeled %s, want %s", v, got, want)
		}
	}
	for want, values := range map[string][]float64{
		"100 1k 10k 1M": {100, 1000, 1e4, 1e6}, "100 1000 5000": {100, 1000, 5000}, "2^8 2^16": {256, 65536},
		"1k 16.38k 20k": {1000, 16384, 20000},
	} {
		if got := strings.Join(tickLabels(values...), " "); got != want {
			t.Errorf("%v are labeled %s, want %s", values, got, want)
		}
	}
}

// A figure has the same bytes each time, even on another day, and SVG is valid XML for any names.
func TestFiguresSameBytes(t *testing.T) {
	for _, s := range []*Sweep{learned(t, 10), games(t), undecided(t), hostile(t), sizes(t)} {
		first, second := figuresOf(t, s), figuresOf(t, s)
		for i := range first {
			for format, write := range map[string]func(*Figure, io.Writer, float64) error{
				"svg": (*Figure).SVG, "pdf": (*Figure).PDF, "png": (*Figure).PNG,
			} {
				if format == "png" && (i > 0 || !s.online()) { // slow
					continue
				}
				var a, b bytes.Buffer
				if err := errors.Join(write(&first[i], &a, 1.5), write(&second[i], &b, 1.5)); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(a.Bytes(), b.Bytes()) || a.Len() < 1000 {
					t.Errorf("%s.%s: %d bytes and %d bytes differ", first[i].Name, format, a.Len(), b.Len())
				}
				switch format {
				case "svg":
					d := xml.NewDecoder(&a)
					for err := error(nil); !errors.Is(err, io.EOF); _, err = d.Token() {
						if err != nil {
							t.Fatalf("%s: %v", first[i].Name, err)
						}
					}
				case "pdf":
					if dates := regexp.MustCompile(`D:\d{14}`).FindAllString(a.String(), -1); !slices.Equal(slices.Compact(dates),
						[]string{"D:20000101000000"}) {
						t.Errorf("%s: dates %v", first[i].Name, dates)
					}
				}
			}
		}
	}
}

// Nothing from the data becomes markup: the attack is in the page many times, but never unescaped.
func TestEscaped(t *testing.T) {
	_, text := written(t, hostile(t))
	if at := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\t' }); at >= 0 {
		t.Errorf("the page holds %.80q", text[max(0, at-40):])
	}
	text, _, _ = strings.Cut(text, "<script>") // the page's own code comes last
	for _, bad := range []string{"<img", "alert(2)</script>"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if n := strings.Count(text, "&lt;img src=x"); n < 50 {
		t.Errorf("the attack is shown %d times", n)
	}
	if n := strings.Count(text, "<title>&lt;img src=x"); n < 2 {
		t.Errorf("the attack is shown in %d tooltips", n)
	}
	if outside := regexp.MustCompile(`(?:src|href)="(?:https?:)?//`).FindAllString(text, -1); outside != nil {
		t.Errorf("the page refers to %q", outside)
	}
}

// The page states what is unknown, and the confidence of everything else.
func TestWords(t *testing.T) {
	s := learned(t, 10)
	s.table.Confidence = 0.99
	_, text := written(t, s)
	for _, want := range []string{"10 of 10 cells are decided", "With confidence 99 % all brackets",
		"between 0.22 and 0.3333 times the bound", "10 rows are consistent with the bounds", "Nothing that this page knows of"} {
		if !strings.Contains(text, want) {
			t.Errorf("learned: %q is missing", want)
		}
	}
	_, text = written(t, undecided(t))
	for _, want := range []string{
		"0 of 5 cells are decided (others: 1 above range, 1 below range, 1 failed, 1 infeasible, 1 undecided).",
		"undecided: trials spent", "Privacy is not proved",
		"No finite bound is known here", "index out of range", "two different outcomes",
		"failed: panic</strong>: 15 trials", "on worker w1", " 4/16/0</pre>",
		"noise of these experiments is seeded",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("undecided: %q is missing", want)
		}
	}
	_, text = written(t, games(t))
	for _, want := range []string{"3 algorithms played 56 sequences in 7 settings",
		"6 rows are consistent with the bounds", "Some trials failed"} {
		if !strings.Contains(text, want) {
			t.Errorf("games: %q is missing", want)
		}
	}
	empty := sweepOf(t, nil, nil, nil)
	if _, text = written(t, empty); !strings.Contains(text, "The sweep has no cells.") ||
		strings.Contains(text, "<h2 id=\"figures-title\"") {
		t.Error("a sweep without cells")
	}
}

// The page describes once for each problem who labels its points.
func TestProblemsOnThePage(t *testing.T) {
	for _, tt := range []struct {
		name  string
		table []row
		want  []string
	}{
		{"distributions", []row{
			{"class": "thresholds", "distribution": "uniform", "target": "random"},
			{"class": "thresholds", "distribution": "needle", "target": "middle"},
			{"class": "thresholds", "distribution": "uniform", "target": "random"},
			{"class": "points", "distribution": "uniform", "target": "5"},
			{"class": "points", "distribution": "uniform", "target": "6"},
		}, []string{
			"thresholds uniform: the target is drawn for each trial (thresholds: t is uniform on 0..X).",
			"thresholds needle: the target is the same in all trials (that of the needle distribution): a " +
				"calibration, which measures no learning.",
			"points uniform: the target is the same in all trials: a calibration, which measures no learning; a hypothesis " +
				"from the sweep file.",
			"Results for drawn targets are averages over targets. Proved bounds cover the worst target; " +
				`"target: each" measures every target of a small class.`,
		}},
		{"data", []row{{"class": "halfspace", "data": "rows.csv", "disguise": true, "positive_share": 0.6,
			"constant_error": 0.4, "pulled_share": 0.03}}, []string{
			"halfspace rows.csv: the labels are from the data file; there is no target, and results hold only for this " +
				"concept and population; each trial multiplies the labels by a random sign; 60 % of the rows are positive, " +
				"so a constant hypothesis has error 40 %; 3 % are scaled back onto the stated scale.",
		}},
		{"online", []row{{"class": "thresholds", "distribution": "uniform", "target": "random", "adversary": "tree sees past",
			"regret_mean": 1.0}}, []string{
			"thresholds uniform: the labels are chosen by the adversary tree: there is no target.",
		}},
	} {
		if diff := cmp.Diff(tt.want, sweepOf(t, tt.table, nil, nil).problems()); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestLoadWithoutResult(t *testing.T) {
	if _, err := Load(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// A page for very many rows shows the first ones and states that it omits others.
func TestCut(t *testing.T) {
	for _, rows := range []int{maxRows, maxRows + 1} {
		var all [][]any
		for i := range rows {
			all = append(all, []any{fmt.Sprint("cell ", i), "decided", int64(i)})
		}
		s := sheet.Of("table", []schemas.Column{{Name: "cell", Type: schemas.TextColumn},
			{Name: "status", Type: schemas.TextColumn}, {Name: "n_star", Type: schemas.IntColumn}}, all...)
		v := newTableView(newFrame(s), nil, tableOrder, maxRows)
		want := ""
		if rows > maxRows {
			want = "These are the first 5,000 of 5,001 rows. shatter table DIR --what table -o csv prints all of them, and " +
				"shatter report DIR --where CONDITION --out FILE makes a page of some."
		}
		if len(v.Rows) != maxRows || v.Cut() != want {
			t.Errorf("%d rows: %d on the page, %q", rows, len(v.Rows), v.Cut())
		}
	}
}

// The page of a sweep with the largest number of rows is small, however many figures it has. Its
// packed part expands to the rest of the table.
func TestPageSize(t *testing.T) {
	s := learned(t, 2000)
	var rows []int
	for i := range maxRows {
		rows = append(rows, i%s.table.Len())
	}
	s.whole.table = newFrame(s.table.Take(rows))
	s.whole.table.set("cell", func(row int) any {
		return fmt.Sprintf("%x", sha256.Sum256([]byte{byte(row), byte(row >> 8)}))[:10]
	})
	s.whole.table.set("replica", func(row int) any { return int64(row / 1840) })
	s.split()
	_, text := written(t, s)
	if most := 400 << 10; len(text) > most {
		t.Errorf("%d bytes, %d are the most", len(text), most)
	}
	_, packed, _ := strings.Cut(text, `<template id="rest">`)
	packed, _, _ = strings.Cut(packed, "</template>")
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(html.UnescapeString(packed))))
	if err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(z)
	if n := bytes.Count(rest, []byte("<tr id=")); err != nil || n != maxRows-maxShownRows {
		t.Errorf("%d rows are packed, %v", n, err)
	}
}

// Figures show Greek letters, also as shapes in PDF. Tooltips and captions have the words of columns.
func TestGreekLetters(t *testing.T) {
	face := font.DefaultCache.Lookup(style(textSize).Font, textSize)
	for name, letter := range render.Greek {
		if outline := shape(face, vg.Point{}, []rune(letter)[0]); len(outline) < 10 {
			t.Errorf("%s has the outline %v", name, outline)
		}
	}
	f := named(t, learned(t, 10), "n-parities-epsilon")
	var b bytes.Buffer
	if err := f.SVG(&b, 3); err != nil {
		t.Fatal(err)
	}
	if svg := b.String(); !strings.Contains(svg, ">ε</text>") || !strings.Contains(svg, "\nepsilon: 0.5") {
		t.Error(svg)
	}
	if got := greek("acme/delta, epsilon 0.5, delta 1e-06, 1 - beta"); got != "acme/delta, ε 0.5, δ 1e-06, 1 - β" {
		t.Error(got)
	}
}
