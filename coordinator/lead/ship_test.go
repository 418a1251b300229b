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

	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/pipeline/ledger"
)

func TestMain(m *testing.M) {
	testkit.Overlap()
	goleak.VerifyTestMain(m)
}

const sweepID = "ab12"

// harbour is a server with a sweep that this party leads.
type harbour struct {
	*testing.T
	conn     *bus.Conn
	registry *bus.Registry
	lead     *bus.Leadership
}

func newHarbour(t *testing.T) *harbour {
	t.Helper()
	s, err := bus.Embed(bus.Options{})
	check(t, err)
	t.Cleanup(s.Shutdown)
	h := &harbour{T: t}
	h.conn, err = s.Dial(t.Context())
	check(t, err)
	t.Cleanup(h.conn.Close)
	h.registry, err = h.conn.Registry(t.Context())
	check(t, err)
	_, err = h.registry.Submit(t.Context(), sweepID, []byte(`{"format":2}`))
	check(t, err)
	h.lead, err = h.registry.Lead(t.Context(), sweepID, "test", time.Hour, nil)
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

// shipped returns what the registry lists.
func (h *harbour) shipped() Shipment {
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

// record adds messages to the ledger of an output folder, which it makes.
func record(t *testing.T, dir string, messages ...[]byte) {
	t.Helper()
	l, _, err := ledger.Open(filepath.Join(dir, "ledger"), sweepID)
	check(t, err)
	for _, m := range messages {
		_, err := l.Add(m)
		check(t, err)
	}
	check(t, l.Close())
}

// outcomes returns the number of outcomes in an output folder, which has to be sound.
func outcomes(t *testing.T, dir string) int64 {
	t.Helper()
	l, report, err := ledger.Read(filepath.Join(dir, "ledger"), sweepID)
	check(t, err)
	check(t, l.Close())
	if report.Torn != nil || report.Damaged != nil || report.Conflicts != nil {
		t.Errorf("ledger: %+v", report)
	}
	return report.Outcomes
}

// A ledger is shipped in few parts however often it grows, and what is fetched is the folder.
func TestShip(t *testing.T) {
	t.Parallel()
	h, dir := newHarbour(t), t.TempDir()
	s := &shipper{dir: dir, conn: h.conn, lead: h.lead}
	const times = 100
	for i := range int64(times) {
		record(t, dir, message(t, 1, 10*i, 10))
		if i == 0 {
			check(t, os.WriteFile(filepath.Join(dir, "ledger", "sweep.json"), []byte("{}"), 0o600))
		}
		check(t, s.ship(t.Context()))
	}
	before := h.shipped()
	check(t, s.ship(t.Context()))
	if now := h.shipped(); !now.At.Equal(before.At) {
		t.Error("listed again without a change")
	}
	s.stand = func() *Stand { return &Stand{Decided: 1, Trials: 10 * times} }
	for range 2 {
		check(t, s.ship(t.Context()))
	}
	if now := h.shipped(); now.Stand == nil || *now.Stand != *s.stand() {
		t.Errorf("the sweep stands at %v, want %v", now.Stand, s.stand())
	}
	i := slices.IndexFunc(before.Files, func(f File) bool { return f.isLog() })
	if parts := len(before.Files[i].Parts); parts > 8 {
		t.Errorf("%d parts after %d shipments", parts, times)
	}
	out := filepath.Join(t.TempDir(), "out")
	check(t, Fetch(t.Context(), h.conn, out, &Record{ID: h.lead.ID, Shipment: before}))
	for _, f := range before.Files {
		want, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.Name)))
		check(t, err)
		if got, err := os.ReadFile(filepath.Join(out, filepath.FromSlash(f.Name))); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: fetched %d bytes, %v; shipped were %d", f.Name, len(got), err, len(want))
		}
	}
	if n := outcomes(t, out); n != 10*times {
		t.Errorf("%d outcomes were fetched of %d", n, 10*times)
	}
}

