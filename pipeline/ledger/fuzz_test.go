package ledger_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/ledger/ledgertest"
	"github.com/shatterlab/shatter/pipeline/testkit"
)

// A log of any bytes opens, or is rejected; its frames and damaged parts cover it without a gap.
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
