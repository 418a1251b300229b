package population

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/compress"

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

// Wherever a small file states a number, it may state the largest one: no reader takes much memory
// by it.
func TestStatedSizes(t *testing.T) {
	testkit.Serial(t)
	const most = 64 << 20
	largest := []byte{0xfe, 0xff, 0xff, 0xff, 0x0f} // of 32 bits, in Thrift's compact protocol
	all := files(t, plain())
	for _, name := range []string{"parquet", "parquet, no dictionary", "arrow, batches"} {
		data := all[name]
		for i := 4; i+8 < len(data); i++ {
			bomb := bytes.Clone(data)
			if formatOf(name) == "parquet" { // the other numbers stay as they are
				bomb = bytes.Join([][]byte{data[:i], largest, data[i+1:]}, nil)
				footer := bomb[len(bomb)-8:]
				if size := binary.LittleEndian.Uint32(footer); len(data)-i <= int(size)+8 {
					binary.LittleEndian.PutUint32(footer, size+uint32(len(largest))-1)
				}
			} else {
				binary.LittleEndian.PutUint32(bomb[i:], 1<<31-1)
			}
			if n := allocated(func() { fuzzTable(t, formatOf(name), bomb, true, false) }); n > most {
				t.Errorf("%s, byte %d of %d: %d bytes are allocated", name, i, len(data), n)
			}
		}
	}
}

// A page that is longer than it states is not decoded, whatever its compression.
func TestPageBombs(t *testing.T) {
	testkit.Serial(t)
	const rows, most = 1 << 21, 16 << 20
	zeros := make([]any, rows)
	for i := range zeros {
		zeros[i] = "0"
	}
	for _, codec := range []compress.Compression{compress.Codecs.Snappy, compress.Codecs.Gzip, compress.Codecs.Zstd,
		compress.Codecs.Brotli} {
		data := parquetFile(t, []typed{{"y", arrow.PrimitiveTypes.Int64, zeros}}, rows, parquet.WithCompression(codec),
			parquet.WithDictionaryDefault(false), parquet.WithDataPageSize(1<<30), parquet.WithStats(false))
		const uncompressed = 4 + 3 // after PAR1, the type of the page, and the kind of the field
		if size, n := binary.Uvarint(data[uncompressed:]); n != 4 || size < 2*8*rows {
			t.Fatalf("%s: the page states %d", codec, size/2)
		}
		for _, stated := range []byte{0, 100} {
			copy(data[uncompressed:], []byte{stated | 0x80, 0x80, 0x80, 0})
			tab := &table{
				space: new(heap), spec: &schemas.Data{File: "data", Format: parquetFormat.name, Label: "y", Categorical: []string{"y"}},
				memory: memory.NewGoAllocator(), matrix: true,
			}
			var err error
			n := allocated(func() { err = tab.read(io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data)))) })
			if err == nil || !strings.Contains(err.Error(), "data is damaged") || n > most {
				t.Errorf("%s, %d bytes stated: %v, %d bytes are allocated", codec, stated/2, err, n)
			}
		}
	}
}

// A file of a few bytes cannot stand for any number of rows.
func TestManyRows(t *testing.T) {
	tab := &table{
		space: new(heap), spec: &schemas.Data{File: "data", Format: arrowFormat.name, Features: []string{"a"}}, most: 1000,
	}
	if err := tab.grow(500); err != nil {
		t.Error(err)
	}
	want := fmt.Sprintf("data: more than %d numbers, far more than a file of its size holds", tab.most)
	if err := tab.grow(501); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}
