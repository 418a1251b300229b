package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/schemas"
)

// sizes returns a sweep over a list of sample sizes: two algorithms, one of them private, two
// epsilons, and random noise at two rates or none. The error is 1/n, and larger with privacy.
func sizes(t testing.TB) *Sweep {
	var table, curve []row
	for _, noise := range []row{
		{"noise": "none"}, {"noise": "random", "noise_rate": 0.1}, {"noise": "random", "noise_rate": 0.2},
	} {
		for _, epsilon := range []any{nil, 0.5, 2.0} {
			key := row{"cell": string(rune('a' + len(table))), "task": "learn", "algorithm": "baseline/erm",
				"class": "parities", "d": int64(4), "alpha": 0.1, "beta": 0.1, "epsilon": epsilon, "p_rounds": nil}
			maps.Copy(key, noise)
			harder := 1.0
			if epsilon != nil {
				key["algorithm"], key["p_rounds"], harder = "acme/dp", int64(7), 2/epsilon.(float64)
			}
			r := maps.Clone(key)
			maps.Copy(r, row{"status": "undecided", "fixed": true, "n_low": int64(10)})
			table = append(table, r)
			for _, n := range []int64{10, 100, 1000} {
				c, mean := maps.Clone(key), harder/float64(n)
				maps.Copy(c, row{"n": n, "ok": int64(20), "trials": int64(20), "rate": 0.5, "rate_low": 0.2, "rate_high": 0.8,
					"error_mean": mean, "error_low": mean / 2, "error_high": 2 * mean, "m_loss": -mean})
				curve = append(curve, c)
			}
		}
	}
	return sweepOf(t, table, curve, nil)
}

