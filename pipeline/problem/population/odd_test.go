package population

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/compress"

	"github.com/shatterlab/shatter/pipeline/concept"
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

// An oddFile is a file as another program may write it, or as it may arrive.
type oddFile struct {
	name, text string
	options    string // keys of problem.data, as JSON
	says       string // the warning, or the refusal without "problem.data."; FILE stands for the path
	remedy     string // keys of problem.data that make a refused file readable; follow: as the refusal says
}

// follow is the remedy of a refusal that states a key of problem.data, or a command.
const follow = "follow"

// no is the remedy of a refusal that no key of problem.data lifts.
const no = "no"

const plainCSV = "a,b,y\n0.5,1,p\n-.25,0,q\n0,1,p\n0.75,0,q\n"

// edit returns plainCSV with texts replaced.
func edit(replacements ...string) string {
	return strings.NewReplacer(replacements...).Replace(plainCSV)
}

// withColumn returns plainCSV with one more column in front.
func withColumn(cells ...string) string {
	lines := strings.SplitAfter(plainCSV, "\n")
	for i, cell := range cells {
		lines[i] = cell + "," + lines[i]
	}
	return strings.Join(lines, "")
}

// The table of plainCSV is read from all of these files, as they are or once the remedy is
// followed. Files without a remedy are refused with an explanation.
func TestOddFiles(t *testing.T) {
	for _, files := range [][]oddFile{oddText(t), oddNumbers(), oddLibsvm(t), oddArrow(t), oddFormats()} {
		for _, f := range files {
			t.Run(f.name, func(t *testing.T) { f.check(t) })
		}
	}
}

func (f oddFile) check(t *testing.T) {
	path := testkit.WriteFile(t, f.name, f.text)
	d := overData("halfspace", 0).Data
	d.File, d.Scale.Norm = path, 2
	set := func(options string) {
		if options != "" {
			if err := json.Unmarshal([]byte(options), d); err != nil {
				t.Fatal(err)
			}
		}
	}
	set(f.options)
	options := *d
	rows, err := Read(d, concept.Spec{Name: "halfspace"})
	says := strings.ReplaceAll(f.says, "FILE", path)
	if f.remedy == "" && err == nil {
		got := strings.Join(rows.Report.Warnings, "\n")
		if !strings.Contains(got, says) || (got == "") != (says == "") {
			t.Errorf("warnings %q, want %q", got, says)
		}
	} else {
		checkError(t, err, "problem.data"+says)
	}
	if err != nil {
		*d = options
		switch f.remedy {
		case "", no:
			return
		case follow:
			f.follow(t, d, err.Error())
		default:
			set(f.remedy)
		}
		if rows, err = Read(d, concept.Spec{Name: "halfspace"}); err != nil {
			t.Fatalf("after the remedy: %v", err)
		}
	}
	if x := []float64{0.25, 0.5, -0.125, 0, 0, 0.5, 0.375, 0}; !slices.Equal(rows.X, x) ||
		!slices.Equal(rows.Y, []float64{1, -1, 1, -1}) {
		t.Errorf("rows %v, labels %v", rows.X, rows.Y)
	}
}

var (
	remedyKey     = regexp.MustCompile(`problem\.data\.(\w+): ("[^"]*"|\w+)`)
	remedyCommand = regexp.MustCompile(`: ([^:]*\S+ > (\S+))$`)
)

// follow sets the keys of problem.data that a refusal states, and runs its command.
func (oddFile) follow(t *testing.T, d *schemas.Data, refusal string) {
	keys := remedyKey.FindAllStringSubmatch(refusal, -1)
	for _, key := range keys {
		value := key[2]
		if value[0] != '"' {
			value = strconv.Quote(value)
		}
		if err := json.Unmarshal([]byte(`{"`+key[1]+`":`+value+`}`), d); err != nil {
			t.Fatal(err)
		}
	}
	if command := remedyCommand.FindStringSubmatch(refusal); command != nil {
		c := exec.Command("sh", "-c", command[1])
		c.Dir = t.TempDir()
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", command[1], err, out)
		}
		d.File = filepath.Join(c.Dir, command[2])
	} else if keys == nil {
		t.Fatalf("no remedy in %q", refusal)
	}
}

