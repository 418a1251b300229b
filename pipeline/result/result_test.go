package result

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/pqarrow"
	"github.com/google/go-cmp/cmp"

	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/ledger/ledgertest"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/result/render"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/task"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/trial"
)

var nan = math.NaN()

// cells returns the two cells of the tests' sweep.
func cells() []*trial.Cell {
	halfspace := schemas.Problem{
		Class: "halfspace", Dim: 10, Distribution: "skew", Minority: 0.2, Margin: 0.1, Noise: schemas.Noise{Kind: "none"},
	}
	noisy := halfspace
	noisy.Noise = schemas.Noise{Kind: "random", Rate: 0.05}
	private := &trial.Cell{
		Key: trial.Key{0xab, 0xcd, 1}, DataKey: trial.Key{1, 0xff}, Task: "learn", As: "hs-stl", Problem: &noisy,
		Guarantee: &pluginv1.Guarantee{Source: "Theorem 2", Mu: 0.25}, Epsilon: 1, Delta: 1e-6, Alpha: 0.1, Beta: 0.1,
		Params:     trial.Params{"rounds": int64(50), "lambda": 8.0, "preset": "calibrated", "kappa": math.Copysign(0, -1)},
		Evaluation: &problem.Evaluation{},
	}
	plain := &trial.Cell{
		Key: trial.Key{0x12, 0x34, 2}, Task: "learn", As: "perceptron", Problem: &halfspace,
		Alpha: 0.1, Beta: 0.1, Replica: 1, Params: trial.Params{"rounds": 2.5, "averaged": true},
		Evaluation: &problem.Evaluation{},
	}
	return []*trial.Cell{private, plain}
}

var points = []Point{{N: 100, Consumed: 40}, {N: 200, Consumed: 48}}

// outcome returns the outcome of repetition rep of a cell at n. It is a function of its arguments.
func outcome(b *ledger.Batch, rep int64) (status uint8, e, loss float64) {
	r := rand.New(rand.NewPCG(uint64(b.N)<<8|uint64(b.Cell[0]), uint64(rep)))
	if r.IntN(10) == 0 {
		return ledger.Failed, nan, nan
	}
	e = math.Floor(r.Float64()*40) / 100
	if r.IntN(8) == 0 {
		return ledger.OK, math.Copysign(0, -1), nan
	}
	return ledger.OK, e, r.NormFloat64()
}

// work returns repetitions from to to-1 of a cell as a worker would send them.
func work(c *trial.Cell, n, from, to int64) *ledger.Batch {
	b := &ledger.Batch{Sweep: "s", Cell: c.Key, N: n, Metrics: []string{"loss"}, Values: [][]float64{nil}}
	for rep := from; rep < to; rep++ {
		status, e, loss := outcome(b, rep)
		kind := ""
		if status == ledger.Failed {
			kind = "panic"
		}
		b.Repetition, b.Status, b.Error = append(b.Repetition, rep), append(b.Status, status), append(b.Error, e)
		b.Kind, b.Reason = append(b.Kind, kind), append(b.Reason, strings.Repeat("!", len(kind)*rand.IntN(3)))
		b.Values[0] = append(b.Values[0], loss)
	}
	return b
}

// run fills a ledger in random order, with random batch boundaries, duplicates, lost rows, and
// trials that are never consumed.
func run(t testing.TB, seed uint64) *ledger.Ledger {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	var batches []*ledger.Batch
	for _, c := range cells() {
		for _, p := range points {
			for from := int64(0); from < p.Consumed+20; {
				to := from + 1 + r.Int64N(30)
				b := work(c, p.N, from, to)
				b.Worker, b.Digest = fmt.Sprint(seed), fmt.Sprint(r.IntN(2))
				batches = append(batches, b)
				if r.IntN(3) == 0 {
					batches = append(batches, b)
				}
				from = to - r.Int64N(2)*(to-from)/2
			}
		}
	}
	lost := work(cells()[0], 100, 0, 1)
	lost.Status[0], lost.Error[0], lost.Kind[0] = ledger.Lost, nan, "memory"
	batches = append(batches, lost)
	r.Shuffle(len(batches), func(i, j int) { batches[i], batches[j] = batches[j], batches[i] })
	l := ledgertest.Open(t, "")
	for _, b := range batches {
		if v := ledgertest.Add(t, l, b); v.Conflicts != nil {
			t.Fatalf("%+v", v.Conflicts)
		}
	}
	return l
}