// A frame that is being written is not shipped before it is whole.
func TestShipWholeFrames(t *testing.T) {
	t.Parallel()
	h, dir := newHarbour(t), t.TempDir()
	s := &shipper{dir: dir, conn: h.conn, lead: h.lead}
	record(t, dir, message(t, 1, 0, 10))
	log := filepath.Join(dir, "ledger", "0001.log")
	whole, err := os.ReadFile(log)
	check(t, err)
	frame := ledger.AppendFrame(nil, message(t, 2, 0, 5))
	for cut := range len(frame) {
		check(t, os.WriteFile(log, slices.Concat(whole, frame[:cut]), 0o600))
		check(t, s.ship(t.Context()))
		if size := h.shipped().Files[0].size(); size != int64(len(whole)) {
			t.Fatalf("%d bytes shipped, where frames end at %d", size, len(whole))
		}
	}
	check(t, os.WriteFile(log, slices.Concat(whole, frame), 0o600))
	check(t, s.ship(t.Context()))
	if size := h.shipped().Files[0].size(); size != int64(len(whole)+len(frame)) {
		t.Errorf("%d bytes shipped of %d", size, len(whole)+len(frame))
	}
}

// A leader takes over with whatever its folder holds: afterwards it has what was shipped and what it
// had, each outcome once, and ships only what is new.
func TestMerge(t *testing.T) {
	t.Parallel()
	a, b, c := int64(10), int64(7), int64(5) // outcomes of three messages
	for _, tt := range []struct {
		name  string
		local []int64 // messages that the folder has, by their number of outcomes
		want  int64
		kept  bool // the shipped part of the log is the folder's own, byte for byte
	}{
		{"lost disk", nil, a + b, true},
		{"the same", []int64{a, b}, a + b, true},
		{"an older state", []int64{a}, a + b, true},
		{"a later state", []int64{a, b, c}, a + b + c, true},
		{"another order", []int64{b, a}, a + b, false},
		{"outcomes of its own", []int64{c}, a + b + c, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, there, here := newHarbour(t), t.TempDir(), t.TempDir()
			messages := map[int64][]byte{a: message(t, 1, 0, a), b: message(t, 2, 0, b), c: message(t, 3, 0, c)}
			record(t, there, messages[a], messages[b])
			check(t, (&shipper{dir: there, conn: h.conn, lead: h.lead}).ship(t.Context()))
			for _, n := range tt.local {
				record(t, here, messages[n])
			}
			have, err := merge(t.Context(), h.conn, here, sweepID, h.shipped())
			check(t, err)
			if n := outcomes(t, here); n != tt.want {
				t.Errorf("%d outcomes, want %d", n, tt.want)
			}
			if kept := len(have["ledger/0001.log"].Parts) > 0; kept != tt.kept {
				t.Errorf("the folder begins with what was shipped: %v, want %v", kept, tt.kept)
			}
			check(t, (&shipper{dir: here, conn: h.conn, lead: h.lead, files: have}).ship(t.Context()))
			out := filepath.Join(t.TempDir(), "out")
			check(t, Fetch(t.Context(), h.conn, out, &Record{ID: h.lead.ID, Shipment: h.shipped()}))
			if n := outcomes(t, out); n != tt.want {
				t.Errorf("%d outcomes shipped afterwards, want %d", n, tt.want)
			}
		})
	}
}

// What is shipped stays inside of its folder.
func TestFetchOutside(t *testing.T) {
	t.Parallel()
	h := newHarbour(t)
	digest, err := h.conn.PutBytes(t.Context(), []byte("text"))
	check(t, err)
	for _, name := range []string{"../out.txt", "/etc/out.txt", "a/../../out.txt", ""} {
		t.Run(fmt.Sprintf("%q", name), func(t *testing.T) {
			s := Shipment{Files: []File{{Name: name, Parts: []Part{{4, digest}}}}}
			dir := t.TempDir()
			if err := Fetch(t.Context(), h.conn, dir, &Record{ID: sweepID, Shipment: s}); err == nil {
				t.Error("fetched")
			}
			if _, err := merge(t.Context(), h.conn, dir, sweepID, s); err == nil {
				t.Error("merged")
			}
		})
	}
}
