package population

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas"
)

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// An Arrow file may state the largest number anywhere: the reader does not allocate by it.
func TestStatedSizes(t *testing.T) {
	testkit.Serial(t)
	const most = 64 << 20
	data := files(t, plain())["arrow, batches"]
	for i := 4; i+8 < len(data); i++ {
		bomb := bytes.Clone(data)
		binary.LittleEndian.PutUint32(bomb[i:], 1<<31-1)
		if n := allocated(func() { fuzzTable(t, "arrow", bomb, true, false) }); n > most {
			t.Errorf("byte %d of %d: %d bytes are allocated", i, len(data), n)
		}
	}
}

// A Parquet file that states 2^60 rows, or a dictionary or page of 2^30 values, is refused before
// memory is allocated for them.
func TestStatedRows(t *testing.T) {
	testkit.Serial(t)
	const most = 64 << 20
	data := parquetFile(t, plain(), 5)
	footer := len(data) - 8 - int(binary.LittleEndian.Uint32(data[len(data)-8:]))
	// Fields of 64 and 32 bits that follow one another, in Thrift's compact protocol, and 5, their
	// value.
	rows, values := []byte{0x16, 10}, []byte{0x15, 10}
	manyRows := bytes.ReplaceAll(data[footer:], rows, binary.AppendUvarint(rows[:1:1], 2<<60))
	size := len(manyRows) - 8
	binary.LittleEndian.PutUint32(manyRows[size:], uint32(size))
	manyValues := bytes.ReplaceAll(data[:footer], values, binary.AppendUvarint(values[:1:1], 2<<30))
	for name, bomb := range map[string][]byte{
		"rows": slices.Concat(data[:footer], manyRows), "values": slices.Concat(manyValues, data[footer:]),
	} {
		tab := &table{spec: &schemas.Data{File: "data", Format: "parquet", Label: "y", Positive: "p"}}
		tab.spec.Scale.Norm = 2
		var err error
		n := allocated(func() { err = tab.read(io.NewSectionReader(bytes.NewReader(bomb), 0, int64(len(bomb)))) })
		if err == nil || !strings.Contains(err.Error(), "data is damaged") || n > most {
			t.Errorf("%s: %v, %d bytes are allocated", name, err, n)
		}
	}
}

// A file of a few bytes cannot stand for any number of rows.
func TestManyRows(t *testing.T) {
	tab := &table{spec: &schemas.Data{File: "data", Format: arrowFormat}, most: 1000, width: 1}
	if err := tab.reserve(500); err != nil {
		t.Error(err)
	}
	want := fmt.Sprintf("data: more than %d numbers, far more than a file of its size holds", tab.most)
	if err := tab.reserve(1); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}
