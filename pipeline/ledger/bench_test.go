package ledger_test

import (
	"testing"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/ledger/ledgertest"
	"github.com/shatterlab/shatter/pipeline/testkit"
)

const benchRows = 20_000

func perRow(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
}

func BenchmarkEncode(b *testing.B) {
	batch := ledgertest.Batch(benchRows, 0)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := batch.Encode(); err != nil {
			b.Fatal(err)
		}
	}
	perRow(b)
}

func BenchmarkDecode(b *testing.B) {
	msg, err := ledgertest.Batch(benchRows, 0).Encode()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ledger.Decode(msg); err != nil {
			b.Fatal(err)
		}
	}
	perRow(b)
}

// BenchmarkAdd decodes, compares, appends and indexes messages, without waiting for the disk.
func BenchmarkAdd(b *testing.B) {
	l, _, err := ledger.Open(testkit.MemoryDir(b), "s")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	msgs := make([][]byte, 50)
	for i := range msgs {
		if msgs[i], err = ledgertest.Batch(benchRows, int64(i)*benchRows).Encode(); err != nil {
			b.Fatal(err)
		}
	}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		if i == len(msgs) { // restart, outside of the measured time
			b.StopTimer()
			if err := l.Drop(func(*ledger.Batch) bool { return true }); err != nil {
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
		l, r, err := ledger.Open(dir, "s")
		if err != nil || r.Outcomes != rows {
			b.Fatal(err)
		}
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
}

// filled returns the folder of a ledger with a number of full messages of one cell.
func filled(b *testing.B, messages int64) (dir string, rows int64) {
	dir = testkit.MemoryDir(b)
	l, _ := open(b, dir)
	for i := range messages {
		ledgertest.Add(b, l, ledgertest.Batch(benchRows, i*benchRows))
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	return dir, messages * benchRows
}
