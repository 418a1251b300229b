package dataset

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"
	"unsafe"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// aligned returns n zero bytes that start at a multiple of 64.
func aligned(n int) []byte {
	b := make([]byte, n+64)
	skip := -int(uintptr(unsafe.Pointer(&b[0]))) & 63
	return b[skip : skip+n : skip+n]
}

var every = Schema{
	Columns: []Column{
		{Name: "x", Type: List, Width: 3},
		{Name: "y", Type: Float64},
		{Name: "why", Type: Utf8},
		{Name: "i64", Type: Int64},
		{Name: "i32", Type: Int32},
		{Name: "u8", Type: Uint8},
		{Name: "u64", Type: Uint64},
		{Name: "", Type: Utf8},
	},
	Metadata: []KeyValue{{"sweep", "größe"}, {"again", ""}, {"again", "2"}},
}

// content holds the values of one table, by column name.
type content map[string]any

func draw(t *rapid.T, s Schema, rows int) content {
	c := content{}
	for _, col := range s.Columns {
		switch col.Type {
		case Float64, List:
			c[col.Name] = rapid.SliceOfN(rapid.Float64(), rows*max(1, col.Width), rows*max(1, col.Width)).Draw(t, col.Name)
		case Int64:
			c[col.Name] = rapid.SliceOfN(rapid.Int64(), rows, rows).Draw(t, col.Name)
		case Int32:
			c[col.Name] = rapid.SliceOfN(rapid.Int32(), rows, rows).Draw(t, col.Name)
		case Uint8:
			c[col.Name] = rapid.SliceOfN(rapid.Uint8(), rows, rows).Draw(t, col.Name)
		case Uint64:
			c[col.Name] = rapid.SliceOfN(rapid.Uint64(), rows, rows).Draw(t, col.Name)
		case Utf8:
			c[col.Name] = rapid.SliceOfN(rapid.String(), rows, rows).Draw(t, col.Name)
		}
	}
	return c
}

func write(t rapid.TB, s Schema, rows int, c content) []byte {
	t.Helper()
	var lengths []int
	for _, col := range s.Columns {
		if col.Type == Utf8 {
			lengths = append(lengths, len(strings.Join(c[col.Name].([]string), "")))
		}
	}
	l, err := Plan(s, rows, lengths)
	if err != nil {
		t.Fatal(err)
	}
	dst := aligned(l.Size())
	for i := range dst {
		dst[i] = 0xAA // as a memory file that was used before
	}
	l.Init(dst)
	for i, col := range s.Columns {
		switch v := c[col.Name].(type) {
		case []float64:
			if col.Type == List {
				copy(l.List(dst, i), v)
			} else {
				copy(l.Float64(dst, i), v)
			}
		case []int64:
			copy(l.Int64(dst, i), v)
		case []int32:
			copy(view[int32](dst, l.column(i, Int32)), v)
		case []uint8:
			copy(l.Uint8(dst, i), v)
		case []uint64:
			copy(view[uint64](dst, l.column(i, Uint64)), v)
		case []string:
			offsets, text := l.Utf8(dst, i)
			at := 0
			offsets[0] = 0
			for j, s := range v {
				at += copy(text[at:], s)
				offsets[j+1] = int32(at)
			}
		}
		if l.At(i)%64 != 0 {
			t.Fatalf("column %d at %d", i, l.At(i))
		}
	}
	return dst
}

// read returns what Decode makes of src.
func read(src []byte) (Schema, int, content, error) {
	table, err := Decode(src)
	if err != nil {
		return Schema{}, 0, nil, err
	}
	c := content{}
	for _, col := range table.Schema().Columns {
		var v any
		switch col.Type {
		case Float64:
			v, err = table.Float64(col.Name)
		case Int64:
			v, err = table.Int64(col.Name)
		case Int32:
			v, err = numbers[int32](table, col.Name, Int32)
		case Uint8:
			v, err = table.Uint8(col.Name)
		case Uint64:
			v, err = numbers[uint64](table, col.Name, Uint64)
		case List:
			v, _, err = table.List(col.Name)
		case Utf8:
			var s Strings
			s, err = table.Utf8(col.Name)
			text := make([]string, s.Len())
			for i := range text {
				text[i] = s.At(i)
			}
			v = text
		}
		if err != nil {
			return Schema{}, 0, nil, err
		}
		c[col.Name] = v
	}
	return table.Schema(), table.Rows(), c, nil
}

