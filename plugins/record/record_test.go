package record

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

func example() *Record {
	r := &Record{
		Setting: &pluginv1.Setting{Algorithm: "a/b", N: 1 << 60, Alpha: 0.1}, Seeds: [2]uint64{1, 1 << 63}, Dim: 2,
		Metrics: map[string]float64{"m": 0.1}, Fault: "error: \xff",
	}
	r.Append(0, Sample, []float64{1, 2, 3, 4}, []float64{-1, 1})
	r.Append(1, Query, []float64{5, math.Copysign(0, -1)}, nil)
	r.Rows[2].Answer, r.Rows[2].Hard = -1, true
	return r
}

// A file holds the whole record, and an Arrow library reads it.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.arrow")
	if err := example().WriteFile(path); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	want := example()
	want.Fault = "error: ?" // valid UTF-8
	if d := cmp.Diff(want, got, protocmp.Transform(), cmpopts.EquateNaNs()); d != "" {
		t.Error(d)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	file, err := ipc.NewFileReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	batch, err := file.Record(0)
	if err != nil {
		t.Fatal(err)
	}
	kinds := batch.Column(1).(*array.String)
	x := batch.Column(2).(*array.FixedSizeList).ListValues().(*array.Float64).Float64Values()
	seeds, _ := file.Schema().Metadata().GetValue("seeds")
	if batch.NumRows() != 3 || kinds.Value(0) != Sample || kinds.Value(2) != Query || !cmp.Equal(x, want.X) ||
		seeds != "1 9223372036854775808" {
		t.Errorf("an Arrow library reads %v, seeds %q", batch, seeds)
	}
}

// What is no record is refused with the remedy.
func TestReadRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.arrow")
	if err := os.WriteFile(path, []byte("not Arrow"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "shatter trial DIR ID --export FILE") {
		t.Errorf("the error is %v", err)
	}
}
