package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/schemas"
)

func named(t *testing.T, s *Sweep, name string) Figure {
	t.Helper()
	var names []string
	for _, f := range s.Figures() {
		if f.Name == name {
			return f
		}
		names = append(names, f.Name)
	}
	t.Fatalf("no figure %s in %v", name, names)
	return Figure{}
}

func keyNames(f Figure) (names []string) {
	for _, k := range f.Keys {
		names = append(names, k.Name)
	}
	return names
}

// There is one figure per parameter that varies, and none for a parameter that follows from it
// (p_rounds is the square of d). A series that does not know the parameter is level.
func TestFigureOfEachParameter(t *testing.T) {
	var names []string
	for _, f := range learned(t, 40).Figures() {
		names = append(names, f.Name)
	}
	if want := []string{"n-parities-d", "n-parities-epsilon", "curve-parities"}; !slices.Equal(names, want) {
		t.Fatalf("figures %v, want %v", names, want)
	}
	f := named(t, learned(t, 40), "n-parities-epsilon")
	if got := keyNames(f); !slices.Equal(got, []string{"d"}) {
		t.Errorf("settings %v", got)
	}
	for _, s := range f.measured() {
		if erm := s.Algorithm == "baseline/erm"; s.Level != erm || len(s.Points) != 2 {
			t.Errorf("%s: level %v, %d points", s.Algorithm, s.Level, len(s.Points))
		}
	}
	p := f.measured()[0].Points[1]
	if p.X != 1 || p.Y != 801 || p.Low != 534 || p.High != 801 || p.Open != "" || p.Cell != "0000000005" {
		t.Errorf("point %+v", p)
	}
}

// A parameter that zip pairs with another is no setting of its own, and the figure says so.
func TestPairedParameter(t *testing.T) {
	s := learned(t, 10)
	s.table.set("margin", func(row int) any { return 1 / s.table.number(row, "d") })
	f := named(t, s, "n-parities-d")
	if got := keyNames(f); !slices.Equal(got, []string{"epsilon"}) || f.Notes[0] != "Along a line also changes: margin." {
		t.Errorf("settings %v, notes %q", got, f.Notes)
	}
}

// Where many settings compete, the figure first shows one of them that has all algorithms.
func TestChosenSetting(t *testing.T) {
	for _, f := range learned(t, 2000).Figures() {
		shown := 0
		for _, s := range f.measured() {
			shown += btoi(f.shown(s))
		}
		if all := len(f.measured()); shown != 10 || all < 100 {
			t.Errorf("%s: %d of %d series are shown", f.Name, shown, all)
		}
	}
}

// A fitted line lies beside the cells that it is fitted to and no others.
func TestFittedLine(t *testing.T) {
	f := named(t, learned(t, 40), "n-parities-d")
	lines := 0
	for _, s := range f.Series {
		if s.Mark != Fit {
			continue
		}
		lines++
		if s.Algorithm != "acme/one" || s.Keys[0] != "0.5" {
			t.Errorf("a line for %s, epsilon %s", s.Algorithm, s.Keys[0])
		}
		for _, p := range s.Points {
			if want := 400 * p.X; math.Abs(p.Y-want) > 1e-9*want {
				t.Errorf("%v at %v, want %v", p.Y, p.X, want)
			}
		}
	}
	if lines != 1 {
		t.Errorf("%d fitted lines", lines)
	}
	want := "Fitted slopes: acme/one, epsilon 0.5, alpha 0.1: exponent 1 of d (0.9 to 1.1; claimed 0.5, rejected at 95 %)."
	if !slices.Contains(f.Notes, want) {
		t.Errorf("notes %q, want %q", f.Notes, want)
	}
	bent := frameOf("fits", []row{{"algorithm": "a/b", "x": "d", "scale": "semilog", "slope": 0.25, "line": "not linear"}})
	if got, want := slopeText(bent, 0), "a/b: factor e^0.25 per d (not linear)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for scale, want := range map[string]float64{"linear": 10 + 2*8, "log": 10 + 2*math.Log(8),
		"semilog": math.Exp(10 + 16), "log-log": math.Exp(10) * 64} {
		if p := fittedLine(scale, 2, 10, 1, 8); math.Abs(p[len(p)-1].Y-want) > 1e-9*want {
			t.Errorf("%s: %v, want %v", scale, p[len(p)-1].Y, want)
		}
	}
}

// Words of a group choose rows by every column that they name, also by columns that a figure has no
// control for.
func TestFittedRows(t *testing.T) {
	g := groups(learned(t, 40).table)[0]
	for words, want := range map[string]int{
		"": 10, "epsilon 0.5": 5, "epsilon 0.5, d 8": 1, "epsilon 0.5, class halfspace": 0,
		"epsilon 0.5, distribution , mass 0": 5, "epsilon 3": 0, "data a.csv label": 0,
		"epsilon 1, test 1000": 5,
	} {
		if got := len(g.fitted("acme/one", words)); got != want {
			t.Errorf("%q: %d rows, want %d", words, got, want)
		}
	}
	if len(g.fitted("acme/none", "")) > 0 {
		t.Error("rows of another algorithm")
	}
}

