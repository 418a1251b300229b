package result

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

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
		difference, err := compareFiles(f.name, dir, temp)
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
		if version, ok := errors.AsType[*schemas.VersionError](sheet.CheckFile(path)); ok {
			return &schemas.VersionError{What: fmt.Sprintf("%q", path), Found: version.Found, Want: version.Want}
		}
	}
	return nil
}

// compareFiles describes the first difference between a file in the folder dir and the one in the
// folder recomputed; "": none.
func compareFiles(file, dir, recomputed string) (difference string, err error) {
	was, _, err := disk.Open(filepath.Join(dir, file))
	if errors.Is(err, fs.ErrNotExist) {
		return "it is missing", nil
	} else if err != nil {
		return "", err
	}
	defer was.Close()
	is, _, err := disk.Open(filepath.Join(recomputed, file))
	if err != nil {
		return "", err
	}
	defer is.Close()
	line, at, err := firstByte(was, is)
	if at < 0 || err != nil {
		return "", err
	}
	where := fmt.Sprintf("line %d", line)
	if name, ok := strings.CutSuffix(file, ".parquet"); ok {
		where = firstRow(name, dir, recomputed)
	}
	return fmt.Sprintf("%s (byte %d)", where, at), nil
}

// firstByte returns the line and the offset of the first byte that differs; offset -1: none
// differs.
func firstByte(was, is io.Reader) (line int, at int64, err error) {
	a, b := bufio.NewReader(was), bufio.NewReader(is)
	for line = 1; ; at++ {
		x, errA := a.ReadByte()
		y, errB := b.ReadByte()
		endA, endB := errors.Is(errA, io.EOF), errors.Is(errB, io.EOF)
		switch {
		case endA && endB:
			return 0, -1, nil
		case errA != nil && !endA, errB != nil && !endB:
			return 0, 0, errors.Join(errA, errB)
		case x != y || endA || endB:
			return line, at, nil
		case x == '\n':
			line++
		}
	}
}

// firstRow describes the first row in which the Parquet files of a sheet differ.
func firstRow(name, dir, recomputed string) string {
	was, err := sheet.ReadTable(dir, name)
	if err != nil {
		return fmt.Sprintf("it cannot be read: %v", err)
	}
	is, err := sheet.ReadTable(recomputed, name)
	if err != nil {
		return fmt.Sprintf("the recomputed file cannot be read: %v", err)
	}
	if !slices.Equal(was.Columns, is.Columns) {
		return fmt.Sprintf("its columns are %.200q, recomputed %.200q", columnNames(was), columnNames(is))
	}
	for row := range min(was.Len(), is.Len()) {
		for i, c := range is.Columns {
			if x, y := was.At(row, i), is.At(row, i); x != y {
				return fmt.Sprintf("row %d, column %q: %.200s, recomputed %.200s%s", row+1, c.Name, shown(x),
					shown(y), rowKey(is, row))
			}
		}
	}
	switch {
	case was.Len() < is.Len():
		return fmt.Sprintf("it ends before row %d", was.Len()+1)
	case was.Len() > is.Len():
		return fmt.Sprintf("row %d is too many", is.Len()+1)
	}
	return "the same values in other bytes"
}

// columnNames lists the columns of a sheet.
func columnNames(s *sheet.Sheet) (names []string) {
	for _, c := range s.Columns {
		names = append(names, c.Name)
	}
	return names
}

// shown formats a value for a message.
func shown(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		return strconv.Quote(v)
	}
	return sheet.Text(v)
}

// rowKey identifies a row by its cell, sample size and repetition, if the table has these columns.
func rowKey(s *sheet.Sheet, row int) string {
	var parts []string
	for i, c := range s.Columns {
		if slices.Contains([]string{"cell", "n", "rounds", "repetition"}, c.Name) {
			parts = append(parts, c.Name+" "+sheet.Text(s.At(row, i)))
		}
	}
	if parts == nil {
		return ""
	}
	return " [" + strings.Join(parts, ", ") + "]"
}
