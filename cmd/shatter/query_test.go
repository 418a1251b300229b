//go:build cgo

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v17/arrow/flight/flightsql"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/testkit"
)

// runQuery runs the real binary, with SQL on stdin.
func runQuery(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command(binary(t), append([]string{"query"}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// SQL over a view gives what `shatter table` gives, and stdin is read.
func TestQuery(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	dir := finished(t, smallSweep)
	for _, view := range []string{"curve", "bounds", "table"} {
		var got []row
		out, errs, code := shatter(t, "query", dir, `select * from "`+view+`"`, "-o", "json")
		if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 {
			t.Fatalf("%s: exit %d, %v: %s", view, code, err, errs)
		}
		if diff := cmp.Diff(frame(t, dir, view), got); diff != "" {
			t.Errorf("%s: %s", view, diff)
		}
	}
	csv, err := os.ReadFile(filepath.Join(dir, "curve.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if out, _, _ := runQuery(t, "from curve\n", dir, "-o", "csv"); out != string(csv) {
		t.Errorf("csv:\n%s, want\n%s", out, csv)
	}
	out, _, _ := shatter(
		t,
		"query",
		dir,
		"select n, count(*) filter (success) as ok, max(successes) as curve "+
			"from trials join curve using (cell, n) group by cell, n order by cell, n",
		"-o",
		"json",
	)
	var joined []row
	if err := json.Unmarshal([]byte(out), &joined); err != nil || len(joined) != 4 {
		t.Fatal(out, err)
	}
	for _, r := range joined {
		if r["ok"] != r["curve"] {
			t.Errorf("%v", r)
		}
	}
	out, _, code := shatter(t, "query", dir, "--schema")
	if code != 0 || !strings.Contains(out, "error_p90") || !strings.Contains(out, "least error that at least 90 %") {
		t.Errorf("schema: %s", out)
	}
}

func TestQueryMistakes(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	dir := finished(t, smallSweep)
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{dir, "selct 1"}, exitUsage, `syntax error at or near "selct" (line 1, column 1)`},
		{[]string{dir, "-"}, exitUsage, "no SQL"},
		{[]string{dir, "select 1", "-o", "xml"}, exitUsage, "one of table, json"},
		{[]string{dir, "select 1", "--memory", "much"}, exitUsage, "500MB"},
		{[]string{dir, "select 1", "--memory", "1KB"}, exitUsage, "from 32MB"},
		{[]string{dir, "select 1", "--timeout", "-1s"}, exitUsage, "--timeout"},
		{[]string{dir, "--schema", "select 1"}, exitUsage, "no SQL"},
		{[]string{dir + "/nowhere", "select 1"}, exitUsage, "shatter-out/NAME"},
		{[]string{t.TempDir(), "select 1"}, exitUsage, "neither results nor a ledger"},
		{[]string{}, exitUsage, "query DIR... [SQL]"},
		{
			[]string{dir, "select count(*) from range(1000000) a, range(1000000) b", "--timeout", "300ms"}, exitUnfinished,
			"longer than 300ms; raise it with --timeout",
		},
	} {
		out, errs, code := shatter(t, append([]string{"query"}, test.args...)...)
		if code != test.code || out != "" || !strings.Contains(errs, test.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: exit %d, %q, %s\nwant %d with %q", test.args, code, out, errs, test.code, test.want)
		}
	}
}

// The files open elsewhere, with the same numbers.
func TestOtherReaders(t *testing.T) {
	node := os.Getenv("SHATTER_TEST_NODE")
	modules := os.Getenv("SHATTER_NODE_MODULES")
	if modules == "" {
		modules = "testdata/node/node_modules"
	}
	if _, err := os.Stat(modules); err != nil {
		if node == "required" {
			t.Fatalf("the readers are not installed: %v; run npm install in cmd/shatter/testdata/node", err)
		}
		t.Skip("the readers are not installed: run npm install in cmd/shatter/testdata/node")
	}
	testkit.Long(t)
	t.Parallel()
	dir := finished(t, smallSweep)
	tmp := t.TempDir()
	if err := os.CopyFS(tmp, os.DirFS("testdata/node")); err != nil {
		t.Fatal(err)
	}
	abs, err := filepath.Abs(modules)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(tmp, "node_modules")); err != nil {
		if err := os.Symlink(abs, filepath.Join(tmp, "node_modules")); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string][]row{}
	names := []string{"table", "curve", "bounds", "timing", "trials"}
	args := []string{"read.mjs", tmp}
	for _, name := range names {
		sql := `from "` + name + `"`
		if name == "trials" {
			sql = "from trials order by cell, n, repetition"
		}
		out, errs, code := shatter(t, "query", dir, sql, "-o", "json")
		var rows []row
		if err := json.Unmarshal([]byte(out), &rows); err != nil || code != 0 {
			t.Fatalf("%s: exit %d, %v: %s", name, code, err, errs)
		}
		raw, err := os.ReadFile(filepath.Join(dir, name+".parquet"))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(tmp, name+".parquet"), string(raw))
		for _, format := range []string{"arrow", "parquet"} {
			out, _, _ := shatter(t, "query", dir, sql, "-o", format)
			write(t, filepath.Join(tmp, "answer-"+name+"."+format), out)
		}
		for _, file := range []string{name + ".parquet", "answer-" + name + ".arrow", "answer-" + name + ".parquet"} {
			want[file], args = rows, append(args, file)
		}
		want[name+".parquet"] = ofFile(t, filepath.Join(dir, name+".parquet"), rows)
	}
	cmd := exec.Command("node", args...)
	cmd.Dir = tmp
	cmd.Stderr = os.Stderr
	raw, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]map[string][]row
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for reader, files := range got {
		for file, rows := range files {
			seen++
			if diff := cmp.Diff(want[file], rows); diff != "" {
				t.Errorf("%s, %s: %.2000s", reader, file, diff)
			}
		}
	}
	if seen != 3*10+5 {
		t.Errorf("%d files read, want 35", seen)
	}
}

