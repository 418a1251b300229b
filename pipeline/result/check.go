package result

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
)

// FileCheck compares a file of a result with the recomputed one.
type FileCheck struct {
	Name       string
	Difference string // first difference; empty: none
}

// CheckResult writes the files of the result into a temporary folder and compares them byte for byte with
// those in the folder dir, where it changes nothing. digest is that of the recomputed files, as WriteResult
// returns it. If a file is of another version, the error is a schemas.VersionError.
func CheckResult(dir string, r Result) (checks []FileCheck, digest string, err error) {
	if err := CheckVersions(dir); err != nil {
		return nil, "", err
	}
	temp, err := os.MkdirTemp("", "shatter-verify")
	if err != nil {
		return nil, "", fmt.Errorf("check result: %w", err)
	}
	defer os.RemoveAll(temp)
	if digest, err = WriteResult(temp, r); err != nil {
		return nil, "", fmt.Errorf("check result: %w", err)
	}
	for _, f := range layout {
		if f.aside {
			continue
		}
		difference, err := compareFiles(filepath.Join(dir, f.name), filepath.Join(temp, f.name))
		if err != nil {
			return nil, "", fmt.Errorf("check result: %w", err)
		}
		checks = append(checks, FileCheck{f.name, difference})
	}
	return checks, digest, nil
}

// CheckVersions returns a schemas.VersionError if the folder of a result has a Parquet file of
// another version. It ignores files that are missing or damaged.
func CheckVersions(dir string) error {
	paths, err := disk.Glob(dir, "*.parquet")
	if err != nil {
		return err
	}
	for _, path := range paths {
		var version *schemas.VersionError
		if f, err := sheet.OpenParquet(path); err == nil {
			f.Close()
		} else if errors.As(err, &version) {
			return &schemas.VersionError{What: fmt.Sprintf("%q", path), Found: version.Found, Want: version.Want}
		}
	}
	return nil
}

// compareFiles describes the first difference between a file and the recomputed one; empty: none.
func compareFiles(path, recomputed string) (difference string, err error) {
	was, _, err := disk.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "it is missing", nil
	} else if err != nil {
		return "", err
	}
	defer was.Close()
	is, size, err := disk.Open(recomputed)
	if err != nil {
		return "", err
	}
	defer is.Close()
	at, err := firstByte(was, is)
	if at < 0 || err != nil {
		return "", err
	}
	rows := textRows
	if filepath.Ext(path) == ".parquet" {
		rows = parquetRows
	}
	const more = 1 << 10 // of the file, which may have any size, this many bytes more than recomputed are read
	where, err := firstRow(rows(path, size+more), rows(recomputed, size))
	if err != nil {
		where = err.Error()
	}
	return fmt.Sprintf("%s (byte %d)", cmp.Or(where, "the same values in other bytes"), at), nil
}

// firstByte returns the offset of the first byte that differs, or -1.
func firstByte(was, is io.Reader) (at int64, err error) {
	a, b := make([]byte, 1<<16), make([]byte, 1<<16)
	for {
		n, errA := io.ReadFull(was, a)
		m, errB := io.ReadFull(is, b)
		for _, err := range []error{errA, errB} {
			if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				return 0, err
			}
		}
		for i := range max(n, m) {
			if i >= n || i >= m || a[i] != b[i] {
				return at + int64(i), nil
			}
		}
		if n < len(a) {
			return -1, nil
		}
		at += int64(n)
	}
}

// firstRow describes the first row that differs between two tables, whose first rows are their headers.
func firstRow(was, is iter.Seq2[[]string, error]) (string, error) {
	nextWas, stop := iter.Pull2(was)
	defer stop()
	nextIs, stop := iter.Pull2(is)
	defer stop()
	var header []string
	for row := 0; ; row++ {
		x, errX, more := nextWas()
		y, errY, want := nextIs()
		switch {
		case errX != nil:
			return "", fmt.Errorf("it cannot be read: %w", errX)
		case errY != nil:
			return "", errY
		case !more && !want:
			return "", nil
		case !more:
			return fmt.Sprintf("it ends before row %d", row), nil
		case !want:
			return fmt.Sprintf("row %d is too many", row), nil
		case row == 0 && !slices.Equal(x, y):
			return fmt.Sprintf("its columns are %.200q, recomputed %.200q", x, y), nil
		case len(x) != len(y):
			return fmt.Sprintf("row %d has %d columns, recomputed %d", row, len(x), len(y)), nil
		case row == 0:
			header = y
		}
		for i := range y {
			if x[i] != y[i] {
				return fmt.Sprintf("row %d, column %q: %.200s, recomputed %.200s%s", row, header[i], x[i], y[i],
					rowKey(header, y)), nil
			}
		}
	}
}

// rowKey names a row by its cell, sample size and repetition, if the table has these.
func rowKey(header, row []string) string {
	var parts []string
	for i, name := range header {
		if slices.Contains([]string{"cell", "n", "rounds", "repetition"}, name) {
			parts = append(parts, name+" "+strings.Trim(row[i], `"`))
		}
	}
	if parts == nil {
		return ""
	}
	return " [" + strings.Join(parts, ", ") + "]"
}

// parquetRows reads the names of the columns and the rows of a file. It ignores the limit.
func parquetRows(path string, _ int64) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		errStop := errors.New("stop")
		read := func() (err error) {
			defer sheet.RecoverDamage(&err)
			r, err := sheet.OpenParquet(path)
			if err != nil {
				return err
			}
			defer r.Close()
			var columns []int
			for i := range r.ColumnNames() {
				columns = append(columns, i)
			}
			if !yield(r.ColumnNames(), nil) {
				return errStop
			}
			return r.Batches(columns, func(batch []arrow.Array) error {
				for row := range batch[0].Len() {
					texts := make([]string, len(batch))
					for i, values := range batch {
						switch v := sheet.ValueAt(values, row).(type) {
						case nil:
							texts[i] = "nothing"
						case string:
							texts[i] = fmt.Sprintf("%q", v)
						default:
							texts[i] = sheet.Text(v)
						}
					}
					if !yield(texts, nil) {
						return errStop
					}
				}
				return nil
			})
		}
		if err := read(); err != nil && !errors.Is(err, errStop) {
			yield(nil, err)
		}
	}
}

// textRows reads the header and the rows of a CSV file, or any other text as a table with the column "line".
func textRows(path string, limit int64) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		if filepath.Ext(path) != ".csv" {
			text, err := io.ReadAll(io.LimitReader(f, limit))
			if !yield([]string{"line"}, err) || err != nil {
				return
			}
			for line := range strings.Lines(string(text)) {
				if !yield([]string{fmt.Sprintf("%q", line)}, nil) {
					return
				}
			}
			return
		}
		r := csv.NewReader(io.LimitReader(f, limit))
		r.FieldsPerRecord = -1
		for {
			row, err := r.Read()
			if errors.Is(err, io.EOF) || !yield(row, err) || err != nil {
				return
			}
		}
	}
}
