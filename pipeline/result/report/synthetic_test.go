package report

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/schemas"
)

type row = map[string]any

// frameOf makes a frame of rows that name their columns. A column has the type of its first value.
func frameOf(name string, rows []row, order ...schemas.Column) *frame {
	known := map[string]bool{}
	more := map[string]bool{}
	for _, c := range order {
		known[c.Name] = true
	}
	for _, r := range rows {
		for k := range r {
			more[k] = more[k] || !known[k]
		}
	}
	columns := slices.Clone(order)
	for _, k := range slices.Sorted(maps.Keys(more)) {
		if more[k] {
			columns = append(columns, schemas.Column{Name: k, Type: typeOf(rows, k)})
		}
	}
	var lines [][]any
	for _, r := range rows {
		var line []any
		for _, c := range columns {
			line = append(line, r[c.Name])
		}
		lines = append(lines, line)
	}
	return newFrame(sheet.Of(name, columns, lines...))
}

// set changes the values of a column, also in the frames that share f's sheet.
func (f *frame) set(column string, value func(row int) any) {
	*f.Sheet = *f.Replace(f.Index(column), value)
}

func typeOf(rows []row, column string) schemas.ColumnType {
	for _, r := range rows {
		switch r[column].(type) {
		case int64:
			return schemas.IntColumn
		case float64:
			return schemas.FloatColumn
		case bool:
			return schemas.BoolColumn
		}
	}
	return schemas.TextColumn
}

// sweepOf returns the sweep of a folder with these tables.
func sweepOf(t testing.TB, table, curve, fits []row) *Sweep {
	s := &Sweep{dir: t.TempDir(), source: "name: synthetic\n"}
	columns := result.Columns("table")
	if len(table) > 0 && table[0]["rounds"] != nil {
		columns = result.Columns("games")
	}
	s.whole = rows{frameOf("table", table, columns...), frameOf("curve", curve, result.Columns("curve")...)}
	s.split()
	s.fits = frameOf("fits", fits)
	s.failed, s.timing = newFrame(nil), newFrame(nil)
	s.manifest.Name = "synthetic"
	return s
}

// learned returns a sweep of about the given number of cells: algorithms times epsilons times
// dimensions times alphas. One algorithm is not private. n* = 20 d / (epsilon alpha).
func learned(t testing.TB, cells int) *Sweep {
	dims, epsilons, alphas := []int64{4, 8, 16, 32, 64}, []float64{0.5, 1}, []float64{0.1}
	algorithms := []string{"acme/one", "acme/two", "baseline/erm"}
	if cells > 100 {
		algorithms = append(algorithms, "acme/three", "acme/four", "acme/five", "acme/six", "acme/seven", "acme/eight",
			"acme/nine")
		epsilons, alphas = []float64{0.1, 0.2, 0.5, 1, 2}, []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.45}
	} else if cells < 30 {
		dims = dims[:2]
	}
	var table, curve []row
	for a, algorithm := range algorithms {
		for _, alpha := range alphas {
			for _, epsilon := range epsilons {
				for _, d := range dims {
					if len(table) == cells || algorithm == "baseline/erm" && epsilon != epsilons[0] {
						continue
					}
					high := int64(20*float64(d)*math.Pow(1.3, float64(a))/(epsilon*alpha)) + 1
					key := row{
						"cell": fmt.Sprintf("%010x", len(table)), "task": "learn", "algorithm": algorithm, "class": "parities", "d": d,
						"noise": "none", "epsilon": epsilon, "privacy": "pure", "alpha": alpha, "beta": 0.1, "reference": 0.0,
						"replica":  int64(0),
						"p_rounds": d * d,
					}
					if algorithm == "baseline/erm" {
						key["epsilon"], key["privacy"] = nil, nil
					}
					r := maps.Clone(key)
					maps.Copy(r, row{
						"n_low": high * 2 / 3, "n_high": high, "n_star": high, "status": "decided", "theory_n": float64(3 * high),
						"theory_source": "theorem: somewhere",
						"paper_n":       float64(20 * high), "paper_source": "elsewhere", "ratio_low": 0.22, "ratio_high": 1. / 3, "trials": int64(1000),
						"failed": int64(0), "mean_error": 0.01, "evaluation": "exact",
						"n_model": 0.85 * float64(high), "n_model_low": 0.8 * float64(high), "n_model_high": 0.9 * float64(high),
					})
					table = append(table, r)
					for i := range 10 {
						c := maps.Clone(key)
						rate := 1 / (1 + math.Exp(4-float64(i)))
						maps.Copy(c, row{"n": high/8 + high*int64(i)/5 + 1, "trials": int64(100), "rate": rate,
							"rate_low": max(0, rate-0.1), "rate_high": min(1, rate+0.1)})
						curve = append(curve, c)
					}
				}
			}
		}
	}
	return sweepOf(t, table, curve, []row{
		{"fit": int64(0), "group": fmt.Sprintf("epsilon %v, alpha %v", epsilons[0], alphas[0]), "algorithm": "acme/one",
			"model": "power", "term": "d", "estimate": 1.0, "estimate_se": 0.05, "constant": 20 / (epsilons[0] * alphas[0]),
			"estimate_low": 0.9, "estimate_high": 1.1, "claimed": 0.5, "verdict": "rejected at 95 %", "goodness": 0.4},
	})
}

