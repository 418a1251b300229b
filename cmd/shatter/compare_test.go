package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas"
)

const twinsSweep = `name: twins
task: learn
problem: {class: thresholds, domain: [256, 65536], distribution: needle, mass: 0.1}
algorithms: [expmech/em, {use: expmech/em, replica: 1, as: em-again}, baseline/erm]
privacy: {epsilon: 1}
goal: {alpha: 0.09, beta: 0.05}
n: {find: true, from: 16, to: 1e4, within: 1.5}
seed: 7
`

const givenSweep = `name: list
task: learn
problem: {class: thresholds, domain: 256, distribution: needle, mass: 0.1}
algorithms: [{use: expmech/em, replica: [0, 1]}, baseline/erm]
privacy: {epsilon: 1}
goal: {alpha: 0.09, beta: 0.05}
n: [50, 100]
trials: 100
seed: 7
`

const gamesSweep = `name: games
task: online
problem: {class: parities, d: 4, distribution: uniform}
adversary: {kind: planted, rate: 0.05}
algorithms: [{use: online/ftpl-gaussian, replica: [0, 1]}, online/soa]
rounds: [100]
trials: 40
seed: 1
`

// sweepIn runs a sweep into a folder of its own.
func sweepIn(t *testing.T, dir, name, text string) string {
	t.Helper()
	out := filepath.Join(dir, name)
	mustRun(t, write(t, filepath.Join(dir, name+".yaml"), text), out)
	return out
}

// comparing runs compare, holds its exit code against the wanted one and gives the pairs as JSON
// has them, and the summary.
func comparing(t *testing.T, code int, args ...string) (pairs []row, summary string) {
	t.Helper()
	out, errs, got := shatter(t, append([]string{"compare", "-o", "json"}, args...)...)
	if got != code {
		t.Fatalf("compare %v: exit %d, want %d: %s%s", args, got, code, out, errs)
	}
	if err := json.Unmarshal([]byte(out), &pairs); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return pairs, errs
}

// Results are compared cell by cell, with themselves, with those of another seed, and algorithm by
// algorithm; twins are not told apart.
func TestCompareResults(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	dir := t.TempDir()
	twins := sweepIn(t, dir, "twins", twinsSweep)
	other := sweepIn(t, dir, "other", strings.Replace(twinsSweep, "seed: 7", "seed: 8", 1))
	few := filepath.Join(dir, "few")
	fewSweep := strings.Replace(twinsSweep, "[256, 65536]", "256", 1) + "trials: {max: 100}\n"
	fewFile := write(t, few+".yaml", fewSweep)
	if _, errs, code := shatter(t, "run", fewFile, "--out", few, "--workers", "2"); code != exitUnfinished {
		t.Fatalf("exit %d: %s", code, errs)
	}
	t.Run("itself", func(t *testing.T) {
		pairs, summary := comparing(t, 0, twins, filepath.Join(twins, "..", "twins"))
		want := "6 cells compared, 6 not told apart, 0 differ, 0 unknown; confidence 0.9 for all of them together: " +
			"0.95 of the brackets, 0.95 of the tests (12)\n"
		if summary != want || len(pairs) != 6 || pairs[0]["only_a"].(float64) != 0 || pairs[0]["trials_a"].(float64) < 100 {
			t.Errorf("%s%v", summary, pairs)
		}
	})
	t.Run("another seed", func(t *testing.T) {
		pairs, summary := comparing(t, 0, twins, other)
		if !strings.Contains(
			summary,
			"confidence 0.85 for all of them together: 0.95 of the brackets of A, 0.95 of those of B, 0.95 of the tests (6)",
		) {
			t.Error(summary)
		}
		for _, p := range pairs {
			if c := p["compared"].(string); !strings.HasPrefix(c, "unpaired over ") || !strings.HasSuffix(c, ": other data") ||
				p["p_errors"] != nil {
				t.Errorf("%v", p)
			}
		}
	})
	t.Run("replicas", func(t *testing.T) {
		pairs, _ := comparing(t, 0, twins, "--by", "algorithm=expmech/em,em-again", "--by", "replica")
		if len(pairs) != 2 || pairs[0]["replica_b"].(float64) != 1 ||
			!strings.HasSuffix(pairs[0]["compared"].(string), ": same data") {
			t.Errorf("%v", pairs)
		}
	})
	t.Run("algorithms", func(t *testing.T) {
		out, errs, code := shatter(
			t,
			"compare",
			twins,
			"--by",
			"algorithm=expmech/em,baseline/erm",
			"--by",
			"epsilon",
			"-o",
			"md",
		)
		for _, want := range []string{
			"2 pairs of cells compared, 0 not told apart, 2 differ, 0 unknown; confidence 0.9",
			"| differ | brackets, successes, errors |", "paired over ", ": same data |",
		} {
			if code != 1 || !strings.Contains(out, want) {
				t.Errorf("exit %d, %q is not in %s%s", code, want, out, errs)
			}
		}
	})
	t.Run("undecided", func(t *testing.T) {
		pairs, summary := comparing(t, 0, twins, few)
		if !strings.Contains(summary, "3 cells compared, 0 not told apart, 0 differ, 3 unknown, 3 only in A; ") ||
			pairs[0]["reason_b"] == nil {
			t.Errorf("%s%v", summary, pairs)
		}
		if _, summary := comparing(t, 0, few, few); !strings.Contains(summary, "3 not told apart, 0 differ, 0 unknown") {
			t.Error(summary)
		}
	})
	t.Run("other keys", func(t *testing.T) {
		out := sweepIn(t, dir, "alpha", strings.Replace(twinsSweep, "alpha: 0.09", "alpha: 0.08", 1))
		expect(
			t,
			exitUsage,
			[]string{"no cell in common", "differ in alpha (0.09 and 0.08)", "--by COLUMN"},
			"compare",
			twins,
			out,
		)
		if pairs, _ := comparing(t, 0, twins, out, "--by", "alpha"); len(pairs) != 6 {
			t.Errorf("%v", pairs)
		}
	})
	badResults(t, twins)
	showResults(t, twins)
}

