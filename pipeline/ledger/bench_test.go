package ledger

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// job is a batch of rows repetitions from first on, all ok.
func job(rows int, first int64) *Batch {
	b := &Batch{Sweep: "s", Cell: [32]byte{1}, N: 100, Digest: "d", Profile: "p", Worker: "w", Seconds: 0.5,
		Repetition: make([]int64, rows), Status: make([]uint8, rows), Error: make([]float64, rows)}
	for i := range rows {
		b.Repetition[i] = first + int64(i)
		b.Error[i] = float64(i%97) / 97
	}
	return b
}

const benchRows = 20_000

func perRow(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
}

func BenchmarkEncode(b *testing.B) {
	batch := job(benchRows, 0)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := batch.Encode(); err != nil {
			b.Fatal(err)
		}
	}
	perRow(b)
}

func BenchmarkDecode(b *testing.B) {
	msg, err := job(benchRows, 0).Encode()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(msg); err != nil {
			b.Fatal(err)
		}
	}
	perRow(b)
}

// BenchmarkAdd is decode, compare, append and remember, without the disk.
func BenchmarkAdd(b *testing.B) {
	l, _, err := Open(folder(b), "s")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	msgs := make([][]byte, 50)
	for i := range msgs {
		if msgs[i], err = job(benchRows, int64(i)*benchRows).Encode(); err != nil {
			b.Fatal(err)
		}
	}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		if i == len(msgs) { // start again, outside of the clock
			b.StopTimer()
			if err := l.Drop(func(*Batch) bool { return true }); err != nil {
				b.Fatal(err)
			}
			i = 0
			b.StartTimer()
		}
		v, err := l.Add(msgs[i])
		if err != nil || len(v.New) != benchRows {
			b.Fatal(err, len(v.New))
		}
		i++
	}
	perRow(b)
}

// BenchmarkOpen reads a ledger of a million outcomes.
func BenchmarkOpen(b *testing.B) {
	dir, rows := filled(b, 50)
	b.ReportAllocs()
	for b.Loop() {
		l, r, err := Open(dir, "s")
		if err != nil || r.Outcomes != rows {
			b.Fatal(err)
		}
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
}

// BenchmarkWriteTrials writes trials.parquet.
func BenchmarkWriteTrials(b *testing.B) {
	dir, rows := filled(b, 10)
	l, _ := open(b, dir)
	r := Result{Ledger: l, Trials: []Consumed{{&Cell{Key: job(1, 0).Cell, Alpha: 0.1}, []Point{{100, rows}}}}}
	b.ReportAllocs()
	for b.Loop() {
		if err := r.writeTrials(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
}

// filled is the folder of a ledger with so many full messages of one cell.
func filled(b *testing.B, messages int64) (dir string, rows int64) {
	dir = folder(b)
	l, _ := open(b, dir)
	for i := range messages {
		add(b, l, job(benchRows, i*benchRows))
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	return dir, messages * benchRows
}

// BenchmarkResult makes the curve and all files of a result from a ledger of 200 cells at 5 sample sizes: 200,000 trials, or as many as
// SHATTER_BENCH_ROWS says. Bound: BenchmarkScanTrials of package query reads the same trials from the Parquet file. MB is what the
// process grew by above the open ledger.
func BenchmarkResult(b *testing.B) {
	dir, cells := manyCells(b, benchTotal(b))
	l, _ := open(b, dir)
	out := b.TempDir()
	var peak int64
	for b.Loop() {
		before := resetPeak(b)
		r := Result{Ledger: l, Source: []byte("x")}
		for _, c := range cells {
			curve, err := l.Curve(c.Cell, c.Points)
			if err != nil {
				b.Fatal(err)
			}
			r.Curve, r.Trials = append(r.Curve, curve...), append(r.Trials, c)
		}
		if _, err := WriteResult(out, r); err != nil {
			b.Fatal(err)
		}
		peak = max(peak, vmHWM(b)-before)
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

// manyCells is the folder of a ledger with so many trials, in messages of at most 2000 whose order is that of a run: the cells in turn.
func manyCells(b *testing.B, total int64) (dir string, cells []Consumed) {
	b.Helper()
	const count, sizes, message = 200, 5, 2000
	each := total / count / sizes
	dir = folder(b)
	l, _ := open(b, dir)
	for i := range count {
		c := &Cell{Key: [32]byte{byte(i), byte(i >> 8), 7}, Task: "learn", Algorithm: fmt.Sprint("a", i%4), Alpha: 0.1, Beta: 0.1}
		consumed := Consumed{Cell: c}
		for k := range int64(sizes) {
			consumed.Points = append(consumed.Points, Point{N: 100 << k, Consumed: each})
		}
		cells = append(cells, consumed)
	}
	for first := int64(0); first < each; first += message {
		for _, c := range cells {
			for _, p := range c.Points {
				m := job(int(min(message, each-first)), first)
				m.Cell, m.N = c.Cell.Key, p.N
				for i := range m.Error {
					m.Error[i] = float64((m.Repetition[i]*p.N+int64(c.Cell.Key[0]))%1009) / 1009
				}
				add(b, l, m)
			}
		}
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	return dir, cells
}

// resetPeak makes the system forget the most memory that this process had, and returns what it has now.
func resetPeak(b *testing.B) int64 {
	b.Helper()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		return 0 // elsewhere than Linux the metric is the whole
	}
	return vmHWM(b)
}

// vmHWM is the most memory that this process had, in bytes; 0 where the system does not tell.
func vmHWM(b *testing.B) int64 {
	b.Helper()
	raw, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(raw), "VmHWM:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kb, _ := strconv.ParseInt(fields[0], 10, 64)
	return kb << 10
}