// Text files with other delimiters, quotes, line ends, headers, footers and encodings.
func oddText(t *testing.T) []oddFile {
	flip := func(s string, at int) string { b := []byte(s); b[len(b)+at] ^= 1; return string(b) }
	tabs := edit(",", "\t")
	const semicolons = `{"delimiter":";"}`
	return []oddFile{
		{"plain.csv", plainCSV, "", "", ""},
		{"quoted.csv", edit("a,b,y", `"a","b","y"`, "0.5,1,p", `"0.5","1","p"`), "", "", ""},
		{"spaces.csv", edit(",", " , ", "p", "p \u00a0"), "", "", ""},
		{"bom.csv", "\uFEFF" + edit("a,b", `"a","b"`), "", "", ""},
		{"crlf.csv", edit("\n", "\r\n"), "", "", ""},
		{"blank lines.csv", "\n" + edit("\n", "\n\n"), "", "", ""},
		{"no last line end.csv", strings.TrimSuffix(plainCSV, "\n"), "", "", ""},
		{"classic mac.csv", edit("\n", "\r"), "",
			`.file: FILE: its lines end with CR alone; convert it: tr '\r' '\n' <`, follow},
		{"tabs.tsv", tabs, "", "", ""},
		{"tabs.csv", tabs, "",
			`.label: FILE has no column "y"; its columns are "a\tb\ty"; set ` +
				`problem.data.delimiter: "\t"`, follow},
		{"bars.csv", edit(",", "|"), "",
			`.label: FILE has no column "y"; its columns are "a|b|y"; set `, follow},
		{"aligned.csv", edit(",", "   "), "",
			`.label: FILE has no column "y"; its columns are "a   b   y"; set `, follow},
		{"hive.csv", edit(",", "\x01"), `{"delimiter":"\u0001"}`, "", ""},
		{"movielens.csv", edit(",", "::"), `{"delimiter":"::"}`,
			`.delimiter: "::" cannot separate cells; use one`, no},
		{"semicolons.csv", edit(",", ";"), "",
			`.label: FILE has no column "y"; its columns are "a;b;y"; set `, follow},
		{"german.csv", edit(",", ";", ".", ","), `{"delimiter":";","decimal":","}`, "", ""},
		{"german, unstated.csv", edit(",", ";", ".", ",", "0,1", "0,0;1"), "",
			`.label: FILE has no column "y"; its columns are "a;b;y"; set ` +
				`problem.data.delimiter: ";" and problem.data.decimal: ","`, follow},
		{"german, decimal unstated.csv", edit(",", ";", ".", ","),
			`{"delimiter":";","features":["a","b"]}`,
			`.file: FILE: row 2, column "a" (and 2 cells below it): "0,5" is not a number; for decimal commas set ` +
				`problem.data.decimal: ","`, follow},
		{"excel's sep.csv", "sep=;\n" + edit(",", ";"), semicolons,
			`.label: FILE has no column "y"; its columns are "sep=", ""; the first line is for ` +
				`Excel alone; remove it: tail -n +2 `, follow},
		{"comment.csv", "# made by hand\n" + plainCSV, "",
			`.label: FILE has no column "y"; its columns are "# made by hand"; the first line ` +
				`looks like a comment; remove such lines: grep -v '^#' FILE > rows.csv`, follow},
		{"title.csv", "Report of May,,\n" + plainCSV, "",
			`.label: FILE has no column "y"; its columns are "Report of May", "", ""; if a later ` +
				`line names the columns, remove the lines above it: tail -n +2 FILE > rows.csv`, follow},
		{"no header.csv", strings.TrimPrefix(plainCSV, "a,b,y\n"), "",
			`.label: FILE has no column "y"; its columns are "0.5", "1", "p"; the first line has ` +
				`to name the columns, and seems to hold values`, no},
		{"pandas' index.csv", withColumn("", "0", "1", "2", "3"), "",
			`.features: FILE: column 1 has no name; name it, or list the columns to use in ` +
				`problem.data.features`, `{"features":["a","b"]}`},
		{"r's row names.csv", withColumn(`""`, `"1"`, `"2"`, `"3"`, `"4"`),
			`{"features":["a","b"]}`,
			"", ""},
		{"r's table.csv", strings.ReplaceAll(withColumn("", "1", "2", "3", "4")[1:], ",", " "),
			`{"delimiter":" "}`,
			`.file: FILE: row 2 has 4 cells, the header line has 3; name each column`, no},
		{"same name.csv", edit("a,b", "a,a"), "",
			`.file: FILE: columns 1 and 2 are both named "a"; the first line has to `, no},
		{"same name, unused.csv", withColumn("u,u", "1,1", "2,2", "3,3", "4,4"), "",
			`.file: FILE: columns 1 and 2 are both `, no},
		{"trailing delimiter.csv", edit("\n", ",\n"), "", "", ""},
		{"trailing delimiter, rows only.csv", edit("p\n", "p,\n", "q\n", "q,\n"), "",
			`.file: FILE: row 2 has 4 cells, the header line has 3; name each column`, no},
		{"total.csv", plainCSV + "Total,2,\n", "",
			`.file: FILE: row 6, column "y": the cell is missing; drop the row, fill`, no},
		{"empty footer.csv", plainCSV + ",,\n,,\n", "",
			`.file: FILE: row 6, column "a" (and 1 cell below it): the cell is missing; drop the row`, follow},
		{"source.csv", plainCSV + "Source: census\n", "",
			`.file: FILE: row 6 has 1 cell, the header line has 3`, no},
		{"line breaks in cells.csv", withColumn("note", "\"one\ntwo\"", `"a ""b"", c"`, "", ""), "",
			"1 column left out: \"note\" " + `(row 2 holds "one\ntwo")`, ""},
		{"open quote.csv", edit("0,1,p", `0,1,"p`), "",
			`.file: FILE: row 4: extraneous or missing " in quoted-field; write`, no},
		{"inch.csv", edit("0,1,p", `0,1,3"`), "",
			`.file: FILE: row 4: bare " in non-quoted-field; write a cell with quotes as`, no},
		{"single quotes.csv", edit("p", "'p'", "q", "'q'"), "",
			`.positive: "p" never occurs in column "y", whose values are "'p'", "'q'"; choose ` +
				`one of these`, `{"positive":"'p'"}`},
		{"gzip.csv.gz", gzipped(t, plainCSV), "", "", ""},
		{"unnamed gzip.csv", gzipped(t, plainCSV), "", "", ""},
		{"joined.csv.gz", gzipped(t, plainCSV[:20]) + gzipped(t, plainCSV[20:]), "", "", ""},
		{"cut.csv.gz", gzipped(t, plainCSV)[:30], "",
			`.file: FILE is damaged, or not a file of the format csv: gzip: `, no},
		{"checksum.csv.gz", flip(gzipped(t, plainCSV), -6), "",
			`.file: FILE is damaged, or not a file of the format csv: gzip: `, no},
		{"empty.csv.gz", gzipped(t, ""), "", `.file: FILE has no header line`, no},
		{"gzip header.csv.gz", gzipped(t, plainCSV)[:5], "",
			`.file: FILE is damaged, or not a file of the format csv: gzip: `, no},
		{"utf-16.csv", utf16LE(plainCSV), "", `.file: FILE is UTF-16; convert it: iconv`, follow},
		{"utf-16, unmarked.csv", utf16LE(plainCSV)[2:], "",
			`.file: FILE is UTF-16; convert it: iconv -f UTF-16LE`, follow},
		{"latin1.csv", withColumn("gr\xF6\xDFe", "", "", "", ""), "",
			`.file: FILE: row 1: "gr\xf6\xdfe" is not UTF-8; convert it: iconv -f LATIN1 -t ` +
				`UTF-8 FILE > utf8.csv`, follow},
		{"latin1, label.csv", edit("q", "\xE4"), "",
			`.file: FILE: row 3, column "y" (and 1 cell below it): "\xe4" is not UTF-8; convert it`, follow},
	}
}