// badResults: what is no result of this version is refused with its name.
func badResults(t *testing.T, good string) {
	copied := func(change func(b []byte) []byte) string {
		dir := t.TempDir()
		for _, name := range []string{"table.parquet", "trials.parquet"} {
			b, err := os.ReadFile(filepath.Join(good, name))
			if err != nil {
				t.Fatal(err)
			}
			if name == "table.parquet" {
				b = change(b)
			}
			write(t, filepath.Join(dir, name), string(b))
		}
		return dir
	}
	version := copied(func(b []byte) []byte {
		return bytes.Replace(b, []byte("shatter.result\x18\x01"+schemas.ResultVersion), []byte("shatter.result\x18\x019"), 1)
	})
	half := copied(func(b []byte) []byte { return b[:len(b)/2] })
	untried := copied(func(b []byte) []byte { return b })
	if err := os.Remove(filepath.Join(untried, "trials.parquet")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		want string
		args []string
	}{
		{"one folder", "name a second one, or with --by COLUMN", []string{"compare", good}},
		{"no folder", "name the output folder of a sweep", []string{"compare", good, good + "x"}},
		{"strange folder", "is not the output folder of a sweep", []string{"compare", t.TempDir(), good}},
		{"version", `version "9" of its format, not "` + schemas.ResultVersion + `"; use the release that made it`, []string{"compare", good, version}},
		{
			"version of a table", `version "9" of its format, not "` + schemas.ResultVersion + `"; use the release that made it`,
			[]string{"table", version},
		},
		{"truncated", "running the sweep again writes it anew", []string{"compare", half, good}},
		{"no trials", "trials.parquet", []string{"compare", good, untried}},
		{"no fits", "fits.parquet", []string{"table", untried, "--what", "fits"}},
		{"column", `--by replca: no such column, did you mean "replica"?`, []string{"compare", good, "--by", "replca"}},
		{"values", "COLUMN=X,Y is needed", []string{"compare", good, "--by", "epsilon=1"}},
		{"nothing differs", "no two have the values that --by asks for", []string{"compare", good, "--by", "alpha"}},
		{
			"also another column", "differ in algorithm (expmech/em and em-again)",
			[]string{"compare", good, "--by", "replica"},
		},
		{"confidence", "a number between 0 and 1", []string{"compare", good, good, "--confidence", "95"}},
		{"format", "one of table, json, csv, md is needed", []string{"compare", good, good, "-o", "tex"}},
		{"width", "--width -1", []string{"table", good, "--width", "-1"}},
		{"width of csv", "for -o table only", []string{"table", good, "--width", "80", "-o", "csv"}},
	} {
		t.Run(c.name, func(t *testing.T) { expect(t, exitUsage, []string{c.want}, c.args...) })
	}
}

