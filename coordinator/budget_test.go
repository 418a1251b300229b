package coordinator

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/testkit"
)

// A run with a small budget stops when the budget is spent and lists the undecided cells. Several
// such runs together produce the same bytes as a run without a budget.
func TestBudget(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	want := reference(t)
	budgets := []Budget{{Trials: 600}, {Time: 100 * time.Millisecond}}
	if !testkit.LongRun() {
		budgets = budgets[:1]
	}
	for _, budget := range budgets {
		dir, runs, before := t.TempDir(), 0, int64(1<<40)
		for {
			s, _, err := setup{dir: dir, script: honest, change: func(c *Config) { c.Budget = budget }}.run(t, t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if runs++; budget.Trials > 0 && s.Trials > budget.Trials {
				t.Errorf("%v: %d trials were run", budget, s.Trials)
			}
			if s.Partial == "" {
				if s.Digest != want || s.Decided != s.Cells {
					t.Errorf("%v: digest %s after %d runs, want %s", budget, s.Digest, runs, want)
				}
				break
			}
			left := int64(0)
			for i, c := range s.Left {
				left += c.Trials
				if i > 0 && c.Seconds > s.Left[i-1].Seconds {
					t.Errorf("%v: the list is not sorted: %+v", budget, s.Left)
				}
			}
			if s.Digest == want || len(s.Left) != s.Cells-s.Decided || s.Unfinished < len(s.Left) || s.Interrupted ||
				left <= 0 || left > 4*before {
				t.Errorf("%v: %+v", budget, s)
			}
			before = left
			x := checkTables(t, dir)
			if !x.Equal() || x.Digest != s.Digest || !strings.HasPrefix(x.Partial, s.Partial) || len(x.Files) == 0 {
				t.Errorf("%v: the partial result does not verify: %+v", budget, x)
			}
			table, err := os.ReadFile(filepath.Join(dir, "table.csv"))
			reason := budget.String() + " was spent; deciding it would take about"
			if err != nil || strings.Count(string(table), reason) != len(s.Left) {
				t.Errorf("%v: %v\n%s", budget, err, table)
			}
			manifest, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
			if err != nil || !strings.Contains(string(manifest), `"partial": "`+s.Partial) {
				t.Errorf("%v: the manifest does not say that it is partial: %v", budget, err)
			}
		}
		if runs < 3 {
			t.Errorf("%v: only %d runs", budget, runs)
		}
	}
}

func TestAfford(t *testing.T) {
	testkit.Serial(t)
	c := listCell(t, 5000, 10)
	for _, test := range []struct {
		budget  Budget
		handed  int64
		seconds float64
		known   bool // the cost of a trial is known: 1 ms
		want    int
		spent   bool
	}{
		{Budget{}, 1e9, 1e9, true, 300, false},
		{Budget{Trials: 1000}, 500, 0, true, 300, false},
		{Budget{Trials: 1000}, 900, 0, true, 100, false},
		{Budget{Trials: 1000}, 1000, 0, true, 0, true},
		{Budget{Time: time.Second}, 0, 0.5, true, 300, false},
		{Budget{Time: time.Second}, 0, 0.9, true, 100, false},
		{Budget{Time: time.Second}, 0, 0.9, false, 1, false},
		{Budget{Time: time.Second}, 0, 1, true, 1, true},
	} {
		d := &scheduler{budget: test.budget, handed: test.handed, state: &state{tally: &tally{seconds: test.seconds}}}
		c.sizes = nil
		if test.known {
			c.size(10).seconds, c.size(10).trials = 1, 1000
		}
		got, spent := d.afford(c, estimate.Block{N: 10, Count: 300})
		if spent != test.spent || !spent && (got.Count < test.want-1 || got.Count > test.want) {
			t.Errorf("%+v: %d, %v", test, got.Count, spent)
		}
	}
}