func where(t *testing.T, s *Sweep, texts ...string) *Sweep {
	t.Helper()
	conditions, err := sheet.ParseConditions(texts)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := s.Where(conditions...)
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

// A choice determines the lines and their numbers of points.
func TestChoose(t *testing.T) {
	for _, tt := range []struct {
		name    string
		where   []string
		choice  Choice
		figures string   // names of the figures
		lines   []string // names of the lines in the first figure
		points  int      // number of points of all these lines
	}{
		{"learning curves", []string{"noise_rate=0.1"}, Choice{What: []string{"error"}}, "error-parities",
			[]string{"baseline/erm", "acme/dp, epsilon 0.5", "acme/dp, epsilon 2"}, 9},
		{"one n", []string{"noise_rate=0.1", "n=100"}, Choice{What: []string{"error"}, X: "epsilon"},
			"error-parities-epsilon", []string{"baseline/erm", "acme/dp"}, 4},
		{"a color for each epsilon", []string{"noise=random"}, Choice{What: []string{"error"}, Group: []string{"epsilon"}},
			"error-parities", []string{"epsilon 0.5", "epsilon 2"}, 6},
		{"two keys", []string{"noise_rate=0.2"}, Choice{What: []string{"m_loss"}, Group: []string{"algorithm", "epsilon"}},
			"metric-loss-parities", []string{"baseline/erm", "acme/dp, epsilon 0.5", "acme/dp, epsilon 2"}, 9},
		{"every line", []string{"noise=random"}, Choice{What: []string{"loss"}}, "metric-loss-parities", []string{
			"baseline/erm, noise_rate 0.1", "acme/dp, noise_rate 0.1, epsilon 0.5", "acme/dp, noise_rate 0.1, epsilon 2",
			"baseline/erm, noise_rate 0.2", "acme/dp, noise_rate 0.2, epsilon 0.5", "acme/dp, noise_rate 0.2, epsilon 2",
		}, 18},
		{"noise at a rate", []string{"noise=random"}, Choice{What: []string{"n"}, X: "noise_rate",
			Group: []string{"epsilon"}},
			"n-parities-noise-rate", []string{"epsilon 0.5", "epsilon 2"}, 4},
		{"n along x is no figure of n*", []string{"noise=none"}, Choice{X: "n"}, "error-parities curve-parities",
			[]string{"baseline/erm", "acme/dp, epsilon 0.5", "acme/dp, epsilon 2"}, 9},
	} {
		all, left, err := where(t, sizes(t), tt.where...).Choose(tt.choice)
		if err != nil || len(left) > 0 {
			t.Errorf("%s: %v, left %q", tt.name, err, left)
			continue
		}
		var names []string
		for _, f := range all {
			names = append(names, f.Name)
		}
		points := 0
		for _, l := range all[0].Lines {
			points += len(l.Points)
		}
		if got := strings.Join(names, " "); got != tt.figures || points != tt.points {
			t.Errorf("%s: figures %s with %d points, want %s with %d", tt.name, got, points, tt.figures, tt.points)
		}
		if diff := cmp.Diff(tt.lines, lineNames(all[0])); diff != "" {
			t.Errorf("%s: lines %s", tt.name, diff)
		}
	}
}

// A search over another number than n is one point against n, whose interval extends from the
// insufficient to the sufficient value, and one row of the page's table. Success rates are drawn
// along that number.
func TestSearches(t *testing.T) {
	var table, curve []row
	for i, n := range []int64{100, 200, 400} {
		for j, rate := range []float64{0.1, 0.2, 0.3} {
			cell := fmt.Sprintf("%d%d", i, j)
			shared := row{"cell": cell, "algorithm": "acme/dp", "class": "parities", "noise_rate": rate, "beta": 0.1}
			table = append(table, maps.Clone(shared))
			maps.Copy(table[len(table)-1], row{"status": "decided", "trials": int64(10), "search": "noise_rate",
				"search_id": fmt.Sprint("search", i), "search_success": "falls", "search_n": n, "search_insufficient": 0.3,
				"search_sufficient": 0.2, "n_low": int64(50)})
			curve = append(curve, maps.Clone(shared))
			maps.Copy(curve[len(curve)-1], row{"n": n, "rate": 1 - rate, "rate_low": 0.5, "rate_high": 1.0})
		}
	}
	s := sweepOf(t, table, curve, nil)
	all, left, err := s.Choose(Choice{})
	if err != nil || len(left) > 0 || len(all) != 2 {
		t.Fatalf("%d figures, left %q, %v", len(all), left, err)
	}
	if names := all[0].Name + " " + all[1].Name; names != "search-noise-rate-parities-search-n curve-parities-noise-rate" {
		t.Errorf("figures %s", names)
	}
	points := all[0].Lines[0].Points
	want := Point{X: 400, Y: 0.2, Low: 0.2, High: 0.3, Cell: "search2"}
	if len(points) != 3 || points[2] != want {
		t.Errorf("points %+v, the last is to be %+v", points, want)
	}
	if lines := all[1].Lines; len(lines) != 3 || len(lines[0].Points) != 3 {
		t.Errorf("success rates %+v", lines)
	}
	if rows := len(pageOf(t, s).Table.Rows); rows != 3 {
		t.Errorf("%d rows, want one for each search", rows)
	}
	if answer := strings.Join(s.answer(), " "); !strings.Contains(answer, "3 of 3 searches are decided") {
		t.Errorf("answer %q", answer)
	}
	if some := where(t, s, "search_n=200"); some.table.Len() != 1 || some.searches[0].curve.Len() != 3 {
		t.Errorf("one n: %d searches, %d points", some.table.Len(), some.searches[0].curve.Len())
	}
	if _, _, err := s.Choose(Choice{What: []string{"n"}}); err == nil || !strings.Contains(err.Error(),
		"has search, curve") {
		t.Errorf("error %v", err)
	}
}

// A page of some rows lists only the failures of their cells.
func TestWhereFailures(t *testing.T) {
	s := undecided(t)
	for status, want := range map[string]int{"failed": 2, "infeasible": 0} {
		if got := where(t, s, "status="+status).failed.Len(); got != want {
			t.Errorf("%s: %d rows of failures, want %d", status, got, want)
		}
	}
}

// An invalid choice yields a message that names the valid ones.
func TestBadChoice(t *testing.T) {
	for _, tt := range []struct {
		sweep  *Sweep
		choice Choice
		want   string
	}{
		{sizes(t), Choice{X: "noise_rat"},
			"x noise_rat: no such parameter (did you mean noise_rate?); possible: noise_rate, epsilon"},
		{sizes(t), Choice{X: "noise"}, "x noise: its values are not numbers; possible: noise_rate, epsilon"},
		{sizes(t), Choice{X: "alpha"},
			"x alpha: it does not vary in these rows; possible: noise_rate, epsilon"},
		{where(t, sizes(t), "epsilon=2", "noise=none"), Choice{X: "epsilon"},
			"x epsilon: it does not vary in these rows; no parameter is a number that varies in these rows"},
		{sizes(t), Choice{Group: []string{"epsilom"}}, `group epsilom: no such key, did you mean "epsilon"?`},
		{sizes(t), Choice{X: "epsilon", Group: []string{"epsilon"}}, "group epsilon: it is along x already"},
		{sizes(t), Choice{What: []string{"error"}, Group: []string{"n"}}, "group n: it is along x already"},
		{sizes(t), Choice{What: []string{"los"}}, "what los: did you mean loss? this result has error, " +
			"curve, n, m_loss"},
		{sizes(t), Choice{What: []string{"regret"}}, "what regret: a sweep that is not of the task online has no regret"},
		{games(t), Choice{What: []string{"curve"}},
			"what curve: a sweep of the task online has no goal to reach; this result has regret"},
		{sizes(t), Choice{Scale: "cubic"}, "scale cubic: one of linear, log, semilog, log-log is needed"},
		{where(t, sizes(t), "n=10"), Choice{What: []string{"error"}},
			"nothing to draw: no two rows that differ in n alone have a value of mean error"},
		{learned(t, 10), Choice{What: []string{"error"}},
			"nothing to draw: no two rows that differ in n alone have a value of mean error"},
	} {
		all, _, err := tt.sweep.Choose(tt.choice)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %d figures, %v; want %s", tt.choice, len(all), err, tt.want)
		}
	}
	if _, err := sizes(t).Where(sheet.Condition{Column: "noise_rate", Values: []string{"0.3"}}); err == nil {
		t.Error("a value that no row has")
	}
	if _, err := sizes(t).Where(sheet.Condition{Column: "nois", Values: []string{"none"}}); err == nil {
		t.Error("a column that no table has")
	}
}