// ofFile returns the rows of a view with the columns of its file only: trials have the columns of their
// cells too.
func ofFile(t *testing.T, path string, rows []row) (own []row) {
	t.Helper()
	name := strings.TrimSuffix(filepath.Base(path), ".parquet")
	file, err := sheet.ReadTable(filepath.Dir(path), name)
	if err != nil {
		t.Fatal(err)
	}
	for _, all := range rows {
		one := row{}
		for _, c := range file.Columns {
			one[c.Name] = all[c.Name]
		}
		own = append(own, one)
	}
	return own
}

func TestServe(t *testing.T) {
	t.Parallel()
	dir := finished(t, smallSweep)
	cert, key, trusted := certificate(t, time.Now().Add(time.Hour))
	token := strings.Repeat("t0ken", 5)
	cmd := exec.Command(binary(t), "serve", dir, "--tls-cert", cert, "--tls-key", key)
	cmd.Env = append(os.Environ(), tokenVariable+"="+token)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }() // it has ended, unless the test has failed
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err, errs.String())
	}
	c, err := flightsql.NewClient(
		strings.TrimPrefix(strings.TrimSpace(line), "grpc+tls://"),
		nil,
		nil,
		grpc.WithTransportCredentials(credentials.NewClientTLSFromCert(trusted, "")),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if _, err := c.Execute(ctx, "from curve"); err == nil {
		t.Error("a call without the token is answered")
	}
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	info, err := c.Execute(ctx, "select sum(trials) from cells")
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.DoGet(ctx, info.Endpoint[0].Ticket)
	if err != nil || !r.Next() || r.Record().Column(0).ValueStr(0) != "4000" {
		t.Errorf("sum of trials: %v, %v", r, err)
	}
	r.Release()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(errs.String(), "adbc_driver_flightsql") ||
		strings.Contains(errs.String(), token) {
		t.Errorf("end: %v: %s", err, errs.String())
	}
}

func TestServeMistakes(t *testing.T) {
	dir := finished(t, smallSweep)
	t.Setenv(tokenVariable, "")
	tmp := t.TempDir()
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{dir, "--listen", "0.0.0.0:0"}, "--token-file"},
		{[]string{dir, "--listen", ":0"}, "--token-file"},
		{[]string{dir, "--listen", "nowhere"}, "HOST:PORT"},
		{[]string{dir, "--listen", "127.0.0.1:99999"}, "port 0"},
		{[]string{dir, "--token-file", filepath.Join(tmp, "none")}, "--token-file"},
		{[]string{dir, "--token-file", write(t, filepath.Join(tmp, "empty"), "\n")}, "empty"},
		{[]string{dir, "--token-file", write(t, filepath.Join(tmp, "short"), "secret\n")}, "at least 16"},
		{[]string{dir, "--queries", "0"}, "--queries"},
		{[]string{dir, "--tls-cert", "x"}, "tls-key"},
		{[]string{dir, "--tls-cert", filepath.Join(tmp, "none"), "--tls-key", "x"}, "no such file"},
		{[]string{tmp}, "neither results nor a ledger"},
	} {
		out, errs, code := shatter(t, append([]string{"serve"}, test.args...)...)
		if code != exitUsage || out != "" || !strings.Contains(errs, test.want) {
			t.Errorf("%q: exit %d, %q, %s", test.args, code, out, errs)
		}
	}
}