// result returns the result that a coordinator makes of the tests' sweep.
func result(t testing.TB, l *ledger.Ledger) Result {
	t.Helper()
	r := Result{Source: []byte("name: s\n"), Metrics: []string{"loss", "never"}, Ledger: l, Confidence: 0.95}
	for i, c := range cells() {
		c.Evaluation = &problem.Evaluation{Words: "10000 points", StandardError: 0.003}
		curve, err := Curve(l, c, points)
		if err != nil {
			t.Fatal(err)
		}
		for j := range curve {
			curve[j].Rate = float64(curve[j].Successes) / float64(curve[j].Trials)
			curve[j].RateLow, curve[j].RateHigh = curve[j].Rate/2, (1+curve[j].Rate)/2
		}
		r.Curve = append(r.Curve, curve...)
		r.Trials = append(r.Trials, Consumed{Cell: c, Points: points})
		row := TableRow{Cell: c, NLow: 100, NHigh: 200, NStar: 200, NModel: 171.5, NModelLow: 150.25, NModelHigh: 190,
			Status: "decided", Theory: Theory{Value: 1.2e8, Source: "Theorem 5", Standing: trial.Proved},
			PaperN: 7.3e5, PaperSource: "Theorem 1 | as printed", Trials: 88, Failed: curve[0].Failed +
				curve[1].Failed,
			MeanError: curve[1].ErrorMean, UnbiasedError: math.NaN()}
		if i == 1 {
			row.NModel, row.NModelLow, row.NModelHigh = 0, 0, 0
			row.NHigh, row.NStar, row.Status, row.Reason = 0, 0, "undecided", "trial lost:\nlimits.memory"
			row.Theory, row.PaperN, row.PaperSource = Theory{Value: math.Inf(1), Missing: "theorem: labels are wrong"}, 0, ""
		}
		r.Table = append(r.Table, row)
		r.Bounds = append(r.Bounds,
			BoundRow{Cell: c, Name: "theorem", Value: 1.2e8, Standing: trial.Proved, Source: "Theorem 5",
				With: map[string]float64{"k": 3, "v": 0.5}},
			BoundRow{Cell: c, Name: "printed", Value: math.Inf(1), Standing: trial.Printed, Source: "Theorem 1", With: map[string]float64{"m": 4}})
	}
	r.Fits = []FitRow{
		{Group: "epsilon 1", Algorithm: "hs-stl", Model: "power", Term: "d", Cells: 3, Y: "n_model and bracket",
			Coefficient: estimate.Coefficient{Value: 0.52, Error: 0.03, Low: 0.46, High: 0.58, Theory: 0.5},
			Constant:    4, Claimed: 0.5, ClaimedSource: "Theorem 2", Verdict: "not rejected", ChiSquare: 0.75, Freedom: 1,
			PValue: 0.4, Inflation: 1},
		{Fit: 1, Algorithm: "perceptron", Model: "sum", Term: "margin", Cells: 1, Claimed: nan,
			Coefficient: estimate.Coefficient{Value: nan, Error: nan, Low: nan, High: nan, Theory: nan},
			Constant:    nan, ChiSquare: nan, PValue: nan, Inflation: nan, Reason: "1 cell cannot determine 2 coefficients"},
	}
	return r
}

var names = []string{"sweep.yaml", "table.parquet", "curve.parquet", "bounds.parquet", "fits.parquet",
	"trials.parquet", "table.csv", "table.md", "curve.csv"}