// Texts that stand for numbers, for missing ones, or for something else.
func oddNumbers() []oddFile {
	const more = ". To choose columns, list them in problem.data.features (numbers) or problem.data.categorical (text)"
	left := func(name, because string) string { return `1 column left out: "` + name + `" (` + because + ")" + more }
	var missing []string
	words := `NA N/A #N/A <NA> NaN -nan null None ? - . \N missing #DIV/0! #VALUE! 1.#IND (null)`
	for _, word := range append(strings.Fields(words), "") {
		missing = append(missing, word+",1,p\n")
	}
	return []oddFile{
		{"spellings.csv", edit("0.5", "5E-1", "1", "+1.", "-.25", "-00.250", "0,", "-0,", "0.75", "7.5e-01"),
			"",
			"", ""},
		{"python's booleans.csv", edit("1", "True", ",0", ",False"), "", "", ""},
		{"r's booleans.csv", edit("1", "TRUE", ",0", ",FALSE"), "", "", ""},
		{"missing, first row.csv", edit("0.5", "#N/A,0,p\n0.5"), "",
			`.file: FILE: row 2, column "a": the cell is missing (#N/A); drop the row, fill the ` +
				`cell, or set problem.data.missing: drop or mean`, follow},
		{"missing.csv", plainCSV + strings.Join(missing, ""), `{"missing":"drop"}`, "", ""},
		{"missing label.csv", plainCSV + "1,1,NA\n", "",
			`.file: FILE: row 6, column "y": "NA" is a third label, after "p"`, no},
		{"all missing.csv", withColumn("c", "", "NA", "", "-"), "",
			left("c", "all of its cells are missing"), ""},
		{"infinite.csv", edit("0.75", "1e999"), "",
			`.file: FILE: row 5, column "a": +Inf is not a finite number; drop`, no},
		{"thousands.csv", withColumn("c", "17", `"323,800"`, "1", "2"), "",
			left("c", `row 3 holds "323,800"; write numbers without commas between thousands`), ""},
		{"thousands, german.csv", edit("0.75", "1.234,5", ",", ";", ".", ","),
			`{"delimiter":";","decimal":",","features":["a"]}`,
			`.file: FILE: row 5, column "a": "1.234,5" is not a number; write numbers`, no},
		{"thousands, swiss.csv", withColumn("c", "1", "323'800", "1", "2"), "",
			left("c", `row 3 holds "323'800"; write numbers without signs and separators`), ""},
		{"thousands, french.csv", withColumn("c", "1", "323\u202F800", "1", "2"), "",
			left("c", `row 3 holds "323\u202f800"; write numbers without signs and separators`), ""},
		{"percent.csv", withColumn("c", "1%", "2%", "3%", "4 %"), "",
			left("c", `row 2 holds "1%"; write numbers without signs and separators`), ""},
		{"currency.csv", withColumn("c", "$0.31", "$1", "$2", "$3"), "",
			left("c", `row 2 holds "$0.31"; write numbers without signs and separators`), ""},
		{"accounting.csv", withColumn("c", "1", "(2.50)", "1", "2"), "",
			left("c", `row 3 holds "(2.50)"; write numbers without signs and separators`), ""},
		{"typographic minus.csv", withColumn("c", "1", "\u22122.50", "1", "2"), "",
			left("c", "row 3 holds \"\u22122.50\"; write numbers "+"without signs and separators"), ""},
		{"named.csv", edit("0,1,p", "0,$1,p"), `{"features":["a","b"]}`,
			`.file: FILE: row 4, column "b": "$1" is not a number; write numbers without signs ` +
				`and separators`, no},
		{"dates.csv", withColumn("when", "2020-01-02", "2020-01-03", "", ""), "",
			left("when", `row 2 holds "2020-01-02", a date; write dates as numbers`), ""},
		{"times.csv", withColumn("when", "12:30", "1:05", "", ""), "",
			left("when", `row 2 holds "12:30", a time; write times as numbers`), ""},
		{"mixed.csv", withColumn("c", "1", "2", "x", "4"), "", left("c", `row 4 holds "x"`), ""},
		{"mixed, named.csv", withColumn("c", "1", "2", "x", "4"), `{"features":["c"]}`,
			`.file: FILE: row 4, column "c": "x" is not a number; correct it, drop the row, or ` +
				`name the column in problem.data.categorical`, no},
		{"large integers.csv", edit("p", "9007199254740993", "q", "9007199254740992"),
			`{"positive":"9007199254740993"}`,
			"", ""},
		{"labels as decimals.csv", edit("p", "1.0", "q", "0.0"), `{"positive":"1"}`,
			`.positive: "1" never occurs in column "y", whose values are "1.0", "0.0"; choose ` +
				`one of these`, `{"positive":"1.0"}`},
		{"other case.csv", edit("p", "P"), "",
			`.positive: "p" never occurs in column "y", whose values are "P", "q"; choose`, `{"positive":"P"}`},
		{"other name.csv", edit("y", "Y"), "",
			`.label: FILE has no column "y", did you mean "Y"?`, `{"label":"Y"}`},
		{"one class.csv", edit("q", "p"), "",
			`.label: FILE: all rows of column "y" are "p"; labels must have two values`, no},
		{"three classes.csv", plainCSV + "1,1,r\n", "",
			`.file: FILE: row 6, column "y": "r" is a third label, after "p" and "q"; labels ` +
				`must have two values`, no},
		{"no numbers.csv", edit("0", "u", "1", "v", ".75", "w"), "",
			`.features: FILE: no column is numeric: "a" (row 2 holds`, no},
	}
}

