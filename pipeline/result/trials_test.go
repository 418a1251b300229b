package result

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/parquet/file"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/ledger/ledgertest"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// manyTrials returns a result of 3 cells at 2 sample sizes with a number of trials each, of which
// about 1 % failed.
func manyTrials(t testing.TB, each int64, failed int) (r Result, rows int64) {
	t.Helper()
	const message = 7_000
	random := rand.New(rand.NewPCG(3, 4))
	r.Ledger = ledgertest.Open(t, "")
	for i := range byte(3) {
		c := &trial.Cell{Problem: &schemas.Problem{}, Evaluation: &problem.Evaluation{}, Key: trial.Key{1, i},
			Task: "learn", As: "a", Alpha: 0.25, Beta: 0.1}
		points := []Point{{N: 10, Consumed: each}, {N: 20, Consumed: each}}
		for _, p := range points {
			for first := int64(0); first < each+5; first += message { // a few trials are not consumed
				b := ledgertest.Batch(int(min(message, each+5-first)), first)
				b.Cell, b.N, b.Kind = c.Key, p.N, make([]string, len(b.Error))
				for j := range b.Error {
					if b.Error[j] = random.Float64(); random.IntN(100) < failed {
						b.Status[j], b.Error[j], b.Kind[j] = ledger.Failed, nan, []string{"panic", "answer"}[random.IntN(2)]
					}
				}
				ledgertest.Add(t, r.Ledger, b)
			}
			rows += p.Consumed
		}
		r.Trials = append(r.Trials, Consumed{Cell: c, Points: points})
	}
	return r, rows
}

// trials.parquet takes at most 12 bytes per row, and its rows are those of the ledger, in full row
// groups.
func TestManyTrials(t *testing.T) {
	for _, c := range []struct {
		each   int64
		failed int
	}{{sheet.RowGroup / 5, 0}, {17_000, 2}, {2_000, 50}} {
		r, rows := manyTrials(t, c.each, c.failed)
		var written bytes.Buffer
		if err := r.writeTrials(&written); err != nil {
			t.Fatal(err)
		}
		got := written.Bytes()
		if int64(len(got)) > 12*rows {
			t.Errorf("%d %% failed: %d bytes for %d rows", c.failed, len(got), rows)
		}
		dir := testkit.MemoryDir(t)
		path := filepath.Join(dir, "trials.parquet")
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
		checkGroups(t, path, rows)
		checkRead(t, dir, r)
	}
}

// checkGroups compares the row groups of a file with its number of rows.
func checkGroups(t *testing.T, path string, rows int64) {
	t.Helper()
	f, err := file.OpenParquetFile(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for i := range f.NumRowGroups() {
		want := min(sheet.RowGroup, rows)
		if got := f.MetaData().RowGroup(i).NumRows(); got != want {
			t.Errorf("row group %d has %d rows, want %d", i, got, want)
		}
		rows -= want
	}
	if rows != 0 {
		t.Errorf("%d rows are missing", rows)
	}
}

// checkRead compares the trials of a folder with the ledger's.
func checkRead(t *testing.T, dir string, r Result) {
	t.Helper()
	table := arrowTable(t, filepath.Join(dir, "trials.parquet"))
	cell, n := columnOf[*array.String](t, table, "cell"), columnOf[*array.Int64](t, table, "n")
	success, e := columnOf[*array.Boolean](t, table, "success"), columnOf[*array.Float64](t, table, "error")
	row := 0
	for _, c := range r.Trials {
		for _, p := range c.Points {
			for want := range r.Ledger.Outcomes(c.Cell.Key, p.N) {
				if want.Repetition >= p.Consumed {
					continue
				}
				at := row + int(want.Repetition)
				ok := want.Status == ledger.OK
				if cell.Value(at) != c.Cell.Key.Short() || n.Value(at) != p.N || e.IsValid(at) != ok ||
					ok && e.Value(at) != want.Error || success.Value(at) != (ok && want.Error <= 0.25+1e-12) {
					t.Fatalf("%s/%d/%d: %v, %v", c.Cell.Key.Short(), p.N, want.Repetition, e.Value(at), success.Value(at))
				}
			}
			row += int(p.Consumed)
		}
	}
}
