//go:build cgo

package query

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/shatterlab/shatter/pipeline/result/render"
)

// benchDir returns the result to measure: SHATTER_BENCH_RESULT, or a small one.
func benchDir(b *testing.B) string {
	if dir := os.Getenv("SHATTER_BENCH_RESULT"); dir != "" {
		return dir
	}
	dir := b.TempDir()
	copyResult(b, dir)
	return dir
}

// measure asks sql repeatedly, and reports the trials that it read in a second.
func measure(b *testing.B, sql, format string) {
	d, err := Open(benchDir(b), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	r, err := d.Query(context.Background(), "select count(*) from trials")
	if err != nil {
		b.Fatal(err)
	}
	trials := int64(0)
	if err := render.EachBatch(r,
		func(rec arrow.Record) error { trials = render.AnswerValue(rec.Column(0), 0).(int64); return nil }); err != nil {
		b.Fatal(err)
	}
	r.Close()
	for b.Loop() {
		r, err := d.Query(context.Background(), sql)
		if err != nil {
			b.Fatal(err)
		}
		if err := Write(io.Discard, r, format, 0); err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
	b.ReportMetric(float64(trials)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
	b.ReportMetric(float64(resident(os.Getpid()))/1e6, "MB")
}

// BenchmarkScanTrials only reads the columns, which bounds what the others can reach.
func BenchmarkScanTrials(b *testing.B) {
	measure(b, "select max(cell), max(n), max(repetition), max(error), max(success) from trials", "csv")
}

func BenchmarkAggregate(b *testing.B) {
	measure(b, "select cell, n, count(*), avg(error), count(*) filter (success) from trials group by all", "csv")
}

// BenchmarkMean reads one column: the key columns cost it nothing.
func BenchmarkMean(b *testing.B) { measure(b, "select avg(error) from trials", "csv") }

// BenchmarkByKey joins the key columns in.
func BenchmarkByKey(b *testing.B) {
	measure(b, "select n, epsilon, avg(error) from trials group by all", "csv")
}

func BenchmarkQuantile(b *testing.B) {
	measure(b, "select cell, n, quantile_disc(error, 0.9) from trials group by all", "csv")
}

func BenchmarkWrite(b *testing.B) {
	for _, format := range []string{"csv", "json", "arrow", "parquet"} {
		b.Run(format, func(b *testing.B) { measure(b, "from trials", format) })
	}
}