// The order, boundaries, duplicates and timings of messages affect no byte of the result.
func TestSameBits(t *testing.T) {
	var digests, contents []string
	for seed := range uint64(4) {
		dir := testkit.MemoryDir(t)
		digest, err := WriteResult(dir, result(t, run(t, seed)))
		if err != nil {
			t.Fatal(err)
		}
		h := sha256.New()
		for _, name := range names {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(h, "%x  %s\n", sha256.Sum256(b), name)
		}
		digests = append(digests, digest)
		contents = append(contents, hex.EncodeToString(h.Sum(nil)))
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != len(names)+2 { // timing and failures
			t.Errorf("files: %v, %v", entries, err)
		}
	}
	if len(slices.Compact(digests)) != 1 || len(slices.Compact(contents)) != 1 {
		t.Errorf("digests %v of contents %v", digests, contents)
	}
}

// The digest covers numbers: a comment in the sweep file does not change it. All Parquet files contain it, and a reader
// who sets it to zeros there can compute it from the files.
func TestOrigin(t *testing.T) {
	dir, r := testkit.MemoryDir(t), result(t, run(t, 0))
	r.Name, r.Seed = "mine", "7"
	before, err := WriteResult(dir, r)
	r.Source = append(r.Source, "# a comment\n"...)
	digest, failed := WriteResult(dir, r)
	if err := errors.Join(err, failed); err != nil || digest != before {
		t.Errorf("digest %s, %s after a comment, %v", before, digest, err)
	}
	want := []string{"shatter.sweep", "mine", "shatter.seed", "7", "shatter.digest", digest}
	for _, name := range []string{"table", "curve", "bounds", "fits", "timing", "failures"} {
		if s, err := sheet.ReadTable(dir, name); err != nil || !slices.Equal(s.Origin, want) {
			t.Errorf("%s: origin %v, %v", name, s, err)
		}
	}
	lines := sha256.New()
	for _, name := range []string{"table.parquet", "curve.parquet", "bounds.parquet", "fits.parquet",
		"trials.parquet", "table.csv", "curve.csv"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		b = bytes.ReplaceAll(b, []byte(digest), []byte(sheet.NoDigest))
		fmt.Fprintf(lines, "%x  %s\n", sha256.Sum256(b), name)
	}
	if got := hex.EncodeToString(lines.Sum(nil)); got != digest {
		t.Errorf("digest %s, computed from the files %s", digest, got)
	}
}

