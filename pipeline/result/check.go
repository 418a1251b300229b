package result

import (
	"bytes"
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

// A FileCheck compares a file of a result with the recomputed file.
type FileCheck struct {
	Name       string
	Difference string // first difference; "": none
}

// CheckResult writes the files of the result into a temporary folder and compares them byte for
// byte with those in the folder dir, which it does not change. digest is the digest of the
// recomputed files, as defined by [WriteResult]. If a file has another version, the error is a
// [*schemas.VersionError].
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

// CheckVersions returns a [*schemas.VersionError] if the folder of a result has a Parquet file of
// another version. It ignores missing and damaged files.
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

// compareFiles describes the first difference between a file and the recomputed file; "": none.
func compareFiles(path, recomputed string) (difference string, err error) {
	was, _, err := disk.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "it is missing", nil
	} else if err != nil {
		return "", err
	}
	defer was.Close()
	is, _, err := disk.Open(recomputed)
	if err != nil {
		return "", err
	}
	defer is.Close()
	line, at, err := firstByte(was, is)
	if at < 0 || err != nil {
		return "", err
	}
	where := fmt.Sprintf("line %d", line)
	if filepath.Ext(path) == ".parquet" {
		where = firstRow(path, recomputed)
	}
	return fmt.Sprintf("%s (byte %d)", where, at), nil
}

// firstByte returns the line and the offset of the first byte that differs; offset -1: none
// differs.
func firstByte(was, is io.Reader) (line int, at int64, err error) {
	a, b := make([]byte, 1<<16), make([]byte, 1<<16)
	for line = 1; ; {
		n, errA := io.ReadFull(was, a)
		m, errB := io.ReadFull(is, b)
		for _, err := range []error{errA, errB} {
			if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				return 0, 0, err
			}
		}
		for i := range max(n, m) {
			if i >= n || i >= m || a[i] != b[i] {
				return line + bytes.Count(a[:min(i, n)], []byte("\n")), at + int64(i), nil
			}
		}
		if n < len(a) {
			return 0, -1, nil
		}
		line, at = line+bytes.Count(a, []byte("\n")), at+int64(n)
	}
}

// firstRow describes the first row in which two Parquet files differ.
func firstRow(path, recomputed string) string {
	nextWas, stop := iter.Pull2(parquetRows(path))
	defer stop()
	nextIs, stop := iter.Pull2(parquetRows(recomputed))
	defer stop()
	var names []string
	for row := 0; ; row++ {
		x, err, more := nextWas()
		y, failed, want := nextIs()
		switch {
		case err != nil:
			return fmt.Sprintf("it cannot be read: %v", err)
		case failed != nil:
			return fmt.Sprintf("the recomputed file cannot be read: %v", failed)
		case !more && !want:
			return "the same values in other bytes"
		case !more:
			return fmt.Sprintf("it ends before row %d", row)
		case !want:
			return fmt.Sprintf("row %d is too many", row)
		case row == 0 && !slices.Equal(x, y):
			return fmt.Sprintf("its columns are %.200q, recomputed %.200q", x, y)
		case row == 0:
			names = y
		}
		for i := range y {
			if x[i] != y[i] {
				return fmt.Sprintf("row %d, column %q: %.200s, recomputed %.200s%s", row, names[i], x[i], y[i],
					rowKey(names, y))
			}
		}
	}
}

// rowKey identifies a row by its cell, sample size and repetition, if the table has these columns.
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

// parquetRows returns the column names and then the rows of a file.
func parquetRows(path string) iter.Seq2[[]string, error] {
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