// The settings that are shown together are named beside their lines, each once in a place.
func TestLabels(t *testing.T) {
	f := named(t, learned(t, 40), "n-parities-d")
	var labels []string
	for _, s := range f.Series {
		for i, p := range s.Points {
			if p.Label == "" {
				continue
			}
			if labels = append(labels, p.Label); s.Mark != Measured || i != len(s.Points)-1 || p.Label != "epsilon "+s.Keys[0] {
				t.Errorf("%q at point %d of a series of %s, %q", p.Label, i, s.Mark, s.Keys)
			}
		}
	}
	if len(labels) < 2 || !slices.Contains(labels, "epsilon 0.5") || !slices.Contains(labels, "epsilon 1") {
		t.Errorf("labels %q", labels)
	}
}

// On the page the answer stands beside its setting, and the cell's name last.
func TestColumnsOfThePage(t *testing.T) {
	p := pageOf(t, learned(t, 10))
	var names []string
	for _, c := range p.Table.Columns {
		names = append(names, c.Name)
	}
	if got, want := strings.Join(names[:7], " "), "algorithm d epsilon n_star n_low n_high status"; got != want ||
		names[len(names)-1] != "cell" {
		t.Errorf("columns %v", names)
	}
	for i, row := range p.Table.Rows {
		if row[0].Text != p.table.text(i, "algorithm") || row[6].Text != p.table.text(i, "status") || !row[6].Status ||
			row[3].Text != p.table.text(i, "n_star") {
			t.Errorf("row %d: %v", i, row)
		}
	}
	if c := p.Slopes.Columns[0]; c.Name != "group" || c.Doc == "" {
		t.Errorf("slopes begin with %+v", c)
	}
}

// A folder written before n_model and fits existed still has its page and figures.
func TestOldTable(t *testing.T) {
	s := learned(t, 10)
	for _, name := range []string{"n_model", "n_model_low", "n_model_high", "sample", "fixed"} {
		var others []int
		for i, c := range s.table.Columns {
			if c.Name != name {
				others = append(others, i)
			}
		}
		s.whole.table = newFrame(s.table.Select(others))
		s.split()
	}
	s.fits = newFrame(nil)
	if f := named(t, s, "n-parities-d"); f.has(Model) || f.has(Fit) || !f.has(Measured) || !f.has(Proved) {
		t.Errorf("notes %q", f.Notes)
	}
	if _, text := written(t, s); !strings.Contains(text, "10 of 10 cells are decided") ||
		strings.Contains(text, `id="slopes"`) || strings.Contains(text, "pale bar") {
		t.Error("the page of an old table")
	}
}

// A bound far from what is measured is named and not drawn. A regret that is not above 0 stands at
// the lower edge.
func TestEdges(t *testing.T) {
	s := learned(t, 10)
	s.table.set("paper_n", func(int) any { return 4e12 })
	f := named(t, s, "n-parities-d")
	if f.has(Printed) || !f.has(Proved) ||
		!slices.Contains(f.Notes, "Not drawn, as it is too far from what is measured: printed bound, up to 4e+12.") ||
		slices.ContainsFunc(f.Notes, func(n string) bool { return strings.HasPrefix(n, "Printed bounds") }) {
		t.Errorf("notes %q", f.Notes)
	}
	f = named(t, games(t), "regret-points-rounds")
	if p := f.measured()[0].Points[0]; p.Y != f.Y.Low || !f.Y.Log || !strings.Contains(strings.Join(f.Notes, ""),
		"lower edge") {
		t.Errorf("%+v on %+v, notes %q", p, f.Y, f.Notes)
	}
	f = named(t, undecided(t), "n-halfspace-d")
	var open []string
	for _, p := range f.measured()[0].Points {
		open = append(open, p.Open)
	}
	if want := []string{"above_range", "undecided", "below_range"}; !slices.Equal(open, want) {
		t.Errorf("open points %v, want %v", open, want)
	}
}

