package result

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/google/go-cmp/cmp"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/result/render"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/testkit"
)

// Errors name files that are not results of this version.
func TestReadWrongFiles(t *testing.T) {
	dir := testkit.MemoryDir(t)
	r := result(t, run(t, 1))
	if _, err := WriteResult(dir, r); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "table.parquet")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := os.ReadFile(filepath.Join(dir, "curve.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	// The footer holds the metadata as text, and a second time in the Arrow schema, which is not
	// read.
	version := []byte("shatter.result\x18\x01" + schemas.ResultVersion)
	other := bytes.Replace(good, version, []byte("shatter.result\x18\x019"), 1)
	unsure := bytes.Replace(good, []byte("shatter.confidence\x18\x040.95"), []byte("shatter.confidence\x18\x04none"), 1)
	stranger := bytes.ReplaceAll(good, []byte("shatter.result"), []byte("another.result"))
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"version", other, `it is of version "9" of its format, not "` + schemas.ResultVersion + `"`},
		{"confidence", unsure, `shatter.confidence, "none", are no confidence`},
		{"no result", stranger, "it is no result file of Shatter"},
		{"another file", curve, "it is not the file table of a result"},
		{"truncated", good[:len(good)/2], "read"},
		{"empty", nil, "read"},
		{"text", []byte("cell,task\n"), "read"},
	} {
		if err := os.WriteFile(path, c.file, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := sheet.ReadTable(dir, "table")
		var version *schemas.VersionError
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.As(err, &version) != (c.name == "version") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if err := os.WriteFile(path, noText(good), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := sheet.ReadTable(dir, "table")
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"table", "md", "tex"} {
		if got := renderedAs(t, s, format); !utf8.ValidString(got) || strings.Contains(got, "\x1b") {
			t.Errorf("%s: %q", format, got)
		}
	}
	if err := os.Remove(filepath.Join(dir, "fits.parquet")); err != nil {
		t.Fatal(err)
	}
	if _, err := sheet.ReadTable(dir, "fits"); !errors.Is(err, fs.ErrNotExist) ||
		strings.Count(err.Error(), "fits.parquet") != 1 {
		t.Error(err)
	}
}

// noText returns a result file in which the names of two columns are not valid UTF-8.
func noText(file []byte) []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(file, []byte("evaluation"), []byte("eval\xffat\x1bon")), []byte("value"),
		[]byte("va\xffue"))
}

// FuzzReadTable checks that arbitrary bytes yield a sheet or an error.
func FuzzReadTable(f *testing.F) {
	dir := testkit.MemoryDir(f)
	if _, err := WriteResult(dir, result(f, run(f, 1))); err != nil {
		f.Fatal(err)
	}
	for _, name := range []string{"table", "bounds"} {
		b, err := os.ReadFile(filepath.Join(dir, name+".parquet"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(noText(b))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		at := t.TempDir()
		for _, name := range []string{"table", "bounds"} {
			if err := os.WriteFile(filepath.Join(at, name+".parquet"), b, 0o644); err != nil {
				t.Fatal(err)
			}
			s, err := sheet.ReadTable(at, name)
			if err != nil {
				continue
			}
			for _, format := range render.Names() {
				var out bytes.Buffer
				if err := render.Render(s, &out, format); err != nil {
					t.Errorf("%s: %v", format, err)
				}
			}
		}
	})
}

// A sheet that is written as Arrow or Parquet reads back unchanged.
func TestTypedFormats(t *testing.T) {
	dir := testkit.MemoryDir(t)
	r := result(t, run(t, 1))
	if _, err := WriteResult(dir, r); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"table", "curve", "bounds", "timing"} {
		s, err := sheet.ReadTable(dir, name)
		if err != nil {
			t.Fatal(err)
		}
		var parquet, ipc bytes.Buffer
		if err := errors.Join(render.Render(s, &parquet, "parquet"), render.Render(s, &ipc, "arrow")); err != nil {
			t.Fatal(err)
		}
		file, err := os.ReadFile(filepath.Join(dir, name+".parquet"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(parquet.Bytes(), file) {
			t.Errorf("%s.parquet is written in other bytes than it was read", name)
		}
		read := readArrow(t, ipc.Bytes())
		if diff := cmp.Diff(contents(s), contents(read)); diff != "" {
			t.Error(diff)
		}
	}
}

// contents returns the data of a sheet.
func contents(s *sheet.Sheet) []any {
	return []any{s.Name, s.Confidence, s.Columns, slices.Collect(s.Rows())}
}

// readArrow reads an Arrow stream with the library's own reader.
func readArrow(t *testing.T, b []byte) *sheet.Sheet {
	t.Helper()
	r, err := ipc.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	of := r.Schema().Metadata()
	value := func(key string) string {
		v, _ := of.GetValue(key)
		return v
	}
	if value(sheet.VersionKey) != schemas.ResultVersion || !r.Next() {
		t.Fatalf("metadata %v, %v", of, r.Err())
	}
	rec := r.Record()
	rows := make([][]any, rec.NumRows())
	for i := range rows {
		rows[i] = sheet.RowOf(rec, i)
	}
	s := sheet.Of(value(sheet.FileKey), sheet.ColumnsOf(r.Schema()), rows...)
	if text := value(sheet.ConfidenceKey); text != "" {
		if s.Confidence, err = strconv.ParseFloat(text, 64); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func renderedAs(t *testing.T, s *sheet.Sheet, format string) string {
	t.Helper()
	var b bytes.Buffer
	if err := render.Render(s, &b, format); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
