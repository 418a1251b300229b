package population

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas"
)

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func utf16LE(text string) string {
	b := []byte("\xFF\xFE")
	for _, u := range utf16.Encode([]rune(text)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

// arrowStream writes columns in the Arrow stream format.
func arrowStream(t *testing.T, columns []typed) string {
	t.Helper()
	rec := record(t, memory.DefaultAllocator, columns)
	defer rec.Release()
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(rec.Schema()))
	if err := w.Write(rec); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Files as other programs write them hold the same rows.
func TestOddFilesAreRead(t *testing.T) {
	x := []float64{0.25, 0.5, -0.125, 0, 0, 0.5, 0.375, 0}
	y := []float64{1, -1, 1, -1}
	text := func(kind arrow.DataType) typed { return typed{"y", kind, []any{"p", "q", "p", "q"}} }
	a := typed{"a", arrow.PrimitiveTypes.Float64, []any{"0.5", "-0.25", "0", "0.75"}}
	columns := func(of ...typed) []typed { return of }
	ones := []any{"1", "0", "1", "0"}
	decimals := &arrow.Decimal128Type{Precision: 10, Scale: 4}
	for _, c := range []struct {
		file, text string
		change     func(d *schemas.Data)
		warning    string
	}{
		{"plain.csv", "a,b,y\n0.5,1,p\n-.25,0,q\n0,1,p\n0.75,0,q\n", nil, ""},
		{"gzip.csv.gz", gzipped(t, "a,b,y\n0.5,1,p\n-.25,0,q\n0,1,p\n0.75,0,q\n"), nil, ""},
		{"disguised.csv", gzipped(t, "a,b,y\n0.5,1,p\n-.25,0,q\n0,1,p\n0.75,0,q\n"), nil, ""},
		{"tabs.tsv", "a\tb\ty\n0.5\t1\tp\n-.25\t0\tq\n0\t1\tp\n0.75\t0\tq\n", nil, ""},
		{"tabs.csv", "a\tb\ty\n0.5\t1\tp\n-.25\t0\tq\n0\t1\tp\n0.75\t0\tq\n",
			func(d *schemas.Data) { d.Delimiter = "\t" }, ""},
		{"german.csv", "a;b;y\n0,5;1;p\n-,25;0;q\n0;1;p\n0,75;0;q\n",
			func(d *schemas.Data) { d.Delimiter, d.Decimal = ";", "," }, ""},
		{"python.csv", "a,b,y\n0.5,True,p\n-.25,False,q\n0,True,p\n0.75,False,q\n", nil, ""},
		{"r.csv", "a,b,y\n0.5,TRUE,p\n-.25,FALSE,q\n0,TRUE,p\n0.75,FALSE,q\n", nil, ""},
		{"missing, first row.csv", "a,b,y\n#N/A,0,p\n0.5,1,p\n-.25,0,q\n0,1,p\n0.75,0,q\n",
			func(d *schemas.Data) { d.Missing = "drop" }, ""},
		{"units.csv", "a,u,b,v,y,w\n0.5,17,1,1%,p,$0.31\n-.25,\"323,800\",0,2%,q,$1\n0,1,1,3%,p,$2\n0.75,1,0,4%,q,$3\n", nil,
			`3 columns left out: "u" (row 3 holds "323,800"; write numbers without commas between thousands), ` +
				`"v" (row 2 holds "1%"; write numbers without signs and separators), "w" (row 2 holds "$0.31"; `},
		{"dates.csv", "a,when,b,y\n0.5,2020-01-02,1,p\n-.25,2020-01-03,0,q\n0,,1,p\n0.75,,0,q\n", nil,
			`1 column left out: "when" (row 2 holds "2020-01-02", a date; write dates as numbers). To choose columns, ` +
				`list them in problem.data.features (numbers) or problem.data.categorical (text)`},
		{"typo.csv", "a,c,b,y\n0.5,1,1,p\n-.25,2,0,q\n0,x,1,p\n0.75,4,0,q\n", nil, `"c" (row 4 holds "x")`},
		{"nothing.csv", "a,c,b,y\n0.5,,1,p\n-.25,NA,0,q\n0,,1,p\n0.75,-,0,q\n", nil, `"c" (all of its cells are missing)`},
		{"sparse.libsvm", "# x\n+1 1:0.5 2:1\n-1 1:-.25 # y\n\n1 2:1\n-1 1:.75\n",
			func(d *schemas.Data) { d.Label, d.Positive = "label", "+1" }, ""},
		{"sparse.svmlight.gz", gzipped(t, "1 0:0.5 1:1\n0 0:-.25\n1 1:1\n0 0:.75"),
			func(d *schemas.Data) { d.Label, d.Positive = "label", "1" }, ""},
		{"decimals.arrow", string(arrowFile(t, columns(typed{"a", decimals, a.values}, typed{"b", decimals, ones},
			text(arrow.BinaryTypes.String)), []int{4})), nil, ""},
		{"decimals.parquet", string(parquetFile(t, columns(typed{"a", decimals, a.values}, typed{"b", decimals, ones},
			text(arrow.BinaryTypes.String)), 4)), nil, ""},
		{"booleans.arrow", string(arrowFile(t, columns(a, typed{"b", arrow.FixedWidthTypes.Boolean,
			[]any{"true", "false", "true", "false"}}, text(arrow.BinaryTypes.StringView)), []int{4})), nil, ""},
		{"booleans.parquet", string(parquetFile(t, columns(a, typed{"b", arrow.FixedWidthTypes.Boolean,
			[]any{"true", "false", "true", "false"}}, text(arrow.BinaryTypes.LargeString)), 4)), nil, ""},
		{"stream.arrow", arrowStream(t, columns(a, typed{"b", arrow.PrimitiveTypes.Int8, ones},
			text(arrow.BinaryTypes.String))), nil, ""},
		{"dictionary.arrow", string(arrowFile(t, columns(a, typed{"b", &arrow.DictionaryType{
			IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.PrimitiveTypes.Int64}, ones},
			text(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: arrow.BinaryTypes.String})),
			[]int{4})), nil, ""},
		{"nulls.parquet", string(parquetFile(t, columns(typed{"a", a.kind, append(a.values[:4:4], "1")},
			typed{"b", arrow.PrimitiveTypes.Int32, append(ones[:4:4], nil)},
			typed{"y", arrow.BinaryTypes.String, []any{"p", "q", "p", "q", "p"}}), 2)),
			func(d *schemas.Data) { d.Missing = "drop" }, ""},
		{"numbers as text.parquet", string(parquetFile(t, columns(a, typed{"b", arrow.BinaryTypes.String, ones},
			text(arrow.BinaryTypes.String)), 4)), func(d *schemas.Data) { d.Features = []string{"a", "b"} }, ""},
	} {
		t.Run(c.file, func(t *testing.T) {
			q := overData("halfspace", 0)
			q.Data.Scale.Norm = 2
			if c.change != nil {
				c.change(q.Data)
			}
			rows, err := read(q, testkit.WriteFile(t, c.file, c.text))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(rows.X, x) || !slices.Equal(rows.Y, y) {
				t.Errorf("rows %v, labels %v", rows.X, rows.Y)
			}
			got := strings.Join(rows.Report.Warnings, "\n")
			if !strings.Contains(got, c.warning) || (got == "") != (c.warning == "") {
				t.Errorf("warnings %q, want %q", got, c.warning)
			}
		})
	}
}

// The files in testdata were written by DuckDB 1.5.6 and Polars (nodejs-polars 0.26.1).
func TestFilesOfOtherPrograms(t *testing.T) {
	for _, c := range []struct{ file, refused string }{
		{"polars.arrow", ""},
		{"polars-lz4.parquet", ""},
		{"duckdb-decimal.parquet", ""},
		{"duckdb-v2.parquet", `is not supported: unsupported encoding BYTE_STREAM_SPLIT; ` +
			`rewrite it, for example with DuckDB 1.5`},
	} {
		q := overData("halfspace", 0)
		q.Data.Label, q.Data.Positive = "label", "good"
		rows, err := read(q, filepath.Join("testdata", c.file))
		if c.refused != "" {
			checkError(t, err, "problem.data.file: testdata/"+c.file+" "+c.refused)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		if want := []float64{0.5, 0.25, -0.5, 0.125, 0.25, -0.75}; !slices.Equal(rows.X, want) ||
			!slices.Equal(rows.Y, []float64{1, -1, -1}) {
			t.Errorf("%s: rows %v, labels %v", c.file, rows.X, rows.Y)
		}
	}
}

// What cannot be read is refused with a remedy.
func TestOddFilesAreRefused(t *testing.T) {
	duck, err := os.ReadFile(filepath.Join("testdata", "duckdb-decimal.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file, text string
		change     func(d *schemas.Data)
		want       string // FILE stands for the path
	}{
		{"utf16.csv", utf16LE("a,y\n1,p\n"), nil, `data.file: FILE is UTF-16, which is not supported; convert it: ` +
			`iconv -f UTF-16 -t UTF-8 FILE > utf8.csv`},
		{"latin1.csv", "gr\xF6\xDFe,y\n1,p\n", nil, `data.file: FILE: row 1: "gr\xf6\xdfe" is not UTF-8; convert the file, ` +
			`for example: iconv -f LATIN1 -t UTF-8 FILE > utf8.csv`},
		{"comment.csv", "# made by hand\na,y\n1,p\n2,q\n", nil, `data.file: FILE: row 2 has 2 cells, ` +
			`the header line has 1; the first line looks like a comment; remove such lines: grep -v '^#' FILE > rows.csv`},
		{"german.csv", "a;b;y\n0,5;0,25;p\n", nil, `data.file: FILE: row 2 has 3 cells, the header line has 1; ` +
			`set problem.data.delimiter: ";" and problem.data.decimal: ","`},
		{"decimal.csv", "a;b;y\n0,5;0,25;p\n", func(d *schemas.Data) { d.Delimiter = ";" },
			`data.features: FILE: no column is numeric: "a" (row 2 holds "0,5"; for decimal commas set ` +
				`problem.data.decimal: ","), "b" (row 2 holds`},
		{"thousands.csv", "a;y\n1.234,5;p\n1;q\n",
			func(d *schemas.Data) { d.Delimiter, d.Decimal, d.Features = ";", ",", []string{"a"} },
			`data.file: FILE: row 2, column "a": "1.234,5" is not a number; write numbers without signs and separators`},
		{"tabs.csv", "a\tb\ty\n1\t2\tp\n", nil, `data.label: FILE has no column "y"; its columns are "a\tb\ty"; ` +
			`set problem.data.delimiter: "\t"`},
		{"named.csv", "a,b,y\n1,$2,p\n2,$3,q\n", func(d *schemas.Data) { d.Features = []string{"b"} },
			`data.file: FILE: row 2, column "b": "$2" is not a number; write numbers without signs`},
		{"parquet.csv", string(duck), nil, `data.file: FILE is not text; it begins like a Parquet, Arrow or zip file`},
		{"csv.arrow", "a,y\n1,p\n", nil, `data.file: FILE is damaged, or not a file of the format arrow: it does not begin`},
		{"old.feather", "FEA1....FEA1", nil, `data.file: FILE is not supported: it is Feather version 1; ` +
			`write version 2 or Parquet`},
		{"cut.csv.gz", gzipped(t, "a,y\n1,p\n2,q\n")[:20], nil, `data.file: FILE is damaged, or not a file of ` +
			`the format csv: gzip: unexpected EOF`},
		{"x.parquet.gz", "", nil, `data.file: FILE: .gz files are not read; unpack it; only text may be compressed, by gzip`},
		{"x.jsonl", "{}", nil, `data.file: FILE: .jsonl files are not read; convert it, for example with ` +
			`DuckDB 1.5 (2026): COPY (FROM read_json('FILE')) TO 'data.parquet'`},
		{"x.arff", "", nil, `data.file: FILE: .arff files are not read; convert it: (grep -i '^@attribute' FILE |`},
		{"x.xlsx", "", nil, `data.file: FILE: .xlsx files are not read; save the sheet as CSV`},
		{"x.orc", "", nil, `data.file: FILE: unknown extension ".orc"; use .csv, .parquet, .arrow or .libsvm`},
		{"x.libsvm", "abc\n", nil, `data.file: FILE holds no COLUMN:VALUE; is it a LIBSVM file?`},
		{"dense.libsvm", "1 0.5 0.25\n", nil, `data.file: FILE: row 1: "0.5" is not COLUMN:VALUE with a ` +
			`column from 0 to 1048576`},
		{"order.libsvm", "1 2:1 1:1\n", func(d *schemas.Data) { d.Label = "label" },
			`data.file: FILE: row 1: column 1 comes after column 2; is it a LIBSVM file?`},
		{"options.parquet", string(duck), func(d *schemas.Data) { d.Delimiter = ";" },
			`data: delimiter and decimal apply to CSV files; leave them out for FILE`},
		{"x.csv", "a,y\n1,p\n", func(d *schemas.Data) { d.Decimal = ":" },
			`data.decimal: ":" is no decimal sign; use "." or ","`},
		{"x.csv", "a,y\n1,p\n", func(d *schemas.Data) { d.Delimiter = "::" }, `data.delimiter: "::" cannot separate cells`},
	} {
		q := overData("halfspace", 0)
		if c.change != nil {
			c.change(q.Data)
		}
		path := testkit.WriteFile(t, c.file, c.text)
		_, err := read(q, path)
		checkError(t, err, "problem."+strings.ReplaceAll(c.want, "FILE", path))
	}
}

func TestMissingCells(t *testing.T) {
	const text = "a,c,y\n1,u,p\n,v,q\n3,,p\n5,u,q\n"
	for _, c := range []struct {
		missing, want string
		x             []float64
		share         float64
	}{
		{"", `row 3, column "a": the cell is missing; drop the row, fill the cell, or set problem.data.missing: drop ` +
			`or mean`, nil, 0},
		{"drop", "", []float64{1, 1, 5, 1}, 0.5},
		{"mean", `row 4, column "c": the cell is missing; drop the row, fill the cell, or set problem.data.missing: ` +
			`drop`, nil, 0},
	} {
		q := overData("halfspace", 0)
		q.Data.Missing, q.Data.Categorical, q.Data.Scale.Norm = c.missing, []string{"c"}, 10
		path := testkit.WriteFile(t, "data.csv", text)
		rows, err := read(q, path)
		if c.want != "" {
			checkError(t, err, "problem.data.file: "+path+": "+c.want)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.x { // v is no category any more: its only row is gone
			c.x[i] /= 10
		}
		if !slices.Equal(rows.X, c.x) || rows.Missing != c.share || len(rows.Y) != 2 {
			t.Errorf("%s: rows %v, labels %v, share %v", c.missing, rows.X, rows.Y, rows.Missing)
		}
	}
	q := overData("halfspace", 0)
	q.Data.Missing, q.Data.Scale.Norm = "mean", 10
	rows := openCSV(t, "a,b,y\n1,NA,p\n,2,q\n3,4,p\nnan,6,q\n", q)
	if want := []float64{.1, .4, .2, .2, .3, .4, .2, .6}; !near(rows.X, want, 1e-15) || rows.Missing != 3./8 {
		t.Errorf("rows %v, share %v", rows.X, rows.Missing)
	}
	q = overData("points", 10)
	q.Data.Missing, q.Data.File = "mean", testkit.WriteFile(t, "x.csv", "a,y\n1,p\n")
	checkError(t, readError(q), "problem.data.missing: mean does not apply to whole numbers; use drop")
	q = overData("halfspace", 0)
	q.Data.Missing, q.Data.File = "drop", testkit.WriteFile(t, "x.csv", "a,y\n1,\n,p\n")
	checkError(t, readError(q), "problem.data.missing: "+q.Data.File+": each row has a missing cell; leave out columns")
}

// A bias is a last coordinate that is the same in all rows, which stay in the unit ball.
func TestBias(t *testing.T) {
	const text = "a,b,y\n0,10,p\n5,20,q\n30,40,q\n"
	q := overData("halfspace", 0)
	q.Data.Bias, q.Data.Scale.Norm = true, 25
	if rows := openCSV(t, text, q); rows.Dim != 3 || !near(rows.X, scaled(1/1.4142135623730951,
		0, .4, 1, .2, .8, 1, .6, .8, 1), 1e-15) || rows.Pulled != 1 {
		t.Errorf("norm: rows %v, %d pulled", rows.X, rows.Pulled)
	}
	q.Data.Scale = schemas.Scale{Ranges: map[string][2]float64{"a": {0, 10}, "b": {0, 40}}}
	if rows := openCSV(t, text, q); rows.Dim != 3 || !near(rows.X, scaled(1/1.7320508075688772,
		-1, -.5, 1, 0, 0, 1, 1, 1, 1), 1e-15) || rows.Pulled != 1 {
		t.Errorf("ranges: rows %v, %d pulled", rows.X, rows.Pulled)
	}
	q = overData("points", 100)
	q.Data.Bias, q.Data.File = true, testkit.WriteFile(t, "x.csv", "a,y\n1,p\n")
	checkError(t, readError(q), "problem.data.bias: applies to halfspaces only; leave it out")
}

func scaled(by float64, x ...float64) []float64 {
	for i := range x {
		x[i] *= by
	}
	return x
}

func TestSuspiciousColumns(t *testing.T) {
	var b strings.Builder
	b.WriteString("id,a,b,c,d,y\n")
	for i := range 12 {
		a := 0.5 // coded as -999 once; b is 99 everywhere, and -999 lies among the values of c
		if i == 7 {
			a = -999
		}
		fmt.Fprintf(&b, "%d,%v,99,%d,%d,%c\n", 100+i, a, -1005+i*(1-2*(i%2)), i%10, "pq"[i%2])
	}
	text := strings.Replace(b.String(), "-1005", "-1500", 1)
	q := overData("halfspace", 0)
	q.Data.File = testkit.WriteFile(t, "data.csv", text)
	rows, err := read(q, q.Data.File)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		q.Data.File + `: column "id" counts the rows: its values are whole, ascending and all different. If it is an ` +
			`identifier, list the other columns in problem.data.features`,
		q.Data.File + `: column "a" is -999 in 1 row and otherwise from 0.5 to 0.5. If that stands for a missing value, ` +
			`empty these cells and set problem.data.missing`,
	}
	if !slices.Equal(rows.Report.Warnings, want) {
		t.Errorf("warnings\n%s", strings.Join(rows.Report.Warnings, "\n"))
	}
}

func TestManyCategories(t *testing.T) {
	var b strings.Builder
	b.WriteString("a,c,y\n")
	for i := range 150 {
		b.WriteString("1,n" + strings.Repeat("i", i) + "," + string("pq"[i%2]) + "\n")
	}
	q := overData("halfspace", 0)
	q.Data.Categorical = []string{"c"}
	q.Data.File = testkit.WriteFile(t, "data.csv", b.String())
	rows, err := read(q, q.Data.File)
	if err != nil {
		t.Fatal(err)
	}
	want := q.Data.File + `: column "c" has 150 values in 150 rows, and each becomes a coordinate; leave it out of ` +
		`problem.data.categorical if it names the rows`
	if !slices.Equal(rows.Report.Warnings, []string{want}) {
		t.Errorf("%q", rows.Report.Warnings)
	}
}
