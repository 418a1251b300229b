package ledger_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/ledger/ledgertest"
	"github.com/shatterlab/shatter/pipeline/testkit"
)

// After a retraction a ledger holds what it would hold without the worker's messages, at once, when
// it is opened again, and where its frames are added to another one in any order.
func TestRetract(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var honest, all []*ledger.Batch
		for range rapid.IntRange(1, 8).Draw(rt, "messages") {
			b := ledgertest.Batch(rapid.IntRange(1, 5).Draw(rt, "rows"), int64(rapid.IntRange(0, 6).Draw(rt, "first")))
			b.Worker = rapid.SampledFrom([]string{"good", "better", "liar"}).Draw(rt, "worker")
			for i := range b.Error {
				b.Error[i] = float64(b.Repetition[i])
				if b.Worker == "liar" && rapid.Bool().Draw(rt, "forged") {
					b.Error[i]++
				}
			}
			if all = append(all, b); b.Worker != "liar" {
				honest = append(honest, b)
			}
		}
		want, dir := fill(t, append(honest, ledgertest.Batch(1, 99))), testkit.MemoryDir(t)
		l, _ := open(t, dir)
		for _, b := range all {
			ledgertest.Add(t, l, b)
		}
		before := len(known(l))
		report, err := l.Retract("liar", "it lied")
		if err != nil {
			rt.Fatal(err)
		}
		if got := l.Retractions(); len(got) != 1 || int(got[0].Outcomes) != before-len(known(l)) {
			rt.Errorf("%d outcomes are left of %d: %+v", len(known(l)), before, got)
		}
		check := func(l *ledger.Ledger, r *ledger.Report, where string) {
			// What an honest worker had sent after a forged outcome was evidence, and is run again.
			for trial, o := range known(l) {
				if want[trial] != o {
					rt.Errorf("%s: trial %s has outcome %v, want %v", where, trial, o, want[trial])
				}
			}
			if len(r.Conflicts) > 0 {
				rt.Errorf("%s: conflicts %v", where, r.Conflicts)
			}
			msg, err := ledgertest.Batch(1, 99).Encode()
			if err != nil {
				rt.Fatal(err)
			}
			if _, err := l.Add(msg); err != nil {
				rt.Errorf("%s: the ledger takes nothing more: %v", where, err)
			}
		}
		check(l, report, "at once")
		if err := l.Close(); err != nil {
			rt.Fatal(err)
		}
		l, report = open(t, dir)
		check(l, report, "opened again")
		if err := l.Close(); err != nil {
			rt.Fatal(err)
		}

		raw, err := os.ReadFile(filepath.Join(dir, "0001.log"))
		if err != nil {
			rt.Fatal(err)
		}
		frames := slices.Collect(ledger.Frames(raw))
		order := make([]int, len(frames))
		for i := range order {
			order[i] = i
		}
		other, _ := open(t, testkit.MemoryDir(t))
		for _, i := range rapid.Permutation(order).Draw(rt, "order") {
			if err := other.AddFrame(frames[i]); err != nil {
				rt.Fatal(err)
			}
		}
		for trial, o := range known(other) { // what had come as a duplicate of the liar's is run again
			if o != want[trial] {
				rt.Errorf("merged: trial %s: %v, want %v", trial, o, want[trial])
			}
		}
		liar := ledgertest.Batch(1, 200)
		liar.Worker = "liar"
		msg, err := liar.Encode()
		if err != nil {
			rt.Fatal(err)
		}
		if _, err := other.Add(msg); !errors.Is(err, ledger.ErrRetracted) {
			rt.Errorf("a message of the worker: error %v", err)
		}
		if err := other.Close(); err != nil {
			rt.Fatal(err)
		}
	})
}

// fill returns what a ledger of some messages knows.
func fill(t *testing.T, batches []*ledger.Batch) map[string]ledger.Outcome {
	l, _ := open(t, testkit.MemoryDir(t))
	defer l.Close()
	for _, b := range batches {
		ledgertest.Add(t, l, b)
	}
	return maps.Clone(known(l))
}