// TestTrialsMakeTheCurve aggregates trials.parquet again with plain Arrow code and compares the
// result with curve.parquet.
func TestTrialsMakeTheCurve(t *testing.T) {
	dir := testkit.MemoryDir(t)
	if _, err := WriteResult(dir, result(t, run(t, 9))); err != nil {
		t.Fatal(err)
	}
	type sums struct{ trials, ok, failed, successes int64 }
	type means struct{ error, low, high, p90, loss float64 }
	counts, exact := map[string]sums{}, map[string]means{}
	var errs, losses []float64
	last := ""
	flush := func() {
		if last == "" {
			return
		}
		m := means{error: average(errs), loss: average(losses)}
		squares := 0.0
		for _, e := range errs {
			squares += (e - m.error) * (e - m.error)
		}
		k := len(errs)
		m.low, m.high = estimate.MeanInterval(m.error, math.Sqrt(squares/float64(k-1)), k, 0.05)
		slices.Sort(errs)
		m.p90 = errs[int(math.Ceil(0.9*float64(len(errs))))-1]
		exact[last] = m
		errs, losses = nil, nil
	}
	trials := arrowTable(t, filepath.Join(dir, "trials.parquet"))
	cell, n, rep := columnOf[*array.String](t, trials, "cell"), columnOf[*array.Int64](t, trials, "n"),
		columnOf[*array.Int64](t, trials, "repetition")
	status, e := columnOf[*array.String](t, trials, "status"), columnOf[*array.Float64](t, trials, "error")
	loss, never := columnOf[*array.Float64](t, trials, "m_loss"), columnOf[*array.Float64](t, trials, "m_never")
	if never.NullN() != never.Len() {
		t.Error("a metric that was never reported has values")
	}
	for i := range cell.Len() {
		at := fmt.Sprint(cell.Value(i), "/", n.Value(i))
		if at != last {
			flush()
			last = at
		}
		s := counts[at]
		if rep.Value(i) != s.trials {
			t.Fatalf("row %d: repetition %d after %d", i, rep.Value(i), s.trials)
		}
		s.trials++
		if status.Value(i) == "ok" {
			s.ok++
			errs = append(errs, e.Value(i))
			if math.Signbit(e.Value(i)) {
				t.Error("-0")
			}
			if e.Value(i) <= 0.1+1e-12 {
				s.successes++
			}
		} else {
			s.failed++
			if e.IsValid(i) {
				t.Error("a failed trial has an error")
			}
		}
		if loss.IsValid(i) {
			losses = append(losses, loss.Value(i))
		}
		counts[at] = s
	}
	flush()
	curve := arrowTable(t, filepath.Join(dir, "curve.parquet"))
	cell, n = columnOf[*array.String](t, curve, "cell"), columnOf[*array.Int64](t, curve, "n")
	if cell.Len() != len(counts) || len(counts) != 4 {
		t.Fatalf("%d rows for %d points", cell.Len(), len(counts))
	}
	for i := range cell.Len() {
		at := fmt.Sprint(cell.Value(i), "/", n.Value(i))
		got := sums{columnOf[*array.Int64](t, curve, "trials").Value(i), columnOf[*array.Int64](t, curve, "ok").Value(i),
			columnOf[*array.Int64](t, curve, "failed").Value(i), columnOf[*array.Int64](t, curve, "successes").Value(i)}
		if got != counts[at] {
			t.Errorf("%s: curve has %+v, trials %+v", at, got, counts[at])
		}
		real := means{columnOf[*array.Float64](t, curve, "error_mean").Value(i),
			columnOf[*array.Float64](t, curve, "error_low").Value(i),
			columnOf[*array.Float64](t, curve, "error_high").Value(i),
			columnOf[*array.Float64](t, curve, "error_p90").Value(i),
			columnOf[*array.Float64](t, curve, "m_loss").Value(i)}
		if real != exact[at] {
			t.Errorf("%s: curve has %+v, trials %+v", at, real, exact[at])
		}
	}
}