// games returns a sweep of online games, with a regret below 0 and one setting in which all trials
// failed.
func games(t testing.TB) *Sweep {
	var table []row
	for _, algorithm := range []string{"online/hedge", "online/ftpl"} {
		for i, rounds := range []int64{100, 1000, 10000} {
			regret := math.Sqrt(float64(rounds)) - 12
			table = append(table, row{
				"cell": fmt.Sprint(len(table)), "task": "online", "algorithm": algorithm, "class": "points", "domain": int64(16),
				"adversary": "random", "replica": int64(0), "rounds": rounds,
				"trials": int64(8), "failed": int64(0), "mistakes_mean": float64(rounds) / 3, "mistakes_max": float64(rounds) / 2,
				"best_loss": float64(rounds) / 4, "regret_mean": regret,
				"regret_low": regret - 5, "regret_high": regret + 5, "theory_regret": 3 * math.Sqrt(float64(rounds)),
				"theory_source": "Hoeffding", "ratio_high": float64(i),
			})
		}
	}
	table = append(table, row{"cell": "ff", "task": "online", "algorithm": "online/broken", "class": "points",
		"domain": int64(16), "adversary": "random", "replica": int64(0), "rounds": int64(100), "trials": int64(8),
		"failed": int64(8)})
	return sweepOf(t, table, nil, nil)
}

// undecided returns a sweep in which no cell is decided, a cell failed, and most columns are null.
func undecided(t testing.TB) *Sweep {
	key := func(cell, algorithm string, d int64, status, reason string) row {
		return row{"cell": cell, "task": "learn", "algorithm": algorithm, "class": "halfspace", "d": d, "alpha": 0.1,
			"beta": 0.1, "replica": int64(0), "status": status, "reason": reason, "trials": int64(16), "failed": int64(16),
			"privacy": "pure", "privacy_standing": "unproved"}
	}
	low := key("1", "acme/slow", 5, "above_range", "")
	low["n_low"] = int64(4096)
	both := key("2", "acme/slow", 10, "undecided", "trials spent")
	both["n_low"], both["n_high"] = int64(10), int64(10000)
	high := key("3", "acme/slow", 20, "below_range", "")
	high["n_high"] = int64(16)
	s := sweepOf(t, []row{low, both, high, key("4", "acme/broken", 5, "failed", "every trial failed"),
		key("5", "acme/none", 10, "infeasible", "not with this budget")}, nil, nil)
	s.failed = frameOf("failures", []row{
		{"cell": "4", "n": int64(16), "status": "failed", "kind": "panic", "reason": "index out of range", "trials": int64(15),
			"first": "4/16/0"},
		{"cell": "4", "n": int64(16), "status": "lost", "kind": "memory", "reason": "above 2 GiB", "trials": int64(1),
			"first": "4/16/7"},
	})
	s.timing = frameOf("timing", []row{
		{"cell": "4", "n": int64(16), "first": int64(0), "rows": int64(16), "worker": "w1"},
	})
	s.manifest.Runs = []schemas.ManifestRun{{Seconds: 3, Trials: 80,
		Failures: []schemas.Failure{{Kind: "panic", Trial: "4/16/0", What: "acme/broken on halfspace",
			Reason: "index out of range", Count: 16}}, Alarms: []string{"trial 4/16/0 has two different outcomes"}}}
	return s
}

const attack = `<img src=x onerror=alert(1)>"'</script><script>alert(2)</script>` + "\u2028${7*7}{{1}}`\\" + "\x1b[2J\x00\u202e"

// hostile returns a sweep with the attack in every text of its data.
func hostile(t testing.TB) *Sweep {
	s := learned(t, 20)
	s.failed = frameOf("failures", []row{{"cell": "1", "n": int64(16), "status": "failed", "kind": "panic",
		"reason": "no", "trials": int64(1), "first": "1/16/0"}})
	for _, f := range []*frame{s.table, s.curve, s.fits, s.failed} {
		for _, c := range f.Columns {
			if c.Name == "cell" || c.Name == "status" {
				continue
			}
			before := *f.Sheet
			f.set(c.Name, func(row int) any {
				v := before.At(row, f.Index(c.Name))
				if text, ok := v.(string); ok {
					return attack + text
				}
				return v
			})
		}
	}
	for _, name := range []string{"distribution", "status", "reason"} {
		before := *s.table.Sheet
		s.table.set(name, func(row int) any {
			if row%2 == 0 {
				return attack
			}
			return before.At(row, s.table.Index(name))
		})
	}
	s.manifest.Name, s.source = attack, "name: "+attack
	s.manifest.Facts = map[string]string{"host": attack}
	s.manifest.Runs = []schemas.ManifestRun{{
		Failures: []schemas.Failure{{Kind: attack, Trial: attack, What: attack, Reason: attack, Count: 1}},
		Notes:    []string{attack}, Alarms: []string{attack}, GoVersion: attack,
	}}
	s.manifest.Plugins = []schemas.ManifestPlugin{{File: attack, Digest: attack}}
	return s
}

// written writes the page of a sweep to a file, and returns its path and text.
func written(t *testing.T, s *Sweep) (path, text string) {
	t.Helper()
	path, err := s.WriteFile()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := s.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(path) != s.dir {
		t.Fatal(path)
	}
	return path, b.String()
}

func pageOf(t *testing.T, s *Sweep) *view {
	t.Helper()
	p, err := s.view()
	if err != nil {
		t.Fatal(err)
	}
	return p
}