// bits makes NaN equal to itself and -0 different from 0.
var bits = cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := every
		from := rapid.IntRange(0, len(s.Columns)-1).Draw(t, "from")
		s.Columns = s.Columns[from:rapid.IntRange(from+1, len(s.Columns)).Draw(t, "to")]
		rows := rapid.IntRange(0, 40).Draw(t, "rows")
		want := draw(t, s, rows)
		schema, n, got, err := read(write(t, s, rows, want))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s, schema); diff != "" || n != rows {
			t.Fatalf("%d rows, schema %s", n, diff)
		}
		if diff := cmp.Diff(want, got, bits); diff != "" {
			t.Fatal(diff)
		}
	})
}

// sample returns a fixed table of every type.
func sample() (Schema, int, content) {
	return every, 3, content{
		"x":   []float64{1, 2, 3, 4, 5, 6, 7, 8, math.Inf(1)},
		"y":   []float64{-1, math.Copysign(0, -1), math.NaN()},
		"why": []string{"", "größer", "x"},
		"i64": []int64{math.MinInt64, 0, math.MaxInt64},
		"i32": []int32{math.MinInt32, 0, math.MaxInt32},
		"u8":  []uint8{0, 1, 255},
		"u64": []uint64{0, 1, math.MaxUint64},
		"":    []string{"a", "", "c"},
	}
}

// TestArrowReadsOurs checks what Layout writes against the Arrow library's reader.
func TestArrowReadsOurs(t *testing.T) {
	s, rows, want := sample()
	for _, n := range []int{0, 1, rows} {
		t.Run(fmt.Sprint(n, " rows"), func(t *testing.T) {
			want := want.head(s, n)
			r, err := ipc.NewFileReader(bytes.NewReader(write(t, s, n, want)))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if r.NumRecords() != 1 || r.Version() != ipc.MetadataV5 {
				t.Errorf("%d records, version %v", r.NumRecords(), r.Version())
			}
			keys, values := r.Schema().Metadata().Keys(), r.Schema().Metadata().Values()
			if len(keys) != 3 || values[0] != "größe" {
				t.Errorf("metadata %q %q", keys, values)
			}
			rec, err := r.Record(0)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, fromArrow(rec), bits); diff != "" || int(rec.NumRows()) != n {
				t.Fatalf("%d rows, %s", rec.NumRows(), diff)
			}
		})
	}
}

// TestWeReadArrows checks Decode against the Arrow library's writer.
func TestWeReadArrows(t *testing.T) {
	s, rows, want := sample()
	for _, nullable := range []bool{false, true} {
		for _, n := range []int{0, 1, rows} {
			t.Run(fmt.Sprintf("nullable %v, %d rows", nullable, n), func(t *testing.T) {
				want := want.head(s, n)
				schema, got, c, err := read(Align(arrowFile(t, toArrow(t, s, want, nullable))))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(s, schema); diff != "" || got != n {
					t.Fatalf("%d rows, schema %s", got, diff)
				}
				if diff := cmp.Diff(want, c, bits); diff != "" {
					t.Fatal(diff)
				}
			})
		}
	}
}

// head returns the first n rows.
func (c content) head(s Schema, n int) content {
	out := content{}
	for _, col := range s.Columns {
		switch v := c[col.Name].(type) {
		case []float64:
			out[col.Name] = v[:n*max(1, col.Width)]
		case []int64:
			out[col.Name] = v[:n]
		case []int32:
			out[col.Name] = v[:n]
		case []uint8:
			out[col.Name] = v[:n]
		case []uint64:
			out[col.Name] = v[:n]
		case []string:
			out[col.Name] = v[:n]
		}
	}
	return out
}

func fromArrow(rec arrow.Record) content {
	c := content{}
	for i, f := range rec.Schema().Fields() {
		switch a := rec.Column(i).(type) {
		case *array.Float64:
			c[f.Name] = append([]float64{}, a.Float64Values()...)
		case *array.FixedSizeList:
			c[f.Name] = append([]float64{}, a.ListValues().(*array.Float64).Float64Values()...)
		case *array.Int64:
			c[f.Name] = append([]int64{}, a.Int64Values()...)
		case *array.Int32:
			c[f.Name] = append([]int32{}, a.Int32Values()...)
		case *array.Uint8:
			c[f.Name] = append([]uint8{}, a.Uint8Values()...)
		case *array.Uint64:
			c[f.Name] = append([]uint64{}, a.Uint64Values()...)
		case *array.String:
			text := make([]string, a.Len())
			for j := range text {
				text[j] = a.Value(j)
			}
			c[f.Name] = text
		}
	}
	return c
}

