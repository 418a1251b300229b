// Package ledgertest creates ledgers for the tests of packages that read them.
package ledgertest

import (
	"testing"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/testkit"
)

// Sweep is the identity of the sweep of the test ledgers.
const Sweep = "s"

// Open opens the ledger in dir until the test ends; an empty dir is a new folder in memory.
func Open(t testing.TB, dir string) *ledger.Ledger {
	t.Helper()
	if dir == "" {
		dir = testkit.MemoryDir(t)
	}
	l, _, err := ledger.Open(dir, Sweep)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // some tests close it themselves, or damage it
	return l
}

// Encode returns the message of a batch.
func Encode(t testing.TB, b *ledger.Batch) []byte {
	t.Helper()
	msg, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return msg
}

// Add adds the outcomes of a batch.
func Add(t testing.TB, l *ledger.Ledger, b *ledger.Batch) ledger.Verdict {
	t.Helper()
	v, err := l.Add(b, Encode(t, b))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Batch returns ok outcomes of the given number of repetitions from first on: of one cell, at n =
// 100, with errors that cycle through 0/97 to 96/97.
func Batch(repetitions int, first int64) *ledger.Batch {
	b := &ledger.Batch{Sweep: Sweep, Cell: [32]byte{1}, N: 100, Digest: "d", Profile: "p", Worker: "w", Seconds: 0.5,
		Repetition: make([]int64, repetitions), Status: make([]uint8, repetitions), Error: make([]float64, repetitions)}
	for i := range repetitions {
		b.Repetition[i] = first + int64(i)
		b.Error[i] = float64(i%97) / 97
	}
	return b
}