func oddLibsvm(t *testing.T) []oddFile {
	const one = `{"label":"label","positive":"1"}`
	return []oddFile{
		{"sparse.libsvm", "# x\n+1 1:0.5 2:1\n-1 1:-.25 # y\n\n1 2:1\n-1 1:.75\n",
			`{"label":"label","positive":"+1"}`,
			"", ""},
		{"sparse.svmlight.gz", gzipped(t, "1 0:0.5 1:1\n0 0:-.25\n1 1:1\n0 0:.75"), one, "", ""},
		{"text.libsvm", "abc\n", one,
			`.file: FILE holds no COLUMN:VALUE; is it a LIBSVM file?`, no},
		{"dense.libsvm", "1 0.5 0.25\n", one,
			`.file: FILE: row 1: "0.5" is not COLUMN:VALUE with a column from 0 to 1048576`, no},
		{"ranking.libsvm", "1 qid:3 1:0.5\n", one,
			`.file: FILE: row 1: "qid:3" is not COLUMN:VALUE with a column`, no},
		{"order.libsvm", "1 2:1 1:1\n", one,
			`.file: FILE: row 1: column 1 comes after column 2; is it a LIBSVM file?`, no},
		{"label.libsvm", "1 1:0.5 2:1\n0 1:-.25\n1 2:1\n0 1:.75\n", `{"positive":"1"}`,
			`.label: FILE has no column "y"; its columns are "label", "1", "2"`, `{"label":"label"}`},
	}
}

