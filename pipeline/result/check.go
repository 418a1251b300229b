package result

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
)

// FileCheck says how a file of a result compares with the one made anew.
type FileCheck struct {
	Name       string
	Difference string // where it first differs from the one made anew; empty: equal
}

// CheckResult makes the files of the result anew and compares them byte for byte with those in the
// folder dir, where it changes nothing. digest is that of the files made anew, as WriteResult
// returns it. Where a file is of another version, the error is a schemas.VersionError.
func CheckResult(dir string, r Result) (checks []FileCheck, digest string, err error) {
	if err := CheckVersions(dir); err != nil {
		return nil, "", err
	}
	sums, differences := make([][]byte, len(layout)), make([]string, len(layout))
	err = r.eachFile(func(place int, f resultFile) (err error) {
		if layout[place].aside {
			return nil
		}
		if sums[place], differences[place], err = f.check(dir); err != nil {
			err = fmt.Errorf("%q: %w", filepath.Join(dir, f.name), err)
		}
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("check result: %w", err)
	}
	for place, f := range layout {
		if !f.aside {
			checks = append(checks, FileCheck{f.name, differences[place]})
		}
	}
	return checks, digestOf(sums), nil
}

// CheckVersions returns a schemas.VersionError where the folder of a result has a Parquet file of
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

// check makes the file anew and compares it with the one in dir. sum is the SHA-256 of the new one.
func (f resultFile) check(dir string) (sum []byte, difference string, err error) {
	path := filepath.Join(dir, f.name)
	h := sha256.New()
	c := &comparer{differs: -1}
	switch old, _, err := disk.Open(path); {
	case errors.Is(err, fs.ErrNotExist):
		c.differs = 0
	case err != nil:
		return nil, "", err
	default:
		defer old.Close()
		c.old = bufio.NewReaderSize(old, 1<<16)
	}
	if err := f.write(io.MultiWriter(h, c)); err != nil {
		return nil, "", err
	}
	switch {
	case c.old == nil:
		return h.Sum(nil), "it is missing", nil
	case c.equal():
		return h.Sum(nil), "", nil
	}
	difference, err = f.explain(path, c.differs)
	return h.Sum(nil), difference, err
}

// comparer compares what is written to it with what an older file holds.
type comparer struct {
	old     *bufio.Reader
	buf     []byte
	at      int64
	differs int64 // offset of the first byte that differs; -1: none so far
}

func (c *comparer) Write(b []byte) (int, error) {
	if c.differs >= 0 {
		return len(b), nil
	}
	c.buf = slices.Grow(c.buf[:0], len(b))[:len(b)]
	n, err := io.ReadFull(c.old, c.buf)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, err
	}
	if !bytes.Equal(c.buf[:n], b) {
		same := 0
		for same < n && c.buf[same] == b[same] {
			same++
		}
		c.differs = c.at + int64(same)
	}
	c.at += int64(n)
	return len(b), nil
}

// equal reports, after everything was written, whether the older file holds the same bytes and no
// more.
func (c *comparer) equal() bool {
	if c.differs < 0 {
		if _, err := c.old.ReadByte(); !errors.Is(err, io.EOF) {
			c.differs = c.at
		}
	}
	return c.differs < 0
}

// explain says where the file at path differs from the one made anew, which it writes to a
// temporary folder.
func (f resultFile) explain(path string, at int64) (string, error) {
	temp, err := os.MkdirTemp("", "shatter-verify")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	anew := filepath.Join(temp, f.name)
	if err := disk.WriteFile(anew, f.write); err != nil {
		return "", err
	}
	differ := differText
	switch filepath.Ext(f.name) {
	case ".parquet":
		differ = differParquet
	case ".csv":
		differ = differCSV
	}
	where, err := differ(path, anew)
	if err != nil {
		where = err.Error()
	} else if where == "" {
		where = "the same values in other bytes"
	}
	return fmt.Sprintf("%s (byte %d)", where, at), nil
}

// differParquet returns the place of the first row that differs and of its first column that does.
// It keeps one column in memory at a time.
func differParquet(path, anew string) (where string, err error) {
	defer sheet.RecoverDamage(&err)
	was, err := sheet.OpenParquet(path)
	if err != nil {
		return "", fmt.Errorf("it cannot be read: %w", err)
	}
	defer was.Close()
	is, err := sheet.OpenParquet(anew)
	if err != nil {
		return "", err
	}
	defer is.Close()
	for i := range max(was.ColumnCount(), is.ColumnCount()) {
		switch {
		case i >= was.ColumnCount():
			return fmt.Sprintf("column %q is missing", is.ColumnName(i)), nil
		case i >= is.ColumnCount() || was.ColumnName(i) != is.ColumnName(i):
			return fmt.Sprintf("column %d is %q", i+1, was.ColumnName(i)), nil
		}
	}
	d, err := firstDifference(was, is)
	if err != nil || d.row < 0 {
		return "", err
	}
	key, err := keyOf(is, d.row)
	return d.String() + key, err
}