// Ticks lie within their axis, ascend, are not crowded, and have distinct names.
func TestTicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(1e-6, 1e6).Draw(t, "low")
		high := low * rapid.Float64Range(1.01, 1e12).Draw(t, "ratio")
		a := axis("x", []float64{low, high}, rapid.Bool().Draw(t, "log"), rapid.Bool().Draw(t, "exact"))
		if len(a.Ticks) < 2 || len(a.Ticks) > 12 {
			t.Fatalf("%d ticks on %+v", len(a.Ticks), a)
		}
		for i, tick := range a.Ticks {
			if tick.At < a.Low || tick.At > a.High || i > 0 && (tick.At <= a.Ticks[i-1].At || tick.Label == a.Ticks[i-1].Label) {
				t.Fatalf("tick %d of %+v", i, a)
			}
		}
	})
	for v, want := range map[float64]string{0: "0", 0.05: "0.05", 1500: "1500", 8192: "2^13", 65536: "2^16", 20000: "20k",
		3e6: "3M", 1e16: "1e+16"} {
		if got := tickLabel(v, 1e4); got != want {
			t.Errorf("%v is labelled %s, want %s", v, got, want)
		}
	}
	for want, values := range map[string][]float64{
		"2^8 2^16 2^32": {1 << 8, 1 << 16, 1 << 32}, "500 5k 50k": {500, 5e3, 5e4}, "500 5000": {500, 5000},
		"64 128": {64, 128}, "0.5 1 2^13": {0.5, 1, 8192},
	} {
		var ticks []Tick
		for _, v := range values {
			ticks = append(ticks, Tick{At: v})
		}
		nameTicks(ticks)
		var got []string
		for _, tick := range ticks {
			got = append(got, tick.Label)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%v are named %q, want %s", values, got, want)
		}
	}
}

// A figure has the same bytes each time, also on another day, and SVG stays XML whatever the names
// are.
func TestFiguresSameBytes(t *testing.T) {
	for _, s := range []*Sweep{learned(t, 10), games(t), undecided(t), hostile(t), sizes(t)} {
		first, second := s.Figures(), s.Figures()
		for i := range first {
			for name, write := range map[string]func(*Figure, io.Writer) error{
				"svg": func(f *Figure, w io.Writer) error { return f.SVG(w, 3.25) },
				"pdf": func(f *Figure, w io.Writer) error { return f.PDF(w, 3.25) },
				"png": func(f *Figure, w io.Writer) error { return f.PNG(w, 3.25) },
			} {
				var a, b bytes.Buffer
				if err := errors.Join(write(&first[i], &a), write(&second[i], &b)); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(a.Bytes(), b.Bytes()) || a.Len() < 1000 {
					t.Errorf("%s.%s: %d bytes and %d bytes differ", first[i].Name, name, a.Len(), b.Len())
				}
				switch name {
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

// The page says what is not known, and how sure everything else is.
func TestWords(t *testing.T) {
	s := learned(t, 10)
	if err := s.parseManifest([]byte(`{"resolved":{"measures":[{"find":{"confidence":0.99}}]}}`)); err != nil {
		t.Fatal(err)
	}
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
		"undecided: trials spent", "Privacy is not certified",
		"No finite bound is known here", "index out of range", "two different outcomes",
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

// The page says of each problem, once, who labels its points.
func TestProblemsOnThePage(t *testing.T) {
	for _, tt := range []struct {
		name  string
		table []row
		want  []string
	}{
		{"laws", []row{
			{"class": "thresholds", "distribution": "uniform", "target": "random"},
			{"class": "thresholds", "distribution": "needle", "target": "middle"},
			{"class": "thresholds", "distribution": "uniform", "target": "random"},
			{"class": "points", "distribution": "uniform", "target": "5"},
			{"class": "points", "distribution": "uniform", "target": "6"},
		}, []string{
			"thresholds uniform: the target is drawn at random for each trial; thresholds: t is uniform on 0..X.",
			"thresholds needle: the target is the same in all trials, that of the needle law (a calibration, which measures no " +
				"learning).",
			"points uniform: the target is the same in all trials (a calibration, which measures no learning), a hypothesis that " +
				"the file states.",
			"Where the target is drawn, what is measured is an average over targets; theory's bounds hold for the worst one " +
				"too, which target: each finds in a small class.",
		}},
		{"data", []row{{"class": "halfspace", "data": "rows.csv", "disguise": true, "positive_share": 0.6,
			"constant_error": 0.4, "pulled_share": 0.03}}, []string{
			"halfspace rows.csv: the labels are those of the file: there is no target, and what is measured is for this one " +
				"concept and population; each trial signs them at random; 60 % of the rows are positive, so that a constant errs " +
				"on 40 %; 3 % are pulled back onto the stated scale.",
		}},
		{"online", []row{{"class": "thresholds", "distribution": "uniform", "target": "random", "adversary": "tree sees past",
			"regret_mean": 1.0}}, []string{
			"thresholds uniform: the labels are said by the adversary tree: there is no target.",
		}},
		{"an earlier release", []row{{"class": "thresholds", "distribution": "uniform"}}, nil},
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

// A page of very many rows has the first of them, and says so.
func TestCut(t *testing.T) {
	for _, rows := range []int{maxRows, maxRows + 1} {
		var all [][]any
		for i := range rows {
			all = append(all, []any{fmt.Sprint("cell ", i), "decided", int64(i)})
		}
		s := sheet.Of("table", []schemas.Column{{Name: "cell", Type: schemas.TextColumn},
			{Name: "status", Type: schemas.TextColumn}, {Name: "n_star", Type: schemas.IntColumn}}, all...)
		v := view(newFrame(s), nil, tableOrder)
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