// Arrow and Parquet files with columns of many types, whole and damaged.
func oddArrow(t *testing.T) (out []oddFile) {
	primitive, binary := arrow.PrimitiveTypes, arrow.BinaryTypes
	dictionary := func(index, value arrow.DataType) arrow.DataType {
		return &arrow.DictionaryType{IndexType: index, ValueType: value}
	}
	columns := func(a, b, y arrow.DataType) []typed {
		ones := []any{"1", "0", "1", "0"}
		if b.ID() == arrow.BOOL {
			ones = []any{"true", "false", "true", "false"}
		}
		return []typed{{"a", a, []any{"0.5", "-0.25", "0", "0.75"}}, {"b", b, ones}, {"y", y, []any{"p", "q", "p", "q"}}}
	}
	kinds := []struct {
		name    string
		a, b, y arrow.DataType
	}{
		{"decimals", &arrow.Decimal128Type{Precision: 10, Scale: 4}, &arrow.Decimal256Type{Precision: 40, Scale: 2},
			binary.String},
		{"booleans", primitive.Float64, arrow.FixedWidthTypes.Boolean, binary.String},
		{"dictionaries", primitive.Float64, primitive.Int64, dictionary(primitive.Uint32, binary.String)},
		{"float16", arrow.FixedWidthTypes.Float16, primitive.Float32, binary.LargeString},
		{"views", primitive.Float64, dictionary(primitive.Int8, primitive.Int64), binary.StringView}, // Arrow only
	}
	for _, b := range []arrow.DataType{primitive.Int8, primitive.Int16, primitive.Int32, primitive.Uint8,
		primitive.Uint16, primitive.Uint32, primitive.Uint64} {
		kinds = append(kinds, kinds[0])
		c := &kinds[len(kinds)-1]
		c.name, c.a, c.b = b.String(), primitive.Float64, b
	}
	for _, c := range kinds {
		table := columns(c.a, c.b, c.y)
		out = append(out, oddFile{c.name + ".arrow", string(arrowFile(t, table, []int{1, 0, 3})), "", "", ""})
		if c.name != "views" {
			out = append(out, oddFile{c.name + ".parquet", string(parquetFile(t, table, 2)), "", "", ""})
		}
	}
	simple := columns(primitive.Float64, primitive.Int32, binary.String)
	whole, stream := string(arrowFile(t, simple, []int{4})), arrowStream(t, simple)
	pack := func(options ...parquet.WriterProperty) string { return string(parquetFile(t, simple, 4, options...)) }
	for name, codec := range map[string]compress.Compression{
		"snappy": compress.Codecs.Snappy, "gzip": compress.Codecs.Gzip, "brotli": compress.Codecs.Brotli,
		"zstd": compress.Codecs.Zstd,
	} {
		out = append(out, oddFile{name + ".parquet", pack(parquet.WithCompression(codec)), "", "", ""})
	}
	delta := pack(parquet.WithDictionaryDefault(false), parquet.WithDataPageVersion(parquet.DataPageV2),
		parquet.WithEncodingFor("b", parquet.Encodings.DeltaBinaryPacked),
		parquet.WithEncodingFor("y", parquet.Encodings.DeltaByteArray))
	nulls := columns(primitive.Float64, primitive.Int32, binary.String)
	for i, v := range []any{nil, "1", "p"} {
		nulls[i].values = append(nulls[i].values, v)
	}
	words, truths := columns(primitive.Float64, binary.String, binary.String), slices.Clone(simple)
	truths[2] = typed{"y", arrow.FixedWidthTypes.Boolean, []any{"true", "false", "true", "false"}}
	const notArrow, notParquet = `.file: FILE is damaged, or not a file of the format arrow: `,
		`.file: FILE is damaged, or not a file of the format parquet: `
	return append(out, []oddFile{
		{"lz4.feather", string(arrowFile(t, simple, []int{4}, ipc.WithLZ4())), "", "", ""},
		{"delta.parquet", delta, "", "", ""},
		{"stream.arrow", stream, "", "", ""},
		{"boolean label.parquet", string(parquetFile(t, truths, 4)), `{"positive":"true"}`, "", ""},
		{"nulls.parquet", string(parquetFile(t, nulls, 2)), "",
			`.file: FILE: row 5, column "a": the cell is missing; drop the row, fill the cell, ` +
				`or set problem.data.missing: drop or mean`, follow},
		{"numbers as text.parquet", string(parquetFile(t, words, 4)), `{"features":["a","b"]}`,
			"", ""},
		{"no rows.arrow", string(arrowFile(t, simple, nil)), "", `.file: FILE has no rows`, no},
		{"cut.arrow", whole[:200], "", notArrow + `it does not end with ARROW1`, no},
		{"cut stream.arrow", stream[:300], "", notArrow, no},
		{"forged stream.arrow", stream[:4] + "\xFF\xFF\xFF\x7F" + stream[8:], "",
			notArrow + `a message is larger than`, no},
		{"text.arrow", plainCSV, "", notArrow + `it does not begin with ARROW1`, no},
		{"cut.parquet", pack()[:200], "", notParquet, no},
		{"text.parquet", plainCSV, "", notParquet, no},
		{"parquet.csv", pack(), "",
			`.file: FILE is Parquet, not text; rename it to end in .parquet`, no},
		{"arrow.csv", whole, "", `.file: FILE is Arrow, not text; rename it to end in .arrow`, no},
		{"old.feather", "FEA1....FEA1", "",
			`.file: FILE is not supported: it is Feather version 1; write`, no},
		{"options.parquet", pack(), `{"delimiter":";"}`,
			`: delimiter and decimal apply to CSV files; leave them out`, `{"delimiter":""}`},
	}...)
}