func average(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

func arrowTable(t *testing.T, path string) arrow.Table {
	t.Helper()
	f, err := file.OpenParquetFile(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	table, err := r.ReadTable(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(table.Release)
	return table
}

func columnOf[A arrow.Array](t *testing.T, table arrow.Table, name string) A {
	t.Helper()
	i := table.Schema().FieldIndices(name)
	if len(i) != 1 {
		t.Fatalf("no column %q in %v", name, table.Schema())
	}
	return table.Column(i[0]).Data().Chunk(0).(A)
}

// If the sequential rule stops, the error at that moment decides whether the trial is a success,
// and mean errors are those on the first points.
func TestSequentialCurve(t *testing.T) {
	c := cells()[1]
	c.Evaluation.Looks = []int{16, 32}
	b := work(c, 100, 0, 40)
	b.Metrics = []string{task.FirstError}
	first, sum, ok, successes := b.Values[0], 0.0, 0.0, int64(0)
	for i, status := range b.Status {
		if first[i] = nan; status == ledger.OK {
			first[i] = float64(i) / 64
			sum, ok = sum+first[i], ok+1
			if b.Error[i] <= 0.1 {
				successes++
			}
		}
	}
	l := ledgertest.Open(t, "")
	ledgertest.Add(t, l, b)
	curve, err := Curve(l, c, []Point{{N: 100, Consumed: 40}})
	if err != nil {
		t.Fatal(err)
	}
	r := curve[0]
	if r.ErrorMean != sum/ok || r.mean(task.FirstError) != r.ErrorMean || !math.IsNaN(r.ErrorP90) ||
		r.Successes != successes || !(r.ErrorLow < r.ErrorMean && r.ErrorMean < r.ErrorHigh) {
		t.Errorf("row %+v, want the mean %v and %d successes", r, sum/ok, successes)
	}
}

// Row groups are full, and no row is lost at their boundaries.
func TestRowGroups(t *testing.T) {
	path := filepath.Join(testkit.MemoryDir(t), "n.parquet")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := arrow.Field{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{n}, nil))
	w, err := sheet.NewParquetWriter(f, b.Schema())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Release()
	sizes := []int64{sheet.RowGroup - 1, 1, 0, 1, sheet.RowGroup, 5}
	var sum, row int64
	for _, size := range sizes {
		for range size {
			b.Field(0).(*array.Int64Builder).Append(row)
			row++
		}
		rec := b.NewRecord()
		err := w.Write(rec)
		rec.Release()
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	table := arrowTable(t, path)
	for _, chunk := range table.Column(0).Data().Chunks() {
		for _, v := range chunk.(*array.Int64).Int64Values() {
			if v != sum {
				t.Fatalf("row %d has %d", sum, v)
			}
			sum++
		}
	}
	if sum != row {
		t.Errorf("%d of %d rows", sum, row)
	}
}

// A failed write leaves the old result and no other file.
func TestFailureKeepsOldFiles(t *testing.T) {
	dir := testkit.MemoryDir(t)
	r := result(t, run(t, 1))
	digest, err := WriteResult(dir, r)
	if err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, dir)
	missing := r
	points := []Point{{N: 100, Consumed: 40}, {N: 200, Consumed: 1000}}
	missing.Trials = []Consumed{{Cell: r.Trials[0].Cell, Points: points}}
	if _, err := WriteResult(dir, missing); err == nil || !strings.Contains(err.Error(), "trial kbcd010000/200/") {
		t.Errorf("got %v, want the missing trial", err)
	}
	twin := r
	other := *r.Table[0].Cell
	other.Key[31]++
	twin.Table = append(slices.Clone(r.Table), TableRow{Cell: &other})
	if _, err := WriteResult(dir, twin); err == nil || !strings.Contains(err.Error(), "share the first 10 digits") {
		t.Error(err)
	}
	if diff := cmp.Diff(before, snapshot(t, dir)); diff != "" {
		t.Error(diff)
	}
	if again, err := WriteResult(dir, r); err != nil || again != digest {
		t.Error(again, err)
	}
}

// Writing reports the error of a disk that fills up at any byte.
func TestWriteErrors(t *testing.T) {
	r := result(t, run(t, 1))
	for _, f := range layout {
		write := func(w io.Writer) error {
			if f.write != nil {
				return f.write(&r, w)
			}
			s, err := r.Sheet(f.sheet)
			if err != nil {
				return err
			}
			return render.Render(s, w, f.format)
		}
		var all bytes.Buffer
		if err := write(&all); err != nil {
			t.Fatal(err)
		}
		for room := 0; room < all.Len(); room += 1 + all.Len()/3 {
			if err := write(&narrow{room}); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("%s, full after %d bytes: %v", f.name, room, err)
			}
		}
	}
}

// A narrow is a writer that fails after a number of bytes.
type narrow struct{ room int }

func (n *narrow) Write(b []byte) (int, error) {
	if len(b) > n.room {
		return n.room, syscall.ENOSPC
	}
	n.room -= len(b)
	return len(b), nil
}

func snapshot(t *testing.T, dir string) map[string][32]byte {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][32]byte{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = sha256.Sum256(b)
	}
	return all
}