// difference is a place where two tables differ.
type difference struct {
	row     int // from 0; -1: nowhere
	column  string
	was, is any
}

func (d difference) String() string {
	if d.column == "" {
		return fmt.Sprintf("%v rows, recomputed %v", d.was, d.is)
	}
	return fmt.Sprintf("row %d, column %q: %s, recomputed %s", d.row+1, d.column, shown(d.was), shown(d.is))
}

// shown returns a value in full.
func shown(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		return fmt.Sprintf("%.200q", v)
	}
	return sheet.Text(v)
}

func firstDifference(was, is *sheet.Reader) (difference, error) {
	d := difference{row: -1}
	for i := range is.ColumnCount() {
		c, x, err := was.ReadColumn(i)
		if err != nil {
			return d, fmt.Errorf("column %q cannot be read: %w", was.ColumnName(i), err)
		}
		_, y, err := is.ReadColumn(i)
		if err != nil {
			return d, err
		}
		for row := range min(len(x), len(y)) {
			if x[row] != y[row] && (d.row < 0 || row < d.row) {
				d = difference{row, c.Name, x[row], y[row]}
				break
			}
		}
	}
	if n, m := was.Rows, is.Rows; d.row < 0 && n != m {
		d = difference{min(n, m), "", n, m}
	}
	return d, nil
}

// keyOf names a row by its cell, sample size and repetition, as far as the file has these.
func keyOf(r *sheet.Reader, row int) (string, error) {
	var parts []string
	for i := range r.ColumnCount() {
		if !slices.Contains([]string{"cell", "n", "rounds", "repetition"}, r.ColumnName(i)) {
			continue
		}
		c, values, err := r.ReadColumn(i)
		if err != nil {
			return "", err
		}
		if row < len(values) {
			parts = append(parts, c.Name+" "+sheet.Text(values[row]))
		}
	}
	if len(parts) == 0 {
		return "", nil
	}
	return " [" + strings.Join(parts, ", ") + "]", nil
}

// differCSV returns the place of the first line that differs and of its first column that does.
func differCSV(path, anew string) (string, error) {
	was, is, err := readBoth(path, anew)
	if err != nil {
		return "", err
	}
	a, b := csv.NewReader(bytes.NewReader(was)), csv.NewReader(bytes.NewReader(is))
	a.FieldsPerRecord = -1
	var header []string
	for line := 1; ; line++ {
		x, errX := a.Read()
		y, errY := b.Read()
		switch {
		case errors.Is(errX, io.EOF) && errors.Is(errY, io.EOF):
			return "", nil
		case errX != nil && !errors.Is(errX, io.EOF):
			return "", fmt.Errorf("it cannot be read: %w", errX)
		case errX != nil:
			return fmt.Sprintf("it ends before line %d", line), nil
		case errY != nil:
			return fmt.Sprintf("line %d is too many", line), nil
		}
		if line == 1 {
			header = y
		}
		for i := range max(len(x), len(y)) {
			switch {
			case i >= len(x) || i >= len(y):
				return fmt.Sprintf("line %d has %d columns, recomputed %d", line, len(x), len(y)), nil
			case x[i] != y[i]:
				return fmt.Sprintf("line %d, column %q: %.200q, recomputed %.200q", line, header[i], x[i], y[i]), nil
			}
		}
	}
}

// readBoth reads a file that differs from what was made anew, and that. Of the first it reads little
// more than the other is long, which shows the difference: it may have any size.
func readBoth(path, anew string) (was, is []byte, err error) {
	const more = 1 << 10
	if is, err = os.ReadFile(anew); err != nil {
		return nil, nil, err
	}
	f, _, err := disk.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	was, err = io.ReadAll(io.LimitReader(f, int64(len(is))+more))
	return was, is, err
}

// differText returns the first line that differs.
func differText(path, anew string) (string, error) {
	was, is, err := readBoth(path, anew)
	if err != nil {
		return "", err
	}
	x, y := strings.SplitAfter(string(was), "\n"), strings.SplitAfter(string(is), "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d: %.200q, recomputed %.200q", i+1, x[i], y[i]), nil
		}
	}
	return fmt.Sprintf("%d lines, recomputed %d", len(x)-1, len(y)-1), nil
}