// Files of formats that are not read.
func oddFormats() []oddFile {
	return []oddFile{
		{"empty.csv", "", "", `.file: FILE is empty`, no},
		{"blank.csv", "\n\n", "", `.file: FILE has no header line`, no},
		{"header alone.csv", "a,b,y\n", "", `.file: FILE has no rows`, no},
		{"weka.arff", "% a comment\n@RELATION r\n@ATTRIBUTE a NUMERIC\n@attribute b {0,1}\n@attribute y {p,q}\n\n" +
			"@DATA\n% more\n" +
			strings.TrimPrefix(plainCSV, "a,b,y\n"),
			"",
			`.file: FILE: .arff files are not read; convert it: (grep -i`, follow},
		{"x.jsonl", "{}", "",
			`.file: FILE: .jsonl files are not read; convert it, for example with DuckDB 1.5 ` +
				`(2026): COPY (FROM read_json('FILE')) TO 'data.parquet'`, no},
		{"x.parquet.gz", "x", "",
			`.file: FILE: .gz files are not read; unpack it; only text may be compressed, by gzip`, no},
		{"x.xlsx", "PK\x03\x04", "",
			`.file: FILE: .xlsx files are not read; save the sheet as CSV`, no},
		{"excel.csv", "PK\x03\x04", "",
			`.file: FILE is a zip file or a spreadsheet; unzip it, or save the sheet as CSV`, no},
		{"web page.csv", "<!DOCTYPE html>\n<html>\n", "",
			`.label: FILE has no column "y"; its columns are "<!DOCTYPE html>"`, no},
		{"x.orc", "ORC", "",
			`.file: FILE: unknown extension ".orc"; use .csv, .parquet, .arrow or .libsvm`, no},
		{"plain.txt", plainCSV, "", `.file: FILE: .txt files are not read; `, `{"format":"csv"}`},
		{"plain.csv", plainCSV, `{"decimal":":"}`,
			`.decimal: ":" is no decimal sign; use "." or ","`, `{"decimal":"."}`},
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
			if !strings.Contains(err.Error(), path+`: row 4, column "c": the cell is missing`) { // in each column
				t.Error(err)
			}
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
