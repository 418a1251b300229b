package lead

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/shatterlab/shatter/pipeline/testkit"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/queue"
)

func TestMain(m *testing.M) {
	testkit.Overlap()
	goleak.VerifyTestMain(m)
}

var sweepID = (&Submission{}).ID()

// A harbor is a server with a sweep that this party leads.
type harbor struct {
	*testing.T
	conn     *queue.Conn
	registry *queue.Registry
	lead     *queue.LeaderLease
}

func newHarbor(t *testing.T) *harbor {
	t.Helper()
	s, err := queue.Embed(queue.Options{})
	check(t, err)
	t.Cleanup(s.Shutdown)
	h := &harbor{T: t}
	h.conn, err = s.Dial(t.Context())
	check(t, err)
	t.Cleanup(h.conn.Close)
	h.registry, err = h.conn.Registry(t.Context())
	check(t, err)
	_, err = h.registry.Submit(t.Context(), sweepID, []byte(`{"format":2}`))
	check(t, err)
	h.lead, err = h.registry.AcquireLease(t.Context(), sweepID, "test", time.Hour, nil)
	check(t, err)
	t.Cleanup(func() { check(t, h.lead.Resign(context.Background())) })
	return h
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// shipped returns the shipment in the registry.
func (h *harbor) shipped() Shipment {
	h.Helper()
	e, err := h.registry.Find(h.Context(), sweepID)
	check(h.T, err)
	r, err := ReadRecord(e)
	check(h.T, err)
	return r.Shipment
}

// message returns outcomes of a cell.
func message(t *testing.T, cell byte, first, count int64) []byte {
	t.Helper()
	b := &ledger.Batch{Sweep: sweepID, Cell: [32]byte{cell}, N: 10, Worker: "test", Metrics: []string{}}
	for rep := range count {
		b.Repetition, b.Status = append(b.Repetition, first+rep), append(b.Status, ledger.OK)
		b.Error, b.Kind = append(b.Error, float64(rep)/1000), append(b.Kind, "")
	}
	raw, err := b.Encode()
	check(t, err)
	return raw
}

// record adds messages to the ledger of an output folder, which it creates if necessary.
func record(t *testing.T, dir string, messages ...[]byte) {
	t.Helper()
	l, _, err := ledger.Open(filepath.Join(dir, "ledger"), sweepID)
	check(t, err)
	for _, m := range messages {
		b, err := ledger.Decode(m)
		check(t, err)
		_, err = l.Add(b, m)
		check(t, err)
	}
	check(t, l.Close())
}

// outcomes returns the number of outcomes in an output folder, which must be valid.
func outcomes(t *testing.T, dir string) int64 {
	t.Helper()
	l, report, err := ledger.Read(filepath.Join(dir, "ledger"), sweepID)
	check(t, err)
	check(t, l.Close())
	if report.Torn != nil || report.Damaged != nil {
		t.Errorf("ledger: %+v", report)
	}
	return report.Outcomes
}

// A fetched folder equals the shipped one in its state at the last shipment.
func TestShip(t *testing.T) {
	t.Parallel()
	h, dir := newHarbor(t), t.TempDir()
	s := &shipper{dir: dir, conn: h.conn, lead: h.lead}
	for i := range int64(3) {
		record(t, dir, message(t, 1, 10*i, 10))
		check(t, os.WriteFile(filepath.Join(dir, "manifest.json"), fmt.Append(nil, i), 0o600))
		check(t, s.ship(t.Context()))
	}
	before := h.shipped()
	check(t, s.ship(t.Context()))
	if now := h.shipped(); !now.At.Equal(before.At) {
		t.Error("listed again without a change")
	}
	s.totals = func() *Totals { return &Totals{Decided: 1, Trials: 30} }
	check(t, s.ship(t.Context()))
	if now := h.shipped(); now.Totals == nil || *now.Totals != *s.totals() {
		t.Errorf("the sweep is at %v, want %v", now.Totals, s.totals())
	}
	out, x := filepath.Join(t.TempDir(), "out"), &Record{ID: h.lead.ID, Shipment: before}
	check(t, begin(t.Context(), h.conn, out, x))
	for _, f := range before.Files {
		want, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.Name)))
		check(t, err)
		if got, err := os.ReadFile(filepath.Join(out, filepath.FromSlash(f.Name))); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: fetched %d bytes, %v; shipped were %d", f.Name, len(got), err, len(want))
		}
	}
	if n := outcomes(t, out); n != 30 {
		t.Errorf("%d outcomes were fetched of 30", n)
	}
	record(t, out, message(t, 2, 0, 5))
	check(t, begin(t.Context(), h.conn, out, x)) // an existing folder is not changed
	if n := outcomes(t, out); n != 35 {
		t.Errorf("%d outcomes are left of 35", n)
	}
}

// Shipped files stay inside their folder.
func TestFetchOutside(t *testing.T) {
	t.Parallel()
	h := newHarbor(t)
	digest, err := h.conn.Files.PutBytes(t.Context(), []byte("text"))
	check(t, err)
	for _, name := range []string{"../out.txt", "/etc/out.txt", "a/../../out.txt", ""} {
		t.Run(fmt.Sprintf("%q", name), func(t *testing.T) {
			s := Shipment{Files: []File{{Name: name, Digest: digest}}}
			dir := t.TempDir()
			if err := Fetch(t.Context(), h.conn, dir, &Record{ID: sweepID, Shipment: s}); err == nil {
				t.Error("fetched")
			}
		})
	}
}
