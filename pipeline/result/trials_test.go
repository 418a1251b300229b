package result

import (
	"bytes"
	"errors"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/apache/arrow/go/v17/parquet/file"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/ledger/ledgertest"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// manyTrials returns a result of 3 cells at 2 sample sizes with a number of trials each, of which a
// part in a hundred failed.
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
			for first := int64(0); first < each+5; first += message { // not all of them are consumed
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
		r.Trials = append(r.Trials, Consumed{c, points})
	}
	return r, rows
}

// A point that several goroutines read is what its parts are.
func TestReadInParts(t *testing.T) {
	const message = 150_000
	rows, key, random := int64(partRows+message+5), trial.Key{1}, rand.New(rand.NewPCG(5, 6))
	l := ledgertest.Open(t, "")
	for first := int64(0); first < rows; first += message {
		b := ledgertest.Batch(int(min(message, rows-first)), first)
		b.Cell, b.N, b.Kind = key, 10, make([]string, len(b.Error))
		for i := range b.Error {
			if b.Error[i] = random.Float64(); i%1000 == 0 {
				b.Status[i], b.Error[i], b.Kind[i] = ledger.Failed, nan, "panic"
			}
		}
		ledgertest.Add(t, l, b)
	}
	whole := segment{&trial.Cell{Key: key}, Point{N: 10, Consumed: rows}, 0, rows}
	got, err := whole.read(l, new(arena))
	if err != nil {
		t.Fatal(err)
	}
	next := int64(0)
	for part := range whole.parts() {
		want, err := part.read(l, new(arena))
		if err != nil || part.first != next {
			t.Fatalf("the part from %d on begins at %d, %v", next, part.first, err)
		}
		if next = part.last; !slices.Equal(got.status[part.first:next], want.status) {
			t.Errorf("other statuses from %d on", part.first)
		}
		for i, e := range want.error {
			at := int(part.first) + i
			if x := got.error[at]; x != e && (x == x || e == e) || got.kind[at] != want.kind[i] {
				t.Fatalf("trial %d is %v %q, want %v %q", at, x, got.kind[at], e, want.kind[i])
			}
		}
	}
	if next != rows {
		t.Errorf("the parts end at %d of %d", next, rows)
	}
	whole.point.Consumed, whole.last = rows+1, rows+1
	_, err = whole.read(l, new(arena))
	if err == nil || !strings.Contains(err.Error(), "/10/1198581 is not in the ledger") {
		t.Error(err)
	}
}

// trials.parquet takes at most 12 bytes a row, whatever the number of cores its bytes are the same,
// and its rows are those of the ledger, in row groups that are full.
func TestManyTrials(t *testing.T) {
	for _, c := range []struct {
		each   int64
		failed int
	}{{sheet.RowGroup / 5, 0}, {17_000, 2}, {2_000, 50}} {
		r, rows := manyTrials(t, c.each, c.failed)
		got := writtenBy(t, r, 1)
		if !bytes.Equal(got, writtenBy(t, r, 2)) || !bytes.Equal(got, writtenBy(t, r, 8)) {
			t.Error("the number of cores reaches the bytes")
		}
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

// writtenBy returns trials.parquet as that number of cores writes it.
func writtenBy(t *testing.T, r Result, cores int) []byte {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
	var to bytes.Buffer
	if err := r.writeTrials(&to); err != nil {
		t.Fatal(err)
	}
	return to.Bytes()
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
	all, err := ReadTrials(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Trials {
		for _, p := range c.Points {
			got := all[c.Cell.Key.Short()][p.N]
			if got == nil || int64(len(got.Error)) != p.Consumed {
				t.Fatalf("cell %s has not %d trials at n = %d: %v", c.Cell.Key.Short(), p.Consumed, p.N, got)
			}
			for want := range r.Ledger.Outcomes(c.Cell.Key, p.N) {
				rep := want.Repetition
				if rep >= p.Consumed {
					continue
				}
				success := want.Status == ledger.OK && want.Error <= 0.25+1e-12
				if e := got.Error[rep]; e != want.Error && (e == e || want.Error == want.Error) || got.Success[rep] != success {
					t.Fatalf("%s/%d/%d: %v, %v", c.Cell.Key.Short(), p.N, rep, e, got.Success[rep])
				}
			}
		}
	}
}

// Where nobody takes the results, no more than one for each goroutine is made: a disk that is
// slower than they are does not fill the memory. No call outlives a loop that is left.
func TestInOrder(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(64))
	synctest.Test(t, func(t *testing.T) {
		var started, ended atomic.Int64
		double := func(x int) (int, error) {
			started.Add(1)
			defer ended.Add(1)
			if x == 20 {
				return 0, errors.New("twenty")
			}
			return 2 * x, nil
		}
		taken := int64(0)
		for y, err := range inOrder(upTo(1000), double) {
			if synctest.Wait(); started.Load() > taken+maxParallel {
				t.Errorf("%d started while %d were taken", started.Load(), taken)
			}
			if err != nil {
				break
			}
			if y != 2*int(taken) {
				t.Errorf("result %d is %d", taken, y)
			}
			taken++
		}
		if taken != 20 || started.Load() != ended.Load() {
			t.Errorf("%d taken, %d started, %d ended", taken, started.Load(), ended.Load())
		}
	})
}

// upTo returns the sequence 0, 1, ..., n-1.
func upTo(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

// numberAt finds what sorting would put there, with ties and without.
func TestNumberAt(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		v, kinds := make([]float64, 1+r.IntN(60)), 1+r.IntN(60)
		for i := range v {
			v[i] = float64(r.IntN(kinds)) - 3
		}
		sorted, at := slices.Sorted(slices.Values(v)), r.IntN(len(v))
		if got := numberAt(slices.Clone(v), at); got != sorted[at] {
			t.Fatalf("number %d of %v: %v", at, v, got)
		}
	}
}
