//go:build cgo

package query

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	duck "github.com/duckdb/duckdb-go-bindings"
	"github.com/google/go-cmp/cmp"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/ledger/ledgertest"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/result/render"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// The test binary answers questions as a child, as the real one does.
func TestMain(m *testing.M) {
	if IsChild() {
		if err := Child(); err != nil {
			panic(err)
		}
		return
	}
	if slices.Equal(os.Args[1:], []string{unlockedArg}) {
		actUnlocked()
		return
	}
	os.Exit(m.Run())
}

const rows = 5000 // of each of the two sample sizes of the result

// errorOf returns the error of a trial of the result.
func errorOf(n, repetition int64) float64 { return float64((repetition*n)%97) / 97 }

// copyResult copies a small result into dir.
func copyResult(t testing.TB, dir string) {
	t.Helper()
	small.Do(func() {
		folder := t.TempDir()
		makeResult(t, folder)
		for _, name := range names[:5] {
			raw, err := os.ReadFile(filepath.Join(folder, name+".parquet"))
			if err != nil {
				t.Fatal(err)
			}
			files[name] = raw
		}
	})
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, raw := range files {
		if err := os.WriteFile(filepath.Join(dir, name+".parquet"), raw, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	small sync.Once
	files = map[string][]byte{}
)

func makeResult(t testing.TB, dir string) {
	t.Helper()
	l := ledgertest.Open(t, filepath.Join(dir, "ledger"))
	cell := &trial.Cell{
		Key: trial.Key{0xab, 0xcd}, Task: "learn", As: "it's, \"em\"", Problem: &schemas.Problem{Class: "thresholds",
			Domain: 256},
		Epsilon: 0.5, Alpha: 0.1, Beta: 0.1, Params: trial.Params{"rounds": int64(7)},
		Evaluation: &problem.Evaluation{Words: "exact"},
	}
	points := []result.Point{{N: 100, Consumed: rows}, {N: 200, Consumed: rows}}
	for _, p := range points {
		b := &ledger.Batch{Sweep: "s", Cell: cell.Key, N: p.N, Digest: "d", Profile: "p", Worker: "w"}
		for i := range p.Consumed {
			b.Repetition, b.Status, b.Error = append(b.Repetition, i), append(b.Status, ledger.OK),
				append(b.Error, errorOf(p.N, i))
		}
		ledgertest.Add(t, l, b)
	}
	curve, err := result.Curve(l, cell, points)
	if err != nil {
		t.Fatal(err)
	}
	r := result.Result{Source: []byte("name: x\n"), Ledger: l, Trials: []result.Consumed{{Cell: cell, Points: points}},
		Curve: curve,
		Table: []result.TableRow{{Cell: cell, NHigh: 200, NStar: 200, Status: "decided", Trials: 2 * rows,
			Theory: result.Theory{Value: 432.5}}}}
	if _, err := result.WriteResult(dir, r); err != nil {
		t.Fatal(err)
	}
}

// opened opens a result for questions until the test ends.
func opened(t testing.TB, o Options) (*DB, string) {
	t.Helper()
	dir := t.TempDir()
	copyResult(t, dir)
	d, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d, dir
}

// ask returns the answer in a format.
func ask(d *DB, format, sql string, values ...any) (string, error) {
	r, err := d.Query(context.Background(), sql, values...)
	if err != nil {
		return "", err
	}
	defer r.Close()
	var out bytes.Buffer
	err = Write(&out, r, format, 0)
	return out.String(), err
}

// answer returns the answer as csv without its header.
func answer(t *testing.T, d *DB, sql string, values ...any) string {
	t.Helper()
	out, err := ask(d, "csv", sql, values...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	_, body, _ := strings.Cut(out, "\n")
	return strings.TrimSpace(body)
}

func TestAnswers(t *testing.T) {
	d, _ := opened(t, Options{})
	for sql, want := range map[string]string{
		`select count(*) from trials`:                                     "10000",
		`select sum(repetition)::double from trials where n = 200`:        "1.24975e+07",
		`select n_star, theory_n, ratio_low, p_rounds from cells`:         "200,432.5,,7",
		`select n_star from table`:                                        "200",
		`select table.n_star from curve, table order by all limit 1`:      "200",
		`select algorithm from "table"`:                                   `"it's, ""em"""`,
		`select 'a' x, 'b' x, null`:                                       "a,b,",
		`select sum(n), 0.1, 1::tinyint, true from curve`:                 "300,0.1,1,true",
		`select list(n order by n), {a: 1}, date '2020-01-02' from curve`: `"[100, 200]",{'a': 1},2020-01-02`,
		`with t as (from curve) select n from t where n > 100;`:           "200",
		`values (1), (2)`: "1\n2",
		`pivot (select n, trials from curve) on n in (100, 200) using sum(trials)`: "5000,5000",
		`select 1 -- the end`:              "1",
		`select max(i) from range(3) r(i)`: "2",
		"select\u200b1":                    "1", // a space of no width
	} {
		if got := answer(t, d, sql); got != want {
			t.Errorf("%s\n%s, want %s", sql, got, want)
		}
	}
	if got := answer(t, d, "select count(*) from trials where n = ? and repetition < $2", int64(100),
		int64(7)); got != "7" {
		t.Errorf("parameters: %s", got)
	}
	if got := answer(t, d, "select cell, 1.5::decimal(3,1) from curve where class = ? limit 1;",
		"thresholds"); got != "abcd000000,1.5" {
		t.Errorf("parameters and a cast: %s", got)
	}
}

// SQL sees the trials that were written.
func TestAgrees(t *testing.T) {
	d, _ := opened(t, Options{})
	r, err := d.Query(context.Background(),
		"select n, repetition, error, success, kind from trials order by n, repetition")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	at := int64(0)
	err = render.EachBatch(r, func(rec arrow.Record) error {
		for i := range int(rec.NumRows()) {
			n, rep := 100*(1+at/rows), at%rows
			want := []any{n, rep, errorOf(n, rep), errorOf(n, rep) <= 0.1+1e-12, nil}
			for j, c := range rec.Columns() {
				if got := render.AnswerValue(c, i); got != want[j] {
					t.Fatalf("row %d, column %d: %v, want %v", at, j, got, want[j])
				}
			}
			at++
		}
		return nil
	})
	if err != nil || at != 2*rows {
		t.Fatal(err, at)
	}
}

// SQL reads every column of the trials as the Arrow library does: with nulls, several row groups,
// failed trials, a metric that some report, and trials that cannot succeed.
func TestTrialColumns(t *testing.T) {
	dir := t.TempDir()
	writeMixed(t, dir)
	d, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	file, err := sheet.ReadTable(dir, "trials")
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range file.Columns {
		name, want := c.Name, []any{}
		for row := range file.Len() {
			want = append(want, file.At(row, i))
		}
		r, err := d.Query(context.Background(), "select "+name+" from trials")
		if err != nil {
			t.Fatal(err)
		}
		var got []any
		err = render.EachBatch(r, func(rec arrow.Record) error {
			for row := range int(rec.NumRows()) {
				got = append(got, render.AnswerValue(rec.Column(0), row))
			}
			return nil
		})
		r.Close()
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %d values differ from %d, or: %v", name, len(got), len(want), err)
		}
		null, some := slices.Contains(want, nil), slices.ContainsFunc(want, func(v any) bool { return v != nil })
		if mixed := slices.Contains([]string{"kind", "error", "success", "m_loss"}, name); null != mixed || !some {
			t.Errorf("%s: null %v, not null %v", name, null, some)
		}
	}
}

// writeMixed writes a result of a learning cell and of one of task online.
func writeMixed(t *testing.T, dir string) {
	t.Helper()
	r := result.Result{Ledger: ledgertest.Open(t, filepath.Join(dir, "ledger")), Metrics: []string{"loss"}}
	alphas := []float64{0.25, 0} // at 0 no trial can succeed
	for i, task := range []string{"learn", "online"} {
		consumed := int64(sheet.RowGroup/2 + 1)
		b := ledgertest.Batch(int(consumed), 0)
		b.Cell, b.Kind = [32]byte{byte(i)}, make([]string, consumed)
		if i == 0 {
			b.Metrics, b.Values = []string{"loss"}, [][]float64{slices.Clone(b.Error)}
		}
		for j := 0; j < len(b.Error); j += 3 + j%5 {
			b.Status[j], b.Error[j], b.Kind[j] = ledger.Failed, math.NaN(), []string{"panic", "time"}[j%2]
		}
		ledgertest.Add(t, r.Ledger, b)
		r.Trials = append(r.Trials, result.Consumed{
			Cell:   &trial.Cell{Problem: &schemas.Problem{}, Key: b.Cell, Task: task, As: "a", Alpha: alphas[i], Beta: 0.1},
			Points: []result.Point{{N: b.N, Consumed: consumed}},
		})
	}
	if _, err := result.WriteResult(dir, r); err != nil {
		t.Fatal(err)
	}
}

// metricColumns counts the columns that parameters and metrics add to a test result.
var metricColumns = map[string]int{"table": 1, "curve": 1}

func TestViews(t *testing.T) {
	d, _ := opened(t, Options{})
	seen := map[string]int{}
	for _, v := range d.Views() {
		seen[v.Name] = len(v.Columns)
		for _, c := range v.Columns {
			if c.Doc == "" {
				t.Errorf("%s.%s has no meaning", v.Name, c.Name)
			}
		}
	}
	want := map[string]int{"bounds": 8, "timing": 8 + 7}
	for _, name := range []string{"table", "curve"} {
		want[name] = len(result.Columns(name)) + metricColumns[name]
	}
	want["trials"] = len(result.Columns("trials")) + len(trial.KeyColumns()) - 1 + 1 // cell stands in both; a parameter
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
	all := 0
	for _, columns := range want {
		all += columns
	}
	if s := Describe(d.Views()); s.Len() != all {
		t.Errorf("%d rows", s.Len())
	}
}

// Trials have the key columns of their cells, whatever a question calls them, and a question that
// joins the table has its columns without ambiguity.
func TestKeysOfTrials(t *testing.T) {
	d, _ := opened(t, Options{})
	for _, tt := range []struct{ sql, want string }{
		{"select n, epsilon, count(*) from trials group by all order by n", "100,0.5,5000\n200,0.5,5000"},
		{"select count(*) from trials where class = 'thresholds' and P_ROUNDS = 7", "10000"},
		{`select max(t."Epsilon") from trials t`, "0.5"},
		{"select max(main.trials.epsilon) from main.trials", "0.5"},
		{"select columns('eps.*') from trials limit 1", "0.5"},
		{"select t.epsilon from (from trials limit 1) t", "0.5"},
		{"with t as (select * from trials) select max(epsilon) from t", "0.5"},
		{"select max(domain) from trials join cells using (cell)", "256"},
		{"select max(t.domain) from trials t join cells c using (cell)", "256"},
		{"select count(*) from (select * from trials join cells using (cell))", "10000"},
		{"select max(x.domain) from (select t.*, n_star from trials t join cells using (cell)) x", "256"},
		{"select (trials).domain from trials limit 1", "256"},
		{"select x.domain from (select t as x from trials t limit 1)", "256"},
		{"select count(*) from trials where error < 2 and n = 100", "5000"},
		{"select count(column_name) from (describe trials) where column_name = 'epsilon'", "1"},
		{"select count(*) from trials a join trials b using (cell, n, repetition) where b.epsilon = 0.5", "10000"},
		{"explain analyze select max(epsilon) from trials", ""},
	} {
		got, err := ask(d, "csv", tt.sql)
		_, got, _ = strings.Cut(strings.TrimSpace(got), "\n")
		if err != nil || tt.want != "" && got != tt.want {
			t.Errorf("%s: %q, %v, want %q", tt.sql, got, err, tt.want)
		}
	}
}

// Names of folders are never read as patterns or as SQL.
func TestStrangeFolders(t *testing.T) {
	base := t.TempDir()
	for _, name := range []string{"it's", "a*b", "a?b", "[ab]", "[!x]", `back\slash`, "two words", "ünï", "a;b", `q"q`,
		"{x,y}"} {
		dir := filepath.Join(base, name)
		copyResult(t, dir)
		d, err := Open(dir, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := ask(d, "csv", "select count(*) from trials"); err != nil || !strings.HasSuffix(got, "\n10000\n") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		d.Close()
	}
	link := filepath.Join(base, "link")
	if err := os.Symlink(filepath.Join(base, "it's"), link); err != nil {
		t.Fatal(err)
	}
	d, err := Open(link, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	answer(t, d, "from curve")
}

func TestNoResult(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir, Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("empty folder: %v", err)
	}
	copyResult(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "curve.parquet"), []byte("PAR1 no PAR1"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), "curve.parquet") {
		t.Errorf("damaged file: %v", err)
	}
}

// digests returns the SHA-256 of each file below dir.
func digests(t *testing.T, dir string) map[string][32]byte {
	t.Helper()
	all := map[string][32]byte{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		all[path] = sha256.Sum256(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Hostile questions get one clear message, read nothing beside the result, and write nothing.
func TestHostile(t *testing.T) {
	d, dir := opened(t, Options{Memory: 256e6, Timeout: 20 * time.Second})
	secret := filepath.Join(dir, "secret.csv")
	if err := os.WriteFile(secret, []byte("a,b\n42424242,1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	before := digests(t, dir)
	in := strings.NewReplacer("DIR", dir)
	for sql, want := range map[string]string{
		// writing
		"copy curve to 'DIR/curve.parquet'":                           `"copy": results are read-only`,
		"COPY (select 1) TO 'DIR/new.csv'":                            `"copy"`,
		"explain analyze copy (select 1) to 'DIR/curve.parquet'":      `"explain"`,
		"explain (analyze) copy (select 1) to 'DIR/curve.parquet'":    `"explain"`,
		"explain /* */ analyze copy (select 1) to 'DIR/new.csv'":      `"explain"`,
		"/* explain */ copy curve to 'DIR/new.csv'":                   `"copy"`,
		"create table x(i int)":                                       `"create"`,
		"create or replace view curve as select 1":                    `"create"`,
		"create macro f() as 1":                                       `"create"`,
		"create secret (type s3)":                                     `"create"`,
		"drop view curve":                                             `"drop"`,
		"alter view curve rename to x":                                `"alter"`,
		"insert into curve values (1)":                                `"insert"`,
		"delete from trials":                                          `"delete"`,
		"update curve set n = 1":                                      `"update"`,
		"truncate trials":                                             `"truncate"`,
		"export database 'DIR/x'":                                     `"export"`,
		"import database 'DIR/x'":                                     "disabled",
		"attach 'DIR/x.db'":                                           `"attach"`,
		"detach memory":                                               `"detach"`,
		"vacuum":                                                      `"vacuum"`,
		"checkpoint":                                                  `"checkpoint"`,
		"begin":                                                       `"begin"`,
		"with x as (insert into t values (1) returning *) from x":     "CTE needs a SELECT",
		"select write_log('x')":                                       `the function "write_log"`,
		"from enable_logging(storage='file', storage_path='DIR/log')": `"enable_logging"`,
		"select (select count(*) from system.main.ENABLE_LOGGING())":  `"enable_logging"`,
		"from enable_profiling(save_location='DIR/p.json')":           `"enable_profiling"`,
		"select 1 where exists (from force_checkpoint())":             `"force_checkpoint"`,
		"from (from curve, lateral (from checkpoint()))":              `"checkpoint"`,
		"with t as materialized (from truncate_duckdb_logs()) from t": `"truncate_duckdb_logs"`,
		// comments that hide what is explained, or that nothing is
		"explain (/*) select 1 --*/ analyze) drop view curve":           `"explain"`,
		"explain (/*) select 1 --*/ analyze) create table x(i int)":     `"explain"`,
		"--\r/*\nexplain select 1 --*/ from glob('/*')":                 `"glob"`,
		"--\r/*\nexplain select 1 --*/ explain analyze drop view curve": `"explain"`,
		// settings and code
		"set memory_limit = '99GB'":              `"set"`,
		"reset memory_limit":                     `"reset"`,
		"pragma enable_profiling":                `"pragma"`,
		"pragma threads = 99":                    `"pragma"`,
		"set variable x = 1":                     `"set"`,
		"use memory":                             `"use"`,
		"install httpfs":                         `"install"`,
		"load 'DIR/x.so'":                        `"load"`,
		"call enable_logging()":                  `"call"`,
		"prepare x as select 1":                  `"prepare"`,
		"execute x":                              `"execute"`,
		"from query('from ''DIR/secret.csv''')":  `"query"`,
		"from query_table('DIR/secret.csv')":     `"query_table"`,
		"from json_execute_serialized_sql('{}')": `"json_execute_serialized_sql"`,
		"from arrow_scan(1, 2, 3)":               `"arrow_scan"`,
		"from sql_auto_complete('sel')":          `"sql_auto_complete"`,
		"select sleep_ms(100000)":                `"sleep_ms"`,
		// reading
		"select * from read_csv('/etc/passwd')":            `"read_csv"`,
		"select * from READ_CSV_AUTO('DIR/secret.csv')":    `"read_csv_auto"`,
		"select * from \"read_csv\"('DIR/secret.csv')":     `"read_csv"`,
		"select * from read_text('/etc/passwd')":           `"read_text"`,
		"select * from read_blob('/etc/passwd')":           `"read_blob"`,
		"select * from read_parquet('DIR/*.parquet')":      `"read_parquet"`,
		"select * from parquet_metadata('DIR/secret.csv')": `"parquet_metadata"`,
		"select * from sniff_csv('/etc/passwd')":           `"sniff_csv"`,
		"select * from read_json('DIR/secret.csv')":        `"read_json"`,
		"select * from read_duckdb('DIR/secret.csv')":      `"read_duckdb"`,
		"select * from glob('/*')":                         `"glob"`,
		"select * from '/etc/passwd'":                      "no table \"/etc/passwd\"",
		"select * from 'DIR/secret.csv'":                   "disabled",
		"select * from 'DIR/*.csv'":                        "disabled",
		"select * from \"DIR/secret.csv\"":                 "disabled",
		"describe 'DIR/secret.csv'":                        "disabled",
		"summarize 'DIR/secret.csv'":                       "disabled",
		"explain from 'DIR/secret.csv'":                    "disabled",
		"from 'file://DIR/secret.csv'":                     "disabled",
		"select * from 'http://127.0.0.1:1/x.parquet'":     "disabled",
		"select * from 's3://bucket/x.parquet'":            "disabled",
		"select getenv('HOME')":                            "does not exist",
		"table \"DIR/secret.csv\"":                         "disabled",
		// more than one, less than one, none
		"select 1; drop view curve":          "2 statements",
		"select 1; select 2; select 3":       "3 statements",
		"pivot curve on n using sum(trials)": "counts as two",
		"":                                   "no SQL",
		" \n -- nothing":                     "no SQL",
		"/* open":                            "unterminated",
		"select 'open":                       "unterminated",
		"select 1 \x00; drop view curve":     "UTF-8",
		"select '\xff\xfe'":                  "UTF-8",
		"ｓｅｌｅｃｔ 1":                           "syntax error",
		"select '" + strings.Repeat("x", maxSQL) + "'":                    "at most 65536",
		"select " + strings.Repeat("(", 20000):                            "",
		"select " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000): "depth",
		"select ?":       "parameters (1)",
		"select $secret": "parameters (1)",
		// mistakes
		"select nosuch from curve": `"nosuch" not found`,
		"from fits":                "fits.parquet",
		"from tabel":               `no table "tabel"`,
		"select 9223372036854775807::hugeint + 1": "out of range",
		"select error('boom')":                    "boom",
		"select case when i = 900000 then error('late') else i end from range(1000000) r(i)": "late",
	} {
		out, err := ask(d, "csv", in.Replace(sql))
		switch {
		case !errors.Is(err, ErrSQL):
			t.Errorf("%.80q: %q, %v: want it refused", sql, out, err)
		case want == "late" && strings.Contains(err.Error(), "--threads 1"): // seldom, on few cores
		case !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n"):
			t.Errorf("%.80q: %v\nwant one line with %q", sql, err, want)
		}
		if strings.Contains(out, "42424242") {
			t.Errorf("%.80q read a file", sql)
		}
	}
	if diff := cmp.Diff(before, digests(t, dir)); diff != "" {
		t.Errorf("files changed: %s", diff)
	}
	if got := answer(t, d, "select count(*) from curve"); got != "2" {
		t.Errorf("afterwards: %s", got)
	}
}

// The locked configuration holds without the checks before it, too.
func TestLockedDoor(t *testing.T) {
	d, dir := opened(t, Options{Memory: 256e6})
	other := filepath.Join(t.TempDir(), "other.csv")
	if err := os.WriteFile(other, []byte("a\n1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	e, err := openEngine(d.options)
	if err != nil {
		t.Fatal(err)
	}
	defer duck.Close(&e.db)
	c, err := e.connect()
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	for _, sql := range []string{
		"from read_csv(" + text(other) + ")", "from glob('/*')", "copy (select 1) to " + text(other), "attach " +
			text(dir+"/x.db"),
		"copy (select 1) to " + text(filepath.Join(dir, "curve.parquet")), "set enable_external_access = true",
		"set memory_limit = '99GB'",
		"set allowed_paths = ['/etc/passwd']", "set temp_directory = '/tmp'", "install httpfs", "load '/tmp/x.so'",
		"reset lock_configuration",
		"export database " + text(dir+"/x"), "from read_text('/etc/passwd')",
	} {
		if err := c.exec(sql); err == nil {
			t.Errorf("%s was done", sql)
		}
	}
}

func TestLimits(t *testing.T) {
	d, _ := opened(t, Options{Memory: 128e6, Timeout: time.Second})
	for sql, want := range map[string]string{
		"with recursive t(i) as (select 1 union all select i from t) select count(*) from t": "--timeout",
		"select count(*) from range(1000000) a, range(1000000) b":                            "--timeout",
		"select * from trials a, trials b, trials c":                                         "--timeout",
		"select list(i) from range(1000000000) t(i)":                                         "--memory",
	} {
		_, err := ask(d, "csv", sql)
		if !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), "--") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", sql, err, want)
		}
	}
	if got := answer(t, d, "select count(*) from curve"); got != "2" {
		t.Errorf("afterwards: %s", got)
	}
}

func TestMemory(t *testing.T) {
	d, _ := opened(t, Options{Memory: 64e6})
	_, err := ask(d, "csv", "select i, repeat('x', 1000) || random() as t from range(10000000) r(i) order by t")
	if !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), "64 MB") {
		t.Errorf("sort: %v", err)
	}
}

func TestCancel(t *testing.T) {
	d, _ := opened(t, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	r, err := d.Query(ctx, "select * from range(100000000000)")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rec, err := r.Next()
	if err != nil || rec.NumRows() == 0 {
		t.Fatal(rec, err)
	}
	rec.Release()
	cancel()
	if _, err := r.Next(); !errors.Is(err, context.Canceled) {
		t.Errorf("after cancel: %v", err)
	}
}

// Questions that do not let go end all the same, with the memory that they took: the engine answers
// neither an interrupt nor its own limit while it makes one value.
func TestKilled(t *testing.T) {
	for _, tt := range []struct {
		sql  string
		o    Options
		want string
	}{
		{"select length(list_sort(range(600000000))::varchar)", Options{Memory: 256e6}, "--memory"},
		{"select levenshtein(repeat('ab', 100000), repeat('ba', 100001))", Options{Timeout: time.Second}, "--timeout"},
		{"select length(repeat('x', 700000000) || repeat('y', 700000000))", Options{Memory: 128e6}, "--memory"},
		{"select repeat('x', 70000000)", Options{}, "a row of the answer has 70 MB"},
	} {
		d, _ := opened(t, tt.o)
		before := resident(os.Getpid())
		if out, err := ask(d, "csv", tt.sql); !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %.100q, %v, want %s", tt.sql, out, err, tt.want)
		}
		if grown := resident(os.Getpid()) - before; grown > 100e6 {
			t.Errorf("%s: this process has grown by %d bytes", tt.sql, grown)
		}
		if got := answer(t, d, "select count(*) from curve"); got != "2" {
			t.Errorf("afterwards: %s", got)
		}
	}
}

// A process that the system ended, idle or at work, does not take the next question with it.
func TestProcessDies(t *testing.T) {
	d, _ := opened(t, Options{})
	p := d.idle[0]
	p.kill()
	<-p.ended
	if got := answer(t, d, "select 1"); got != "1" {
		t.Errorf("after an idle one died: %s", got)
	}
	r, err := d.Query(context.Background(), "select * from range(100000000000)")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.process.kill()
	for err == nil {
		var rec arrow.Record
		if rec, err = r.Next(); err == nil {
			rec.Release()
		}
	}
	if !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), "killed") {
		t.Errorf("at work: %v", err)
	}
	if got := answer(t, d, "select 1"); got != "1" {
		t.Errorf("after one at work died: %s", got)
	}
}

// Large rows pass in parts that the reader's limit on a batch admits, and none is lost.
func TestLargeRows(t *testing.T) {
	d, _ := opened(t, Options{})
	r, err := d.Query(context.Background(), "select i, repeat('x', 50000 * (i % 7)::int) x from range(300) r(i)")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	next := int64(0)
	err = render.EachBatch(r, func(rec arrow.Record) error {
		if n := bytesOf(rec); n > 4*batchBytes {
			t.Errorf("a batch of %d bytes", n)
		}
		for i := range int(rec.NumRows()) {
			n, x := render.AnswerValue(rec.Column(0), i), render.AnswerValue(rec.Column(1), i)
			if n != next || len(x.(string)) != 50000*int(next%7) {
				t.Fatalf("row %d is %v with %d bytes", next, n, len(x.(string)))
			}
			next++
		}
		return nil
	})
	if err != nil || next != 300 {
		t.Errorf("%d rows, %v", next, err)
	}
}

// SQL shows no path of this machine.
func TestNoPaths(t *testing.T) {
	t.Setenv("HOME", "/secret-home")
	d, dir := opened(t, Options{})
	for _, sql := range []string{
		"select sql from duckdb_views()", "explain from trials", "explain analyze from trials",
		"select current_setting('allowed_paths')", "select current_setting('home_directory')",
		"select current_setting('secret_directory')", "select current_setting('extension_directory')",
		"select current_setting('allowed_directories')", "select current_setting('temp_directory')",
	} {
		out, err := ask(d, "csv", sql)
		if err != nil {
			out = err.Error()
		}
		if strings.Contains(out, dir) || strings.Contains(out, "secret-home") || strings.Contains(out, "/root") {
			t.Errorf("%s shows a path: %s", sql, out)
		}
	}
}

// counter is a writer that counts bytes and drops them.
type counter int64

func (c *counter) Write(b []byte) (int, error) { *c += counter(len(b)); return len(b), nil }

// An answer of any length takes a constant amount of memory.
func TestStreams(t *testing.T) {
	testkit.Serial(t)
	d, _ := opened(t, Options{Memory: 128e6})
	const n = 2_000_000
	r, err := d.Query(context.Background(), "select i, repeat('x', 120) as x from range(2000000) r(i)")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	before, most := resident(os.Getpid()), int64(0)
	var out counter
	watch := writerFunc(func(b []byte) (int, error) { most = max(most, resident(os.Getpid())); return out.Write(b) })
	if err := Write(watch, r, "csv", 0); err != nil {
		t.Fatal(err)
	}
	if out < 120*n {
		t.Errorf("%d bytes", out)
	}
	if grown := most - before; grown > 150e6 {
		t.Errorf("%d bytes of memory for an answer of %d", grown, out)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

const odd = `select * from (values (1, 1.5::double, 'a,"b"' || chr(10) || 'c', true), (null, null, null, null), (-9223372036854775807, 'inf'::double, ' x', false),
	(3, 1e-300, '\.', null), (4, 0.1::double, '<&>', null)) v("i", "f 1", "t,", "b")`

func TestFormats(t *testing.T) {
	d, _ := opened(t, Options{})
	got := map[string]string{}
	for _, format := range Formats() {
		out, err := ask(d, format, odd)
		if err != nil {
			t.Fatal(format, err)
		}
		got[format] = out
	}
	for format, want := range map[string]string{
		"csv": "i,f 1,\"t,\",b\n1,1.5,\"a,\"\"b\"\"\nc\",true\n,,,\n-9223372036854775807,+Inf,\" " +
			"x\",false\n3,1e-300,\"\\.\",\n4,0.1,<&>,\n",
		"json": "[\n{\"i\": 1, \"f 1\": 1.5, \"t,\": \"a,\\\"b\\\"\\nc\", \"b\": true},\n{\"i\": null, \"f 1\": null, " +
			"\"t,\": null, \"b\": null},\n" +
			"{\"i\": -9223372036854775807, \"f 1\": null, \"t,\": \" x\", \"b\": false},\n{\"i\": 3, \"f 1\": 1e-300, \"t,\": " +
			"\"\\\\.\", \"b\": null},\n" +
			"{\"i\": 4, \"f 1\": 0.1, \"t,\": \"\\u003c\\u0026\\u003e\", \"b\": null}\n]\n",
	} {
		if diff := cmp.Diff(want, got[format]); diff != "" {
			t.Errorf("%s: %s", format, diff)
		}
	}
	if lines := strings.Split(got["table"], "\n"); len(lines) != 7 || !strings.Contains(lines[1], `a,"b" c`) ||
		!strings.Contains(lines[2], "-") {
		t.Errorf("table:\n%s", got["table"])
	}
	if !strings.HasPrefix(got["md"], "| i | f 1 | t, | b |\n| ---: | ---: | --- | ---: |\n") {
		t.Errorf("md:\n%s", got["md"])
	}
	if _, err := csv.NewReader(strings.NewReader(got["csv"])).ReadAll(); err != nil {
		t.Error(err)
	}
	if !json.Valid([]byte(got["json"])) {
		t.Error("json is not valid")
	}
	checkArrow(t, got["arrow"])
	path := filepath.Join(t.TempDir(), "x.parquet")
	if err := os.WriteFile(path, []byte(got["parquet"]), 0o666); err != nil {
		t.Fatal(err)
	}
	plain, err := newDuck(t, "from read_parquet("+text(path)+")")
	if err != nil || plain != 5 {
		t.Errorf("parquet: %d rows, %v", plain, err)
	}
}

// newDuck counts the rows of a question to an engine whose configuration is not locked.
func newDuck(t *testing.T, from string) (int64, error) {
	t.Helper()
	e := &engine{}
	if err := e.start(); err != nil {
		return 0, err
	}
	defer duck.Close(&e.db)
	c, err := e.connect()
	if err != nil {
		return 0, err
	}
	defer c.close()
	s, err := c.statement("select count(*) " + from)
	if err != nil {
		return 0, err
	}
	defer s.close()
	r, err := s.run(nil)
	if err != nil {
		return 0, err
	}
	defer r.close()
	rec, err := r.next()
	if err != nil {
		return 0, err
	}
	defer rec.Release()
	return render.AnswerValue(rec.Column(0), 0).(int64), nil
}

func checkArrow(t *testing.T, raw string) {
	t.Helper()
	r, err := ipc.NewReader(strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	var rows [][]any
	for r.Next() {
		rec := r.Record()
		for i := range int(rec.NumRows()) {
			var row []any
			for _, c := range rec.Columns() {
				row = append(row, render.AnswerValue(c, i))
			}
			rows = append(rows, row)
		}
	}
	want := [][]any{
		{int64(1), 1.5, "a,\"b\"\nc", true}, {nil, nil, nil, nil}, {int64(-math.MaxInt64), math.Inf(1), " x", false},
		{int64(3), 1e-300, `\.`, nil}, {int64(4), 0.1, "<&>", nil},
	}
	if diff := cmp.Diff(want, rows); diff != "" || r.Err() != nil {
		t.Error(diff, r.Err())
	}
}

func TestTooLongToShow(t *testing.T) {
	d, _ := opened(t, Options{})
	if _, err := ask(d, "table", "from range(10001)"); !errors.Is(err, ErrSQL) || !strings.Contains(err.Error(), "limit") {
		t.Error(err)
	}
	if _, err := ask(d, "md", "from range(10000)"); err != nil {
		t.Error(err)
	}
	out, err := ask(d, "table", "explain from trials where n = 100")
	if err != nil || strings.Count(out, "\n") < 10 || !strings.Contains(out, "READ_PARQUET") {
		t.Errorf("explain: %v\n%s", err, out)
	}
}

// Write returns the error of its writer.
func TestWriterFails(t *testing.T) {
	d, _ := opened(t, Options{})
	full := errors.New("disk is full")
	forPeople := func(f string) bool { return slices.Contains([]string{"table", "md", "tex"}, f) }
	for _, format := range slices.DeleteFunc(Formats(), forPeople) {
		r, err := d.Query(context.Background(), "select i, random() from range(200000) r(i)")
		if err != nil {
			t.Fatal(err)
		}
		if err := Write(writerFunc(func([]byte) (int, error) { return 0, full }), r, format, 0); !errors.Is(err, full) {
			t.Errorf("%s: %v", format, err)
		}
		r.Close()
	}
}

var _ io.Writer = (*counter)(nil)
