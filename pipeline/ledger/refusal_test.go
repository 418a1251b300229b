package ledger_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/ledger/ledgertest"
	"github.com/shatterlab/shatter/schemas"
)

// refusal returns a refusal of a sample size of the cell of ledgertest.Batch.
func refusal(n int64, kind, message string) *ledger.Batch {
	return &ledger.Batch{
		Sweep: ledgertest.Sweep, Cell: [32]byte{1}, N: n, Digest: "d", Profile: "p", Worker: "w", Seconds: 0.25,
		Notes: []string{"a", "b"}, Refusal: ledger.NewRefusal(kind, message),
	}
}

func TestRefusalMessage(t *testing.T) {
	want := refusal(100, ledger.Infeasible, "the budget <\u00e4> is too small")
	got, err := ledger.Decode(ledgertest.Encode(t, want))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	long := ledger.NewRefusal(ledger.Invalid, strings.Repeat("\u00e4", 10_000)+"\xff")
	if b := ledgertest.Encode(t, &ledger.Batch{Sweep: "s", N: 1, Refusal: long}); len(b) > 12<<10 {
		t.Errorf("a message of %d bytes", len(b))
	}
	for want, change := range map[string]func(*ledger.Batch){
		`kind "unwilling"`:          func(b *ledger.Batch) { b.Refusal.Kind = "unwilling" },
		"refusal of 5000 bytes":     func(b *ledger.Batch) { b.Refusal.Message = strings.Repeat("x", 5000) },
		"it has a refusal and rows": func(b *ledger.Batch) { b.Repetition, b.Status, b.Error = []int64{1}, []uint8{0}, []float64{0} },
		"n is 0":                    func(b *ledger.Batch) { b.N = 0 },
	} {
		b := refusal(100, ledger.Invalid, "no")
		change(b)
		if _, err := b.Encode(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A refusal is recorded once, survives a restart, and is removed with the outcomes of its plugin
// file.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	l, _ := open(t, dir)
	for i, c := range []struct {
		b    *ledger.Batch
		want bool // the refusal is new
	}{
		{refusal(7, ledger.Infeasible, "no"), true}, {refusal(7, ledger.Infeasible, "no"), false},
		{refusal(5, ledger.Invalid, "bad"), true},
	} {
		if v := ledgertest.Add(t, l, c.b); v.Refused != c.want || v.Clash != nil || (v.Duplicate == 1) == c.want {
			t.Errorf("%d: %+v", i, v)
		}
	}
	ledgertest.Add(t, l, ledgertest.Batch(3, 0))
	check := func(l *ledger.Ledger, report *ledger.Report) {
		t.Helper()
		want := []ledger.Refused{
			{N: 5, Refusal: ledger.Refusal{Kind: ledger.Invalid, Message: "bad"}, Digest: "d", Profile: "p", Worker: "w"},
			{N: 7, Refusal: ledger.Refusal{Kind: ledger.Infeasible, Message: "no"}, Digest: "d", Profile: "p", Worker: "w"},
		}
		if d := cmp.Diff(want, l.Refusals([32]byte{1})); d != "" {
			t.Error(d)
		}
		_, clashes := l.Contradictions([32]byte{1})
		if l.Refusals([32]byte{2}) != nil || report != nil && report.Outcomes != 3 || len(clashes) > 0 {
			t.Errorf("%+v", report)
		}
	}
	check(l, nil)
	l.Close()
	check(open(t, dir))
	r, report, err := ledger.Read(dir, ledgertest.Sweep)
	if err != nil {
		t.Fatal(err)
	}
	check(r, report)
	r.Close()
	if l, _, err = ledger.Open(t.TempDir(), ledgertest.Sweep); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	other := refusal(9, ledger.Invalid, "old")
	other.Digest = "old"
	ledgertest.Add(t, l, other)
	ledgertest.Add(t, l, refusal(7, ledger.Invalid, "new"))
	if err := l.Drop(func(b *ledger.Batch) bool { return b.Digest == "old" }); err != nil {
		t.Fatal(err)
	}
	if left := l.Refusals([32]byte{1}); len(left) != 1 || left[0].N != 7 {
		t.Errorf("%+v", left)
	}
}

// A message that contradicts a refusal, or is contradicted by one, is recorded as evidence and
// has no effect.
func TestClash(t *testing.T) {
	lost := ledgertest.Batch(1, 0)
	lost.Status[0], lost.Error[0] = ledger.Lost, nan
	for name, c := range map[string]struct {
		first, second *ledger.Batch
		want          *ledger.Clash
	}{
		"outcomes, then refusal": {ledgertest.Batch(3, 0), refusal(100, ledger.Infeasible, "no"),
			&ledger.Clash{First: "outcomes", Second: "infeasible: no"}},
		"refusal, then outcomes": {refusal(100, ledger.Infeasible, "no"), ledgertest.Batch(3, 0),
			&ledger.Clash{First: "infeasible: no", Second: "outcomes"}},
		"two refusals": {refusal(100, ledger.Infeasible, "no"), refusal(100, ledger.Invalid, "no"),
			&ledger.Clash{First: "infeasible: no", Second: "invalid: no"}},
		"refusal, then a lost trial": {refusal(100, ledger.Infeasible, "no"), lost, nil},
		"a lost trial, then refusal": {lost, refusal(100, ledger.Infeasible, "no"), nil},
		"another size":               {ledgertest.Batch(3, 0), refusal(99, ledger.Infeasible, "no"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l, _ := open(t, dir)
			first := ledgertest.Add(t, l, c.first)
			if c.want != nil {
				c.want.N, c.want.Worker, c.want.Digest = 100, "w", "d"
			}
			for range 2 {
				v := ledgertest.Add(t, l, c.second)
				if d := cmp.Diff(c.want, v.Clash); d != "" || first.Clash != nil || c.want != nil && (v.Refused || len(v.New) > 0) {
					t.Errorf("%+v %s", v, d)
				}
			}
			outcomes, refused := int64(len(first.New)), first.Refused
			l.Close()
			l, report := open(t, dir)
			_, clashes := l.Contradictions([32]byte{1})
			if c.want != nil {
				now := len(l.Refusals([32]byte{1})) == 1
				if len(clashes) != 1 || clashes[0] != *c.want || report.Outcomes != outcomes || now != refused {
					t.Errorf("%+v, refused %v", report, now)
				}
			} else if len(clashes) > 0 {
				t.Errorf("%+v", clashes)
			}
			if report.Frames > 2 {
				t.Errorf("%d frames: evidence is kept once", report.Frames)
			}
		})
	}
}

// A message of a later release is reported as such.
func TestLaterMessage(t *testing.T) {
	msg := ledgertest.Encode(t, refusal(100, ledger.Invalid, "no"))
	later := strings.Replace(string(msg), "\n\x01"+schemas.OutcomeVersion, "\n\x01x", 1)
	_, err := ledger.Decode([]byte(later))
	if want := `it is of version "x" of its format`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}
