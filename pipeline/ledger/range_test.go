package ledger_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/ledger/ledgertest"
)

// Range returns the same outcomes as Outcomes for any range, each trial once, for all borders,
// orders and overlaps of the messages.
func TestRange(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	l := ledgertest.Open(t, "")
	const n, most = 100, 5000
	for range 60 {
		first := r.Int64N(most)
		last := first + 1 + r.Int64N(400)
		b := &ledger.Batch{Sweep: ledgertest.Sweep, Cell: [32]byte{1}, N: n}
		for rep := first; rep < last; rep += 1 + r.Int64N(3) {
			b.Repetition, b.Status = append(b.Repetition, rep), append(b.Status, ledger.OK)
			b.Error = append(b.Error, float64(rep)/most)
		}
		ledgertest.Add(t, l, b)
	}
	known := slices.Collect(l.Outcomes([32]byte{1}, n))
	for range 50 {
		first := r.Int64N(most)
		last := first + r.Int64N(most-first+600)
		var got, want []ledger.Outcome
		if err := l.Range([32]byte{1}, n, first, last, func(b *ledger.Batch) error {
			for i, rep := range b.Repetition {
				got = append(got, ledger.Outcome{Repetition: rep, Status: b.Status[i], Error: b.Error[i]})
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for _, o := range known {
			if first <= o.Repetition && o.Repetition < last {
				want = append(want, o)
			}
		}
		slices.SortFunc(got, func(a, b ledger.Outcome) int { return int(a.Repetition - b.Repetition) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%d to %d: %s", first, last, diff)
		}
	}
}