func toArrow(t testing.TB, s Schema, c content, nullable bool) arrow.Record {
	types := map[Type]arrow.DataType{
		Float64: arrow.PrimitiveTypes.Float64, Int64: arrow.PrimitiveTypes.Int64, Int32: arrow.PrimitiveTypes.Int32,
		Uint8: arrow.PrimitiveTypes.Uint8, Uint64: arrow.PrimitiveTypes.Uint64, Utf8: arrow.BinaryTypes.String,
	}
	var fields []arrow.Field
	for _, col := range s.Columns {
		typ := types[col.Type]
		if col.Type == List {
			typ = arrow.FixedSizeListOf(int32(col.Width), arrow.PrimitiveTypes.Float64)
		}
		fields = append(fields, arrow.Field{Name: col.Name, Type: typ, Nullable: nullable})
	}
	var keys, values []string
	for _, kv := range s.Metadata {
		keys, values = append(keys, kv.Key), append(values, kv.Value)
	}
	metadata := arrow.NewMetadata(keys, values)
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, &metadata))
	defer b.Release()
	for i, col := range s.Columns {
		switch v := c[col.Name].(type) {
		case []float64:
			if list, ok := b.Field(i).(*array.FixedSizeListBuilder); ok {
				list.ValueBuilder().(*array.Float64Builder).AppendValues(v, nil)
				for range len(v) / col.Width {
					list.Append(true)
				}
			} else {
				b.Field(i).(*array.Float64Builder).AppendValues(v, nil)
			}
		case []int64:
			b.Field(i).(*array.Int64Builder).AppendValues(v, nil)
		case []int32:
			b.Field(i).(*array.Int32Builder).AppendValues(v, nil)
		case []uint8:
			b.Field(i).(*array.Uint8Builder).AppendValues(v, nil)
		case []uint64:
			b.Field(i).(*array.Uint64Builder).AppendValues(v, nil)
		case []string:
			b.Field(i).(*array.StringBuilder).AppendValues(v, nil)
		}
	}
	rec := b.NewRecord()
	t.Cleanup(rec.Release)
	return rec
}

