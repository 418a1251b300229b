package ledger_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/ledger/ledgertest"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas"
)

// A log of any bytes opens, or is refused; its frames and what is damaged cover it without a gap.
func FuzzLog(f *testing.F) {
	frame := ledger.AppendFrame(nil, ledgertest.Encode(f, ledgertest.Batch(5, 0)))
	f.Add(frame)
	f.Add(append(bytes.Clone(frame), frame[:len(frame)-3]...))
	f.Add(append(append(bytes.Clone(frame), "junk"...), ledger.AppendFrame(nil, []byte("no batch"))...))
	dir := testkit.MemoryDir(f)
	f.Fuzz(func(t *testing.T, log []byte) {
		at := 0
		for frame := range ledger.Frames(log) {
			if frame.Offset != at || frame.End <= at {
				t.Fatalf("a frame from %d to %d follows %d", frame.Offset, frame.End, at)
			}
			at = frame.End
		}
		if at != len(log) {
			t.Fatalf("the frames end at %d of %d", at, len(log))
		}
		if err := os.WriteFile(filepath.Join(dir, "0001.log"), log, 0o600); err != nil {
			t.Fatal(err)
		}
		l, report, err := ledger.Read(dir, ledgertest.Sweep)
		if err != nil {
			return
		}
		if n := int64(len(known(l))); n != report.Outcomes {
			t.Errorf("%d outcomes are read, %d are reported", n, report.Outcomes)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A retraction of any bytes is refused, or what the worker has sent is void, at once and when the
// ledger is opened again.
func FuzzRetraction(f *testing.F) {
	const worker = "liar"
	b := ledgertest.Batch(3, 0)
	b.Worker = worker
	frame := ledger.AppendFrame(nil, ledgertest.Encode(f, b))
	x := ledger.Retraction{Version: schemas.RetractionVersion, Sweep: ledgertest.Sweep, Worker: worker, Reason: "why"}
	msg, err := json.Marshal(x)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(msg)
	f.Add(bytes.Replace(msg, []byte(worker), []byte("good"), 1))
	dir := testkit.MemoryDir(f)
	f.Fuzz(func(t *testing.T, msg []byte) {
		log := append(bytes.Clone(frame), ledger.RetractionFrame(msg)...)
		if err := os.WriteFile(filepath.Join(dir, "0001.log"), log, 0o600); err != nil {
			t.Fatal(err)
		}
		l, report, err := ledger.Read(dir, ledgertest.Sweep)
		if err != nil {
			return
		}
		list := l.Retractions()
		if len(list) != 1 || list[0].Sweep != ledgertest.Sweep || (list[0].Worker == worker) != (report.Outcomes == 0) {
			t.Errorf("%+v leaves %d outcomes", list, report.Outcomes)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}