func TestRender(t *testing.T) {
	r := result(t, run(t, 1))
	one := Result{Table: r.Table[:1]}
	for _, c := range []struct {
		r      *Result
		sheet  string
		format string
		golden string
	}{
		{&r, "table", "table", "table.txt"},
		{&r, "table", "md", "table.md"},
		{&r, "table", "csv", "table.csv"},
		{&r, "table", "json", "table.json"},
		{&r, "table", "tex", "table.tex"},
		{&r, "curve", "table", "curve.txt"},
		{&r, "curve", "csv", "curve.csv"},
		{&r, "bounds", "table", "bounds.txt"},
		{&r, "fits", "table", "fits.txt"},
		{&Result{}, "fits", "table", "none.txt"},
		{&one, "table", "table", "one.txt"},
		{&Result{}, "table", "json", "none.json"},
		{&Result{}, "table", "tex", "none.tex"},
		{&Result{}, "table", "table", "none.txt"},
	} {
		t.Run(c.golden, func(t *testing.T) {
			s, err := c.r.Sheet(c.sheet)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := render.Render(s, &got, c.format); err != nil {
				t.Fatal(err)
			}
			testkit.Golden(t, c.golden, got.Bytes())
		})
	}
	s, err := r.Sheet("table")
	if err != nil {
		t.Fatal(err)
	}
	if err := render.Render(s, &bytes.Buffer{}, "xml"); err == nil ||
		err.Error() != "show table as xml: unknown format: must be one of table, json, csv, md, tex, arrow, parquet" {
		t.Error(err)
	}
	if _, err := r.Sheet("trials"); err == nil {
		t.Error("no error")
	}
}

// wide returns a table that is wider than terminals.
func wide(t *testing.T) *sheet.Sheet {
	r := result(t, run(t, 1))
	s, err := r.Sheet("table")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A narrow table keeps the most important columns, names the omitted ones, and shows every reason.
func TestFit(t *testing.T) {
	s := wide(t)
	for width := 200; width > 0; width -= 7 {
		got := fitted(t, s, width)
		parts := strings.Split(got, "\n\n")
		for line := range strings.Lines(got) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
				t.Errorf("width %d: %d characters: %s", width, n, line)
			}
		}
		header, _, _ := strings.Cut(parts[1], "\n")
		for _, name := range []string{"algorithm", "epsilon", "n_low", "n_high", "status"} {
			if !strings.Contains(header, name) && width > 80 {
				t.Errorf("width %d: no %s in %s", width, name, header)
			}
		}
		if all := strings.Join(strings.Fields(got), " "); width > 25 &&
			!(strings.Contains(all, "trial lost: limits.memory") && strings.Contains(all, "confidence 0.95")) {
			t.Errorf("width %d: %s", width, got)
		}
		_, gone, _ := strings.Cut(strings.Join(strings.Fields(parts[2]), " "), "columns left out")
		for _, c := range []string{"privacy", "trials", "mean_error", "theory_n", "ratio_high"} {
			if !strings.Contains(header, c) && !strings.Contains(gone, c) && width > 25 {
				t.Errorf("width %d: %s is left out silently: %s", width, c, got)
			}
		}
	}
	var all bytes.Buffer
	if err := render.Render(s, &all, "table"); err != nil {
		t.Fatal(err)
	}
	if got := fitted(t, s, 1000); got != all.String() {
		t.Errorf("a wide terminal changes the table: %s", got)
	}
}

// A short table keeps every reason and alarm. It counts the columns and sources that it omits.
func TestShortTable(t *testing.T) {
	s := wide(t)
	s.Notes = append(s.Notes, "integrity alarm: n* is withheld")
	var long, short strings.Builder
	for b, v := range map[*strings.Builder]render.View{&long: {Width: 100}, &short: {Width: 100, Short: true}} {
		if err := v.Render(s, b, "table"); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"n_low", "n_high", "trial lost: limits.memory", "confidence 0.95", "integrity alarm"} {
		if !strings.Contains(short.String(), text) || !strings.Contains(long.String(), text) {
			t.Errorf("%q is missing:\n%s\n%s", text, short.String(), long.String())
		}
	}
	if strings.Contains(short.String(), "Theorem 5") || !strings.Contains(long.String(), "theory_n: Theorem 5") ||
		!regexp.MustCompile(`left out: \d+ columns and \d+ notes? on sources`).MatchString(short.String()) {
		t.Errorf("short:\n%s\nwith details:\n%s", short.String(), long.String())
	}
}

// fitted returns a table in lines of at most width characters.
func fitted(t *testing.T, s *sheet.Sheet, width int) string {
	t.Helper()
	var b strings.Builder
	if err := (render.View{Width: width}).Render(s, &b, "table"); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