func arrowFile(t testing.TB, rec arrow.Record, opts ...ipc.Option) []byte {
	t.Helper()
	var out seekBuffer
	w, err := ipc.NewFileWriter(&out, append(opts, ipc.WithSchema(rec.Schema()))...)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(rec); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A seekBuffer is a buffer whose position can be asked for, as the library's writer does.
type seekBuffer struct{ bytes.Buffer }

func (b *seekBuffer) Seek(int64, int) (int64, error) { return int64(b.Len()), nil }

// TestValidity checks that a validity buffer without nulls is allowed, and that nulls are not.
func TestValidity(t *testing.T) {
	s := Schema{Columns: []Column{{Name: "y", Type: Float64}}}
	good := write(t, s, 5, content{"y": []float64{1, 2, 3, 4, 5}})
	// The length of the values is the last number of the buffers. Make the length of the validity one
	// byte of the values.
	batch := bytes.Index(good, binary.LittleEndian.AppendUint64(nil, 40))
	copy(good[batch-16:], binary.LittleEndian.AppendUint64(nil, 1))
	if _, err := Decode(good); err != nil {
		t.Error(err)
	}

	b := array.NewFloat64Builder(memory.DefaultAllocator)
	defer b.Release()
	b.AppendValues([]float64{1, 2}, []bool{true, false})
	a := b.NewArray()
	defer a.Release()
	nullable := arrow.NewSchema([]arrow.Field{{Name: "y", Type: a.DataType(), Nullable: true}}, nil)
	rec := array.NewRecord(nullable, []arrow.Array{a}, 2)
	defer rec.Release()
	wantError(t, arrowFile(t, rec), `column "y": it has 1 nulls`)
}

func wantError(t *testing.T, src []byte, want string) {
	t.Helper()
	if _, err := Decode(Align(src)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got error %v, want %q", err, want)
	}
}

func TestRefused(t *testing.T) {
	s, rows, c := sample()
	rec := toArrow(t, s, c, false)
	wantError(t, nil, "does not start with ARROW1")
	wantError(t, arrowFile(t, rec)[:200], "does not end with ARROW1")
	wantError(t, arrowFile(t, rec, ipc.WithLZ4()), "compressed")
	wantError(t, arrowFile(t, rec, ipc.WithZstd()), "compressed")

	var two seekBuffer
	w, err := ipc.NewFileWriter(&two, ipc.WithSchema(rec.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	wantError(t, two.Bytes(), "file has 2 record batches")

	f32 := array.NewRecord(arrow.NewSchema([]arrow.Field{{Name: "f", Type: arrow.PrimitiveTypes.Float32}}, nil),
		[]arrow.Array{array.MakeArrayOfNull(memory.DefaultAllocator, arrow.PrimitiveTypes.Float32, 0)}, 0)
	wantError(t, arrowFile(t, f32), `column "f": type is not supported`)

	dict := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	d := array.NewDictionaryBuilder(memory.DefaultAllocator, dict).(*array.BinaryDictionaryBuilder)
	if err := d.AppendString("a"); err != nil {
		t.Fatal(err)
	}
	labels := array.NewRecord(arrow.NewSchema([]arrow.Field{{Name: "l", Type: dict}}, nil), []arrow.Array{d.NewArray()}, 1)
	wantError(t, arrowFile(t, labels), "dictionaries")

	good := write(t, s, rows, c)
	moved := aligned(len(good) + 1)[1:]
	copy(moved, good)
	if _, err := Decode(moved); err == nil || !strings.Contains(err.Error(), "multiple of 8") {
		t.Errorf("misaligned: %v", err)
	}
	if _, err := Decode(Align(moved)); err != nil {
		t.Error(err)
	}
}

func TestPlanRefuses(t *testing.T) {
	y := Column{Name: "y", Type: Float64}
	for _, c := range []struct {
		s       Schema
		rows    int
		strings []int
		want    string
	}{
		{Schema{}, 1, nil, "0 columns"},
		{Schema{Columns: []Column{y, y}}, 1, nil, "a second one"},
		{Schema{Columns: []Column{{Name: "z"}}}, 1, nil, "unknown type 0"},
		{Schema{Columns: []Column{{Name: "x", Type: List}}}, 1, nil, "width 0"},
		{Schema{Columns: []Column{{Name: "x", Type: Int64, Width: 2}}}, 1, nil, "width 2"},
		{Schema{Columns: []Column{{Name: "\xff", Type: Int64}}}, 1, nil, "not UTF-8"},
		{Schema{Columns: []Column{y}, Metadata: []KeyValue{{"k", "\xff"}}}, 1, nil, "not UTF-8"},
		{Schema{Columns: []Column{y}}, -1, nil, "-1 rows"},
		{Schema{Columns: []Column{y}}, math.MaxInt, nil, "take more than"},
		{Schema{Columns: []Column{{Name: "x", Type: List, Width: math.MaxInt32}}}, 1 << 40, nil, "take more than"},
		{Schema{Columns: []Column{{Name: "s", Type: Utf8}}}, 1, nil, "not given"},
		{Schema{Columns: []Column{{Name: "s", Type: Utf8}}}, math.MaxInt, []int{0}, "take more than"},
		{Schema{Columns: []Column{{Name: "s", Type: Utf8}}}, 1, []int{-1}, "-1 bytes"},
		{Schema{Columns: []Column{y}}, 1, []int{3}, "more than Utf8 columns"},
	} {
		if _, err := Plan(c.s, c.rows, c.strings); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got error %v, want %q", err, c.want)
		}
	}
}

func TestNamesInErrors(t *testing.T) {
	s, rows, c := sample()
	table, err := Decode(write(t, s, rows, c))
	if err != nil {
		t.Fatal(err)
	}
	_, err = table.Float64("z")
	if err == nil || !strings.Contains(err.Error(), `column "z": not in the table, which has x, y, why`) {
		t.Error(err)
	}
	if _, _, err := table.List("y"); err == nil || !strings.Contains(err.Error(), `column "y": it is float64, not`) {
		t.Error(err)
	}
	if v, ok := table.Schema().Get("again"); !ok || v != "" {
		t.Errorf("got %q %v", v, ok)
	}
}

// TestDamage checks that a changed byte or a cut gives an error or a table that can be read whole,
// and never a panic.
func TestDamage(t *testing.T) {
	s, rows, c := sample()
	good := write(t, s, rows, c)
	for i := range good {
		for _, x := range []byte{1, 0x80, 0xFF} {
			bad := aligned(len(good))
			copy(bad, good)
			bad[i] ^= x
			_, _, _, _ = read(bad)
		}
		if _, _, _, err := read(good[:i]); err == nil {
			t.Errorf("cut at %d: no error", i)
		}
	}
}

func FuzzDecode(f *testing.F) {
	s, rows, c := sample()
	f.Add(write(f, s, rows, c))
	f.Add(write(f, s, 0, c.head(s, 0)))
	f.Add(arrowFile(f, toArrow(f, s, c, true)))
	f.Fuzz(func(t *testing.T, src []byte) {
		_, _, _, _ = read(Align(src))
	})
}
