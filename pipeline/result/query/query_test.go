//go:build cgo

package query

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/google/go-cmp/cmp"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/ledger/ledgertest"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/result/render"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

const rows = 5000 // of each of the two sample sizes of the result

// errorOf returns the error of a trial of the result.
func errorOf(n, repetition int64) float64 { return float64((repetition*n)%97) / 97 }

// copyResult copies a small result into dir.
func copyResult(t testing.TB, dir string) {
	t.Helper()
	small.Do(func() {
		folder := t.TempDir()
		makeResult(t, folder)
		for _, name := range names {
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

// opened opens a result for queries until the test ends.
func opened(t testing.TB, o Options) (*DB, string) {
	t.Helper()
	dir := t.TempDir()
	copyResult(t, dir)
	d, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d, dir
}

// shared returns a result that several tests read, because opening is slow. It has no time limit.
func shared(t testing.TB) *DB {
	t.Helper()
	if common == nil {
		var err error
		if commonDir, err = os.MkdirTemp("", "shatter-query-test-"); err != nil {
			t.Fatal(err)
		}
		copyResult(t, commonDir)
		if common, err = Open(commonDir, Options{}); err != nil {
			t.Fatal(err)
		}
	}
	return common
}

var (
	common    *DB
	commonDir string
)

func TestMain(m *testing.M) {
	code := m.Run()
	if common != nil {
		_ = errors.Join(common.Close(), os.RemoveAll(commonDir))
	}
	os.Exit(code)
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
	d := shared(t)
	for sql, want := range map[string]string{
		`select count(*) from trials`:                                     "10000",
		`select sum(repetition)::double from trials where n = 200`:        "1.24975e+07",
		`select n_star, theory_n, ratio_low, p_rounds from cells`:         "200,432.5,,7",
		`select "table".n_star from curve, "table" order by all limit 1`:  "200",
		`select algorithm from "table"`:                                   `"it's, ""em"""`,
		`select 'a' x, 'b' x, null`:                                       "a,b,",
		`select sum(n), 0.1, 1::tinyint, true from curve`:                 "300,0.1,1,true",
		`select list(n order by n), {a: 1}, date '2020-01-02' from curve`: `"[100, 200]",{'a': 1},2020-01-02`,
		`with t as (from curve) select n from t where n > 100;`:           "200",
		`values (1), (2)`: "1\n2",
		`pivot (select n, trials from curve) on n in (100, 200) using sum(trials)`: "5000,5000",
		`select 1 -- the end`:                               "1",
		`select column_name from (describe trials) limit 1`: "cell",
		`select max(i) from range(3) r(i)`:                  "2",
		"select\u200b1":                                     "1", // a zero-width space
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
		"thresholds"); got != "kbcd000000,1.5" {
		t.Errorf("parameters and a cast: %s", got)
	}
}

// metricColumns counts the columns that parameters and metrics add to a test result.
var metricColumns = map[string]int{"table": 1, "curve": 1}

func TestViews(t *testing.T) {
	d := shared(t)
	seen := map[string]int{}
	for _, v := range d.Views() {
		seen[v.Name] = len(v.Columns)
		for _, c := range v.Columns {
			if c.Doc == "" {
				t.Errorf("%s.%s has no meaning", v.Name, c.Name)
			}
		}
	}
	want := map[string]int{"bounds": 8, "timing": 9, "fits": len(result.Columns("fits"))}
	for _, name := range []string{"table", "curve"} {
		want[name] = len(result.Columns(name)) + metricColumns[name]
	}
	want["failures"] = len(result.Columns("failures")) + len(trial.KeyColumns()) - 1 + 1
	want["trials"] = len(result.Columns("trials")) + len(trial.KeyColumns()) - 1 + 1
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

// Trials have the key columns of their cells.
func TestKeysOfTrials(t *testing.T) {
	d := shared(t)
	for sql, want := range map[string]string{
		"select n, epsilon, count(*) from trials group by all order by n": "100,0.5,5000\n" +
			"200,0.5,5000",
		"select count(*) from trials where class = 'thresholds' and P_ROUNDS = 7":               "10000",
		"with t as (select * from trials) select max(epsilon) from t":                           "0.5",
		"select max(t.domain) from trials t join cells c using (cell)":                          "256",
		"select count(*) from (select * from trials join cells using (cell))":                   "10000",
		"select count(column_name) from (describe trials) where column_name = 'epsilon'":        "1",
		"select count(*) from trials a join trials b using (cell, n, repetition) where b.n=100": "5000",
	} {
		if got := answer(t, d, sql); got != want {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
}

// Names of folders are never interpreted as patterns or as SQL.
func TestStrangeFolders(t *testing.T) {
	base := t.TempDir()
	for _, name := range []string{"it's a*b? [ab] {x,y}", `back\slash; ünï q"q`} {
		dir := filepath.Join(base, name)
		copyResult(t, dir)
		d, err := Open(dir, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := ask(d, "csv", "select count(*) from trials"); err != nil ||
			!strings.HasSuffix(got, "\n10000\n") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		d.Close()
	}
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

// Hostile queries get one clear message, read nothing outside the result, and write nothing.
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
		"copy curve to 'DIR/curve.parquet'":                        `"copy"`,
		"COPY (select 1) TO 'DIR/new.csv'":                         "disabled",
		"explain analyze copy (select 1) to 'DIR/curve.parquet'":   `"explain"`,
		"explain (analyze) copy (select 1) to 'DIR/curve.parquet'": `"explain"`,
		"explain /* */ analyze copy (select 1) to 'DIR/new.csv'":   "disabled",
		"/* explain */ copy curve to 'DIR/new.csv'":                "disabled",
		"create table x(i int)":                                    `"create"`,
		"create or replace view curve as select 1":                 `"create"`,
		"create macro f() as 1":                                    `"create"`,
		"create secret (type s3)":                                  "s3",
		"drop view curve":                                          `"drop"`,
		"alter view curve rename to x":                             `"alter"`,
		"insert into curve values (1)":                             "curve",
		"delete from trials":                                       "can only delete",
		"update curve set n = 1":                                   "can only update",
		"truncate trials":                                          "can only delete",
		"export database 'DIR/x'":                                  "disabled",
		"import database 'DIR/x'":                                  "disabled",
		"attach 'DIR/x.db'":                                        `"attach"`,
		"detach memory":                                            `"detach"`,
		"vacuum":                                                   `"vacuum"`,
		"checkpoint":                                               `"checkpoint"`,
		"begin":                                                    `"begin"`,
		"with x as (insert into t values (1) returning *) from x":  "CTE needs a SELECT",
		// comments that hide the explained statement, or its absence
		"explain (/*) select 1 --*/ analyze) drop view curve":       "",
		"explain (/*) select 1 --*/ analyze) create table x(i int)": "",
		// settings and code
		"set memory_limit = '99GB'":                           `"set"`,
		"reset memory_limit":                                  `"reset"`,
		"pragma enable_profiling":                             `"enable_profiling"`,
		"pragma threads = 99":                                 `"pragma"`,
		"set variable x = 1":                                  `"set"`,
		"use memory":                                          `"use"`,
		"install httpfs":                                      `"install"`,
		"load 'DIR/x.so'":                                     `"load"`,
		"call enable_logging()":                               `"enable_logging"`,
		"prepare x as select 1":                               `"prepare"`,
		"execute x":                                           "does not exist",
		"from query('from ''DIR/secret.csv''')":               `"query"`,
		"from query('from enable_' || 'logging()')":           `"query"`,
		"from system.main.\"ENABLE_LOGGING\"(storage='file')": `"ENABLE_LOGGING"`,
		"with t as materialized (from truncate_duckdb_logs()) from t":            `"truncate_duckdb_logs"`,
		"select sleep_ms(100000)":                                                `"sleep_ms"`,
		"explain analyze copy curve to 'DIR/c.csv' (use_tmp_file false)":         "disabled",
		"explain analyze copy curve to 'DIR/curve.parquet' (use_tmp_file false)": `"explain"`,
		// reading
		"select * from read_csv('/etc/passwd')":            "disabled",
		"select * from read_text('DIR/secret.csv')":        "disabled",
		"select * from read_blob('/proc/self/environ')":    "disabled",
		"select * from read_parquet('DIR/*.parquet')":      "disabled",
		"select * from parquet_metadata('DIR/secret.csv')": "disabled",
		"select * from sniff_csv('/etc/passwd')":           "disabled",
		"select * from read_json('DIR/secret.csv')":        "",
		"select * from read_duckdb('DIR/secret.csv')":      "disabled",
		"select * from glob('/*')":                         "disabled",
		"select * from '/etc/passwd'":                      "no table \"/etc/passwd\"",
		"select * from 'DIR/secret.csv'":                   "disabled",
		"describe 'DIR/secret.csv'":                        "disabled",
		"explain from 'DIR/secret.csv'":                    "disabled",
		"from 'file://DIR/secret.csv'":                     "disabled",
		"select * from 'http://127.0.0.1:1/x.parquet'":     "disabled",
		"select * from 's3://bucket/x.parquet'":            "disabled",
		"select getenv('HOME')":                            "does not exist",
		"from arrow_scan(1, 2, 3)":                         `"arrow_scan"`,
		// several statements, an incomplete one, none
		"select 1; drop view curve":          "several statements",
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
		"select nosuch from curve":                `"nosuch" not found`,
		"from tabel":                              `no table "tabel"`,
		"select 9223372036854775807::hugeint + 1": "out of range",
		"select error('boom')":                    "boom",
		"select case when i = 900000 then error('late') else i end from range(1000000) r(i)": "late",
	} {
		out, err := ask(d, "csv", in.Replace(sql))
		switch {
		case !errors.Is(err, ErrSQL):
			t.Errorf("%.80q: %q, %v: want it refused", sql, out, err)
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

// DuckDB's settings suffice without the checks of statements.
func TestLocked(t *testing.T) {
	d, dir := opened(t, Options{Memory: 256e6})
	before := digests(t, dir)
	for _, sql := range []string{
		"from read_csv('/etc/passwd')", "from glob('/*')", "copy (select 1) to " + text(dir+"/new.csv"),
		"attach " + text(dir+"/x.db"), "copy (select 1) to " + text(dir+"/curve.parquet"), "drop view curve",
		"create table x(i int)", "set enable_external_access = true", "set memory_limit = '99GB'",
		"set allowed_paths = ['/etc/passwd']", "set temp_directory = '/tmp'", "install httpfs", "load '/tmp/x.so'",
		"reset lock_configuration", "export database " + text(dir+"/x"),
	} {
		if _, err := d.db.Exec(sql); err == nil {
			t.Errorf("%s was done", sql)
		}
	}
	if diff := cmp.Diff(before, digests(t, dir)); diff != "" {
		t.Errorf("files changed: %s", diff)
	}
}

func TestLimits(t *testing.T) {
	d, _ := opened(t, Options{Memory: 128e6, Timeout: 300 * time.Millisecond, Queries: 1, Threads: 1})
	for _, sql := range []string{
		"with recursive t(i) as (select 1 union all select i from t) select count(*) from t",
		"select count(*) from range(1000000) a, range(1000000) b",
	} {
		_, err := ask(d, "csv", sql)
		if !errors.Is(err, ErrTime) || !errors.Is(err, ErrLimit) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", sql, err)
		}
	}
	if got := answer(t, d, "select count(*) from curve"); got != "2" {
		t.Errorf("afterwards: %s", got)
	}
}

func TestMemory(t *testing.T) {
	d, _ := opened(t, Options{Memory: 64e6})
	for _, sql := range []string{
		"select repeat('x', 1000000) || i from range(200) r(i)",
		"select i, repeat('x', 1000) || random() as t from range(100000) r(i) order by t",
	} {
		if _, err := ask(d, "csv", sql); !errors.Is(err, ErrMemory) || !strings.Contains(err.Error(), "64 MB") {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

func TestCancel(t *testing.T) {
	d := shared(t)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	endless := "select count(*) from range(1000000) a, range(1000000) b"
	if _, err := d.Query(ctx, endless); !errors.Is(err, context.Canceled) {
		t.Errorf("running: %v", err)
	}
	ctx, cancel = context.WithCancel(context.Background())
	r, err := d.Query(ctx, "select * from range(100000)")
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
		t.Errorf("reading: %v", err)
	}
}

// Large rows are sent in parts that the reader's limit on a batch admits, and none is lost.
func TestLargeRows(t *testing.T) {
	d := shared(t)
	r, err := d.Query(context.Background(), "select i, repeat('x', 50000 * (i % 7)::int) x from range(70) r(i)")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	next := int64(0)
	err = render.EachBatch(r, func(rec arrow.Record) error {
		if rec.NumRows() > 60 {
			t.Errorf("a batch of %d rows", rec.NumRows())
		}
		for i := range int(rec.NumRows()) {
			n, x := sheet.ValueAt(rec.Column(0), i), sheet.ValueAt(rec.Column(1), i)
			if n != next || len(x.(string)) != 50000*int(next%7) {
				t.Fatalf("row %d is %v with %d bytes", next, n, len(x.(string)))
			}
			next++
		}
		return nil
	})
	if err != nil || next != 70 {
		t.Errorf("%d rows, %v", next, err)
	}
}
