package result

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/shatterlab/shatter/pipeline/ledger/ledgertest"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// BenchmarkWriteTrials writes trials.parquet.
func BenchmarkWriteTrials(b *testing.B) {
	const messages, perMessage = 10, 20_000
	rows := int64(messages * perMessage)
	l := ledgertest.Open(b, "")
	for i := range int64(messages) {
		ledgertest.Add(b, l, ledgertest.Batch(perMessage, i*perMessage))
	}
	c := &trial.Cell{
		Problem: &schemas.Problem{}, Evaluation: &problem.Evaluation{}, Key: ledgertest.Batch(1, 0).Cell, Alpha: 0.1,
	}
	r := Result{Ledger: l, Trials: []Consumed{{c,
		[]Point{{N: 100, Consumed: rows}}}}}
	b.ReportAllocs()
	for b.Loop() {
		if err := r.writeTrials(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
}

// BenchmarkResult makes the curve and all files of a result from a ledger of 200 cells at 5 sample
// sizes: 200,000 trials, or as many as SHATTER_BENCH_ROWS says. BenchmarkScanTrials of package
// query, which reads the same trials from the Parquet file, is a bound for it. MB is the growth of
// the process beyond the open ledger.
func BenchmarkResult(b *testing.B) {
	dir, cells := manyCells(b, benchTotal(b))
	l := ledgertest.Open(b, dir)
	out := b.TempDir()
	var peak int64
	for b.Loop() {
		before := resetPeak(b)
		r := Result{Ledger: l, Source: []byte("x")}
		for curve, err := range Curves(l, cells) {
			if err != nil {
				b.Fatal(err)
			}
			r.Curve = append(r.Curve, curve...)
		}
		r.Trials = cells
		if _, err := WriteResult(out, r); err != nil {
			b.Fatal(err)
		}
		peak = max(peak, peakMemory()-before)
	}
	info, err := os.Stat(filepath.Join(out, "trials.parquet"))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(benchTotal(b))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
	b.ReportMetric(float64(peak)/1e6, "MB")
	b.ReportMetric(float64(info.Size())/float64(benchTotal(b)), "bytes/row")
}

func benchTotal(b *testing.B) int64 {
	b.Helper()
	n, err := strconv.ParseInt(os.Getenv("SHATTER_BENCH_ROWS"), 10, 64)
	if err != nil {
		return 200_000
	}
	return n
}

// manyCells returns the folder of a ledger with a total number of trials, in messages of at most
// 2000 whose order is that of a run: the cells in turn.
func manyCells(b *testing.B, total int64) (dir string, cells []Consumed) {
	b.Helper()
	const count, sizes, message = 200, 5, 2000
	each := total / count / sizes
	r := rand.New(rand.NewPCG(1, 2))
	dir = testkit.MemoryDir(b)
	l := ledgertest.Open(b, dir)
	for i := range count {
		c := &trial.Cell{
			Problem: &schemas.Problem{}, Evaluation: &problem.Evaluation{}, Key: trial.Key{byte(i), byte(i >> 8), 7},
			Task: "learn", As: fmt.Sprint("a", i%4), Alpha: 0.1,
			Beta: 0.1,
		}
		consumed := Consumed{Cell: c}
		for k := range int64(sizes) {
			consumed.Points = append(consumed.Points, Point{N: 100 << k, Consumed: each})
		}
		cells = append(cells, consumed)
	}
	for first := int64(0); first < each; first += message {
		for _, c := range cells {
			for _, p := range c.Points {
				m := ledgertest.Batch(int(min(message, each-first)), first)
				m.Cell, m.N = c.Cell.Key, p.N
				for i := range m.Error {
					m.Error[i] = r.Float64()
				}
				ledgertest.Add(b, l, m)
			}
		}
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	return dir, cells
}

// resetPeak makes the system forget the peak of this process's memory, and returns what it has now.
func resetPeak(b *testing.B) int64 {
	b.Helper()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		return 0 // elsewhere than Linux the metric is the whole
	}
	return peakMemory()
}

// peakMemory returns the peak of this process's memory in bytes, or 0 where the system does not tell.
func peakMemory() int64 {
	bytes, _ := testkit.PeakMemory(os.Getpid())
	return bytes
}
