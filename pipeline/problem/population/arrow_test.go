package population

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/apache/arrow/go/v17/parquet/pqarrow"

	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas"
)

// typed is a column of a test file: values as any, nil for a missing one.
type typed struct {
	name   string
	kind   arrow.DataType
	values []any
}

// record builds an Arrow record of nullable columns.
func record(t testing.TB, mem memory.Allocator, columns []typed) arrow.Record {
	t.Helper()
	var fields []arrow.Field
	for _, c := range columns {
		fields = append(fields, arrow.Field{Name: c.name, Type: c.kind, Nullable: true})
	}
	b := array.NewRecordBuilder(mem, arrow.NewSchema(fields, nil))
	defer b.Release()
	for i, c := range columns {
		for _, v := range c.values {
			if err := b.Field(i).AppendValueFromString(text(v)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return b.NewRecord()
}

func text(v any) string {
	if v == nil {
		return array.NullValueStr
	}
	return v.(string)
}

// arrowFile writes the rows of columns in record batches of the given sizes.
func arrowFile(t testing.TB, columns []typed, sizes []int, options ...ipc.Option) []byte {
	t.Helper()
	rec := record(t, memory.DefaultAllocator, columns)
	defer rec.Release()
	var out seekBuffer
	w, err := ipc.NewFileWriter(&out, append(options, ipc.WithSchema(rec.Schema()))...)
	if err != nil {
		t.Fatal(err)
	}
	from := int64(0)
	for _, n := range sizes {
		piece := rec.NewSlice(from, from+int64(n))
		if err := w.Write(piece); err != nil {
			t.Fatal(err)
		}
		piece.Release()
		from += int64(n)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// seekBuffer is a buffer that says where it is, which is all that the writer asks of Seek.
type seekBuffer struct{ bytes.Buffer }

func (b *seekBuffer) Seek(int64, int) (int64, error) { return int64(b.Len()), nil }

// parquetFile writes the rows of columns in row groups of the given size.
func parquetFile(t testing.TB, columns []typed, group int64, options ...parquet.WriterProperty) []byte {
	t.Helper()
	rec := record(t, memory.DefaultAllocator, columns)
	defer rec.Release()
	table := array.NewTableFromRecords(rec.Schema(), []arrow.Record{rec})
	defer table.Release()
	var out bytes.Buffer
	err := pqarrow.WriteTable(table, &out, group, parquet.NewWriterProperties(options...), pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// plain returns two numeric columns, a categorical one and the labels.
func plain() []typed {
	return []typed{
		{"a", arrow.PrimitiveTypes.Float64, []any{"0.5", "0.25", "-0.5", "0", "1"}},
		{"c", arrow.BinaryTypes.String, []any{"v", "u", "v", "w", "u"}},
		{"b", arrow.PrimitiveTypes.Int32, []any{"1", "-2", "3", "0", "5"}},
		{"y", arrow.BinaryTypes.String, []any{"p", "q", "q", "p", "q"}},
	}
}

// files returns one table in both formats, in several layouts and compressions.
func files(t testing.TB, columns []typed) map[string][]byte {
	t.Helper()
	return map[string][]byte{
		"arrow, batches":  arrowFile(t, columns, []int{2, 0, 3}),
		"arrow, zstd":     arrowFile(t, columns, []int{3, 2}, ipc.WithZstd()),
		"parquet, groups": parquetFile(t, columns, 2),
		"parquet, snappy": parquetFile(t, columns, 5, parquet.WithCompression(compress.Codecs.Snappy)),
		"parquet, no dictionary": parquetFile(t, columns, 3, parquet.WithDictionaryDefault(false),
			parquet.WithDataPageVersion(parquet.DataPageV2)),
	}
}

// kindOf returns the first word of a key of files.
func kindOf(name string) string { return strings.TrimSuffix(strings.Fields(name)[0], ",") }

func TestFormatsAgree(t *testing.T) {
	q := overData("halfspace", 0)
	q.Data.Categorical = []string{"c"}
	q.Data.Scale.Norm = 4
	want := openCSV(t, "a,c,b,y\n0.5,v,1,p\n0.25,u,-2,q\n-0.5,v,3,q\n0,w,0,p\n1,u,5,q\n", q)
	if want.Dim != 5 || want.Pulled != 1 {
		t.Fatalf("%d numbers per row, %d pulled", want.Dim, want.Pulled)
	}
	for name, data := range files(t, plain()) {
		p, err := read(q, testkit.WriteFile(t, "data."+kindOf(name), string(data)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !slices.Equal(p.X, want.X) || !slices.Equal(p.Y, want.Y) || p.Pulled != 1 {
			t.Errorf("%s: rows %v, labels %v", name, p.X, p.Y)
		}
	}
}

func TestLargeUnsigned(t *testing.T) {
	columns := []typed{
		{"a", arrow.PrimitiveTypes.Uint64, []any{"18446744073709551615", "0", "1", "1", "1"}},
		{"b", arrow.PrimitiveTypes.Uint32, []any{"4294967295", "0", "1", "1", "1"}},
		{"y", arrow.PrimitiveTypes.Uint64, []any{"18446744073709551615", "0", "0", "0", "0"}},
	}
	q := overData("halfspace", 0)
	q.Data.Positive = "18446744073709551615"
	q.Data.Scale = schemas.Scale{Ranges: map[string][2]float64{"a": {0, math.Exp2(64)}, "b": {0, math.Exp2(32) - 1}}}
	for name, data := range files(t, columns) {
		p, err := read(q, testkit.WriteFile(t, "data."+kindOf(name), string(data)))
		if err != nil || !near(p.X[:4], []float64{1 / math.Sqrt2, 1 / math.Sqrt2, -1 / math.Sqrt2, -1 / math.Sqrt2}, 1e-15) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Columns of other types may stand in the file, but not be used; by default they are no features.
func TestUnusableColumns(t *testing.T) {
	moments := []any{"2020-01-01", "2020-01-02", "2020-01-03", "2020-01-04", "2020-01-05"}
	columns := append(plain(), typed{"when", arrow.FixedWidthTypes.Date32, moments},
		typed{"list", arrow.ListOf(arrow.PrimitiveTypes.Int32), []any{"[1]", "[]", "[2,3]", "[4]", "[5]"}})
	for name, data := range files(t, columns) {
		q := overData("halfspace", 0)
		path := testkit.WriteFile(t, "data."+kindOf(name), string(data))
		p, err := read(q, path)
		if err != nil || p.Dim != 2 {
			t.Errorf("%s: %v", name, err)
		}
		q.Data.Features = []string{"a", "when"}
		_, err = read(q, path)
		checkError(t, err, `problem.data.features: `+path+`: column "when" cannot be used: it holds date32, neither`)
		q.Data.Features = []string{"a", "c"}
		_, err = read(q, path)
		checkError(
			t,
			err,
			`problem.data.file: `+path+`: row 1, column "c" (and 4 cells below it): "v" is not a number; correct it, `+
				`drop the row`,
		)
		q.Data.Features, q.Data.Label = nil, "when"
		_, err = read(q, path)
		checkError(t, err, `problem.data.label: `+path+`: column "when" cannot be used: it holds date32, neither`)
	}
}

func TestBadCellsInColumns(t *testing.T) {
	for _, c := range []struct {
		column int
		value  any
		want   string
	}{
		{0, nil, `row 4, column "a": the cell is missing`},
		{1, nil, `row 4, column "c": the cell is missing`},
		{2, nil, `row 4, column "b": the cell is missing`},
		{3, nil, `row 4, column "y": the cell is missing`},
		{0, "NaN", `row 4, column "a": the cell is missing (NaN)`},
		{0, "-Inf", `row 4, column "a": -Inf is not a finite number`},
	} {
		columns := plain()
		columns[c.column].values[3] = c.value
		for name, data := range files(t, columns) {
			q := overData("halfspace", 0)
			q.Data.Categorical = []string{"c"}
			path := testkit.WriteFile(t, "data."+kindOf(name), string(data))
			_, err := read(q, path)
			checkError(t, err, "problem.data.file: "+path+": "+c.want)
		}
	}
}

// No cut and no flipped bit brings the readers down; most are noticed, some only change a value.
func TestDamagedFiles(t *testing.T) {
	for name, data := range files(t, plain()) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i := 0; i < len(data); i += 37 {
				fuzzTable(t, kindOf(name), data[:i], true, false)
				damaged := bytes.Clone(data)
				damaged[i] ^= 1 << (i % 8)
				fuzzTable(t, kindOf(name), damaged, i%2 == 0, false)
			}
		})
	}
}

func FuzzArrow(f *testing.F) { fuzzFormat(f, arrowFormat) }

func FuzzParquet(f *testing.F) { fuzzFormat(f, parquetFormat) }

func fuzzFormat(f *testing.F, wanted string) {
	for name, data := range files(f, plain()) {
		if kindOf(name) == wanted {
			f.Add(data, true)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, categorical bool) {
		fuzzTable(t, wanted, data, categorical, false)
	})
}
