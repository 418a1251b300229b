package ledger_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/ledger/ledgertest"
)

var nan = math.NaN()

// drawBatch draws a batch that satisfies the rules.
func drawBatch(t *rapid.T) *ledger.Batch {
	text := rapid.StringMatching(`[ -~äöü]{0,12}`)
	b := &ledger.Batch{
		Sweep: text.Draw(t, "sweep"), N: rapid.Int64Range(1, math.MaxInt64).Draw(t, "n"),
		Digest: text.Draw(t, "digest"), Profile: text.Draw(t, "profile"), Worker: text.Draw(t, "worker"),
		Seconds: rapid.Float64Range(0, 1e9).Draw(t, "seconds"),
	}
	b.PluginSeconds = rapid.Float64Range(0, b.Seconds).Draw(t, "plugin seconds")
	copy(b.Cell[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "cell"))
	b.Metrics = rapid.SampledFrom([][]string{nil, {"loss"}, {"a", "b", "ä"}}).Draw(t, "metrics")
	for range b.Metrics {
		b.Values = append(b.Values, nil)
	}
	rep := int64(-1)
	faults := false
	for range rapid.IntRange(1, 40).Draw(t, "rows") {
		rep += rapid.Int64Range(1, 1000).Draw(t, "gap")
		status := rapid.Uint8Range(ledger.OK, ledger.Lost).Draw(t, "status")
		e, kind, reason := nan, "crash", "exit status 3"
		if status == ledger.OK {
			e, kind, reason = rapid.Float64Range(0, 1).Draw(t, "error"), "", ""
		}
		faults = faults || status != ledger.OK
		b.Repetition, b.Status, b.Error = append(b.Repetition, rep), append(b.Status, status), append(b.Error, e)
		b.Kind, b.Reason = append(b.Kind, kind), append(b.Reason, reason)
		for m := range b.Metrics {
			b.Values[m] = append(b.Values[m], rapid.SampledFrom([]float64{nan, 0, 1.5, -1}).Draw(t, "value"))
		}
	}
	if !faults {
		b.Kind, b.Reason = nil, nil
	}
	return b
}

func TestBatchRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawBatch(t)
		msg, err := want.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := ledger.Decode(append(make([]byte, 1, len(msg)+1), msg...)[1:]) // misaligned, as messages may be
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
			t.Fatal(diff)
		}
		again, err := got.Encode()
		if err != nil || !bytes.Equal(msg, again) {
			t.Fatal("a second encoding differs", err)
		}
	})
}

func TestBatchRules(t *testing.T) {
	for _, c := range []struct {
		change func(*ledger.Batch)
		want   string
	}{
		{func(b *ledger.Batch) { b.Repetition = nil }, "no rows"},
		{func(b *ledger.Batch) { b.Error = b.Error[1:] }, "3 repetitions, 3 statuses, 2 errors"},
		{func(b *ledger.Batch) { b.Reason = []string{""} }, "1 reasons"},
		{func(b *ledger.Batch) { b.N = 0 }, "n is 0"},
		{func(b *ledger.Batch) { b.Seconds = math.Inf(1) }, "seconds is +Inf"},
		{func(b *ledger.Batch) { b.PluginSeconds = -1 }, "plugin_seconds is -1"},
		{func(b *ledger.Batch) { b.PluginSeconds = nan }, "plugin_seconds is NaN"},
		{func(b *ledger.Batch) { b.Seconds, b.PluginSeconds = 1, 2 }, "plugin_seconds is 2: must be 0 to seconds, 1"},
		{func(b *ledger.Batch) { b.Repetition[1] = 0 }, "row 1: repetition 0 after 0"},
		{func(b *ledger.Batch) { b.Repetition[0] = -1 }, "row 0: repetition -1"},
		{func(b *ledger.Batch) { b.Repetition[2] = 1 << 31 }, "row 2: repetition 2147483648"},
		{func(b *ledger.Batch) { b.Error[1] = nan }, "row 1: status is ok and error NaN"},
		{func(b *ledger.Batch) { b.Error[1] = math.Inf(-1) }, "row 1: status is ok and error -Inf"},
		{func(b *ledger.Batch) { b.Status[2] = ledger.Lost }, "row 2: status 2 and error"},
		{func(b *ledger.Batch) { b.Status[2], b.Error[2] = 3, nan }, "row 2: status 3"},
		{func(b *ledger.Batch) { b.Kind = []string{"", "x", ""} }, `row 1: status is ok and kind "x"`},
		{func(b *ledger.Batch) { b.Metrics = []string{"a"} }, "1 names and 0 columns"},
		{func(b *ledger.Batch) { b.Metrics, b.Values = []string{"b", "a"}, [][]float64{b.Error, b.Error} },
			`metric "a": names`},
		{func(b *ledger.Batch) { b.Metrics, b.Values = []string{"a"}, [][]float64{{1}} }, "1 values for 3 rows"},
		{func(b *ledger.Batch) { b.Metrics, b.Values = []string{"a"}, [][]float64{{1, 2, math.Inf(1)}} },
			`metric "a", row 2: +Inf`},
		{func(b *ledger.Batch) { b.Sweep = "\xff" }, "invalid UTF-8"},
	} {
		b := ledgertest.Batch(3, 0)
		c.change(b)
		if _, err := b.Encode(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got error %v, want %q", err, c.want)
		}
	}
	b := ledgertest.Batch(1, 0)
	b.Status[0], b.Error[0], b.Kind, b.Reason = ledger.Failed, nan, []string{"panic"}, []string{"\xff!"}
	msg := ledgertest.Encode(t, b)
	if got, err := ledger.Decode(msg); err != nil || got.Reason[0] != "\uFFFD!" {
		t.Error(got, err)
	}
}

// FuzzDecode checks that hostile messages give an error, or a batch that satisfies all rules.
func FuzzDecode(f *testing.F) {
	f.Add(ledgertest.Encode(f, ledgertest.Batch(3, 7)))
	f.Add(ledgertest.Encode(f, refusal(100, ledger.Infeasible, "no")))
	b := ledgertest.Batch(2, 0)
	b.Status[1], b.Error[1], b.Kind, b.Reason = ledger.Failed, nan, []string{"", "panic"},
		[]string{"", "index out of range"}
	b.Metrics, b.Values = []string{"loss"}, [][]float64{{1, nan}}
	f.Add(ledgertest.Encode(f, b))
	f.Fuzz(func(t *testing.T, msg []byte) {
		b, err := ledger.Decode(msg)
		if err != nil {
			return
		}
		if _, err := b.Encode(); err != nil {
			t.Error(err)
		}
	})
}