// showResults: the further formats and the width of a table.
func showResults(t *testing.T, dir string) {
	tex, _, code := shatter(t, "table", dir, "-o", "tex")
	for _, want := range []string{
		"% sweep twins, result digest ", "% confidence 0.95 that no bracket", "% theory_n: ", "\\begin{tabular}",
		"expmech/em & 256 & 1 & pure", `{$n^\star$}`,
	} {
		if code != 0 || !strings.Contains(tex, want) {
			t.Errorf("exit %d: %q is not in %s", code, want, tex)
		}
	}
	parquet, _, _ := shatter(t, "table", dir, "-o", "parquet")
	if file, err := os.ReadFile(filepath.Join(dir, "table.parquet")); err != nil || parquet != string(file) {
		t.Errorf("-o parquet gives %d bytes, the file has %d: %v", len(parquet), len(file), err)
	}
	if arrow, _, _ := shatter(t, "table", dir, "-o", "arrow", "--what", "curve"); !strings.HasPrefix(arrow, "ARROW1") ||
		!strings.HasSuffix(arrow, "ARROW1") {
		t.Errorf("no Arrow file of %d bytes", len(arrow))
	}
	narrow, _, _ := shatter(t, "table", dir, "--width", "90")
	for line := range strings.Lines(narrow) {
		if utf8.RuneCountInString(line) > 91 {
			t.Errorf("more than 90 characters: %s", line)
		}
	}
	if !strings.Contains(narrow, "columns left out (-o csv has all; ") {
		t.Error(narrow)
	}
}

// Given sample sizes are compared with exact tests; other data give two samples.
func TestCompareLists(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	dir := t.TempDir()
	list := finished(t, givenSweep)
	other := sweepIn(
		t,
		dir,
		"other",
		strings.Replace(strings.Replace(givenSweep, "seed: 7", "seed: 8", 1), "trials: 100", "trials: 150", 1),
	)
	pairs, _ := comparing(t, 0, list, other)
	if len(pairs) != 3 || pairs[0]["compared"] != "unpaired over 200 and 300 trials at n = 50, 100: other data" ||
		pairs[0]["only_a"] != nil {
		t.Errorf("%v", pairs)
	}
	pairs, _ = comparing(t, 0, list, "--by", "replica")
	if p := pairs[0]; len(pairs) != 1 || p["compared"] != "paired over 200 trials at n = 50, 100: same data" ||
		p["p_successes"] != estimate.SignTest(int(p["only_a"].(float64)), int(p["only_b"].(float64))) {
		t.Errorf("%v", pairs)
	}
	for _, folders := range [][]string{{list}, {list, other}} {
		args := append(folders, "--by", "algorithm=expmech/em,baseline/erm", "--by", "epsilon", "--by", "replica")
		if pairs, _ := comparing(t, 1, args...); pairs[0]["p_successes"].(float64) > 1e-9 {
			t.Errorf("%v", pairs)
		}
	}
}

// Games are compared by their regret, sequence by sequence.
func TestCompareGames(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	dir := t.TempDir()
	games := sweepIn(t, dir, "games", gamesSweep)
	pairs, summary := comparing(t, 0, games, "--by", "replica")
	if len(pairs) != 1 || pairs[0]["compared"] != "paired over 40 trials at 100 rounds: same data" ||
		!strings.Contains(summary, "confidence 0.95 for all of them together: 0.95 of the tests (1)") {
		t.Errorf("%s%v", summary, pairs)
	}
	pairs, _ = comparing(t, 1, games, "--by", "algorithm=online/ftpl-gaussian,online/soa", "--by", "replica")
	for _, p := range pairs {
		a, b := p["regret_mean_a"].(float64), p["regret_mean_b"].(float64)
		if d := p["difference"].(float64); p["verdict"] != "differ" || d-(a-b) > 1e-9 || d-(a-b) < -1e-9 {
			t.Errorf("%v", p)
		}
	}
	list := finished(t, givenSweep)
	expect(t, exitUsage, []string{"the one is of task online, the other is not"}, "compare", games, list)
}
