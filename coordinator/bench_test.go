package coordinator

import (
	"math/rand/v2"
	"testing"

	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/testkit"
)

// BenchmarkResume measures the way from the ledger of ten million outcomes, half of lists and half
// of searches, to cells that want further trials: what a run does before it goes on.
func BenchmarkResume(b *testing.B) {
	const perSize, batchRows = 500_000, 25_000
	sizes := [][]int64{{10, 20, 40}, {10, 20, 40}, {10, 20, 40}, {8, 16, 32, 64}, {8, 16, 32, 64}, {8, 16, 32}}
	p, dir := testPlan(b), b.TempDir()
	for _, c := range p.Cells {
		c.Trials, c.MaxTrials = max(c.Trials, perSize), max(c.MaxTrials, perSize)
	}
	f, err := folder.Claim(dir, p, folder.Mode{})
	if err != nil {
		b.Fatal(err)
	}
	rng, outcomes := rand.New(rand.NewPCG(1, 2)), 0
	for i, c := range p.Cells {
		for _, n := range sizes[i] {
			for first := range int64(perSize / batchRows) {
				batch := &ledger.Batch{
					Sweep: f.ID, Cell: c.Key, N: n, Digest: "one", Profile: "p",
					Repetition: make([]int64, batchRows), Status: make([]uint8, batchRows), Error: make([]float64, batchRows),
				}
				for row := range batchRows {
					batch.Repetition[row] = first*batchRows + int64(row)
					batch.Error[row] = rng.Float64() * 0.1 / 0.8
				}
				msg, err := batch.Encode()
				if err != nil {
					b.Fatal(err)
				}
				if _, err := f.Ledger.Add(msg); err != nil {
					b.Fatal(err)
				}
				outcomes += batchRows
			}
		}
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	cores := testkit.CoreTime()
	for b.Loop() {
		f, err := folder.Claim(dir, p, folder.Mode{})
		if err != nil {
			b.Fatal(err)
		}
		g, err := newGrid(p)
		if err != nil {
			b.Fatal(err)
		}
		if got, err := g.load(f.Ledger); err != nil || got != int64(outcomes) {
			b.Fatalf("%d outcomes of %d: %v", got, outcomes, err)
		}
		g.sort()
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
	all := float64(b.N * outcomes)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/all, "ns/outcome")
	b.ReportMetric(float64((testkit.CoreTime()-cores).Nanoseconds())/all, "cpu-ns/outcome")
}
