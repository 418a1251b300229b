package ledger_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/ledger"
)

// TestSetRandom compares verdicts with those of a map, for messages that overlap, have gaps and
// arrive in any order.
func TestSetRandom(t *testing.T) {
	type id struct{ n, repetition int64 }
	type outcome struct {
		status        uint8
		error, metric float64
	}
	rapid.Check(t, func(t *rapid.T) {
		var set ledger.Set
		known := map[id]outcome{}
		for range rapid.IntRange(1, 12).Draw(t, "messages") {
			b := &ledger.Batch{N: rapid.Int64Range(1, 4).Draw(t, "n"), Metrics: []string{"m"}, Values: [][]float64{nil}}
			rep := rapid.SampledFrom([]int64{0, 1, 5, 30, 1000, 1024, 3000}).Draw(t, "first")
			var added, conflicts []int64
			duplicates := 0
			for i := range rapid.IntRange(1, 50).Draw(t, "rows") {
				rep += rapid.SampledFrom([]int64{1, 1, 1, 7, 40}).Draw(t, "gap")
				o := outcome{
					rapid.SampledFrom([]uint8{ledger.OK, ledger.Failed, ledger.Lost}).Draw(t, "status"),
					rapid.SampledFrom([]float64{0, 0.25}).Draw(t, "error"),
					rapid.SampledFrom([]float64{math.NaN(), 1}).Draw(t, "metric"),
				}
				b.Repetition, b.Status = append(b.Repetition, rep), append(b.Status, o.status)
				b.Error, b.Values[0] = append(b.Error, o.error), append(b.Values[0], o.metric)
				before, ok := known[id{b.N, rep}]
				switch {
				case o.status == ledger.Lost:
				case !ok:
					known[id{b.N, rep}] = o
					added = append(added, int64(i))
				case before.status == o.status && math.Float64bits(before.metric) == math.Float64bits(o.metric) &&
					(o.status != ledger.OK || before.error == o.error):
					duplicates++
				default:
					conflicts = append(conflicts, rep)
				}
			}
			v := set.Add(b)
			var found []int64
			for _, c := range v.Conflicts {
				found = append(found, c.Repetition)
				if first := known[id{c.N, c.Repetition}]; c.First.Status != first.status || c.First.Error != first.error {
					t.Fatalf("repetition %d at n = %d: first %+v, want %+v", c.Repetition, c.N, c.First, first)
				}
			}
			var fresh []int64
			for _, row := range v.New {
				fresh = append(fresh, int64(row))
			}
			if !slices.Equal(fresh, added) || !slices.Equal(found, conflicts) || v.Duplicate != duplicates {
				t.Fatalf("new rows %v, conflicts %v, %d duplicates, want %v, %v, %d",
					fresh, found, v.Duplicate, added, conflicts, duplicates)
			}
		}
	})
}