// The caption states the fixed settings, the chosen ones, and the meaning of the intervals.
func TestCaption(t *testing.T) {
	s := sizes(t)
	s.manifest.Partial = "2 of 9 cells are decided"
	figures, _, err := where(t, s, "noise=random").Choose(Choice{What: []string{"error"}, Group: []string{"epsilon"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Partial: 2 of 9 cells are decided.",
		"Fixed: d 4, noise random, alpha 0.1, beta 0.1.",
		"Chosen: algorithm acme/dp (not baseline/erm), noise_rate 0.1 (not 0.2); others with --where " +
			"algorithm=baseline/erm and the like.",
		"Faint lines: 95 % confidence interval of each mean on its own (Student). 20 trials at each point.",
	}
	if diff := cmp.Diff(want, figures[0].Caption); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want[2:3], figures[0].Choices); diff != "" {
		t.Error(diff)
	}
	figures, _, err = where(t, sizes(t), "noise_rate=0.1,0.2").Choose(Choice{What: []string{"curve"}})
	where := "Only rows with noise_rate=0.1,0.2."
	if err != nil || !slices.Contains(figures[0].Caption, where) || figures[0].Levels[0].Y != 0.9 {
		t.Errorf("%v, caption %q, target %v", err, figures[0].Caption, figures[0].Levels)
	}
}

// The interval of each mean is cut to the range of a share, and the axes follow the scale.
func TestLearningCurve(t *testing.T) {
	s := sizes(t)
	errors := *s.curve.Sheet
	s.curve.set("error_low", func(row int) any {
		if row == 0 {
			return -0.5
		}
		return errors.At(row, s.curve.Index("error_low"))
	})
	for scale, logs := range map[string][2]bool{"": {true, false}, "linear": {false, false}, "log": {true, false},
		"semilog": {false, true}, "log-log": {true, true}} {
		figures, _, err := s.Choose(Choice{What: []string{"error"}, Scale: scale})
		if err != nil {
			t.Fatal(err)
		}
		f := figures[0]
		if f.X.Log != logs[0] || f.Y.Log != logs[1] || !f.Faint {
			t.Errorf("%q: axes %+v, %+v", scale, f.X, f.Y)
		}
		p := f.Lines[0].Points[0]
		if low := max(0, f.Y.Low); p.X != 10 || math.Abs(p.Y-0.1) > 1e-9 || p.Low != low || math.Abs(p.High-0.2) > 1e-9 {
			t.Errorf("%q: point %+v", scale, p)
		}
	}
}

// The learning curves of a search and the metrics are folded; the curves of a list come first.
// Metrics have their unit and meaning. Omitted figures are counted.
func TestFoldedFigures(t *testing.T) {
	s := sizes(t)
	s.manifest.Metrics = []schemas.Metric{{Name: "loss", Doc: "mean of the squares", Unit: "bits"}}
	p := pageOf(t, s)
	if len(p.Folded) != 1 || !strings.HasPrefix(p.Figures[0].Name, "error") {
		t.Fatalf("a list: %d folded of %d", len(p.Folded), len(p.Figures))
	}
	f := p.Folded[0]
	if f.Y.Title != "mean loss (bits)" || !strings.Contains(string(f.SVG), "mean loss (bits)") ||
		!strings.Contains(strings.Join(f.Caption, " "), "loss: mean of the squares. Means over the trials") {
		t.Errorf("axis %q, caption %q", f.Y.Title, f.Caption)
	}
	s.table.set("fixed", func(int) any { return false })
	if p := pageOf(t, s); len(p.Folded) != 2 || !strings.HasPrefix(p.Figures[0].Name, "n-") {
		t.Errorf("a search: %d folded of %d", len(p.Folded), len(p.Figures))
	}
	s.curve.set("class", func(row int) any { return fmt.Sprint("class ", row/3) })
	s.table.set("class", func(row int) any { return fmt.Sprint("class ", row) })
	if p := pageOf(t, s); len(p.Figures)+len(p.Folded)+p.FiguresLeft != 36 {
		t.Errorf("%d figures, %d folded, %d left", len(p.Figures), len(p.Folded), p.FiguresLeft)
	}
}
