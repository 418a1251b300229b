package sheet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/pqarrow"

	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/schemas"
)

// ReadTable reads a table of a result folder: "table", "curve", "bounds", "fits", "timing" or
// "failures". It is safe for any file: it returns an error if the file is not a result file of
// this version.
func ReadTable(dir, name string) (*Sheet, error) {
	path := filepath.Join(dir, name+".parquet")
	s := &Sheet{Name: name}
	if err := s.read(path); err != nil {
		return nil, fmt.Errorf("read %q: %w", path, err)
	}
	return s, nil
}

// CheckFile returns an error if a file is not a result file of this version.
func CheckFile(path string) (err error) {
	defer recoverDamage(&err)
	r, err := open(path)
	if err != nil {
		return err
	}
	return r.ParquetReader().Close()
}

// open opens a result file of this version. It does not trust the sizes in the file.
func open(path string) (*pqarrow.FileReader, error) {
	raw, size, err := disk.Open(path)
	if err != nil {
		return nil, errors.Unwrap(err) // the caller names the file
	}
	limit := &limitedAllocator{Allocator: memory.DefaultAllocator, left: maxInflated + maxRatio*size}
	f, err := file.NewParquetReader(raw, file.WithReadProps(parquet.NewReaderProperties(limit)))
	if err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	a, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, limit)
	if err = cmp.Or(checkVersion(f), err); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return a, nil
}

// recoverDamage converts a panic into an error; it must be deferred. The Parquet library panics
// on some damaged files. It cannot recover a panic of another goroutine. Therefore files are read
// column by column, which starts no goroutines.
func recoverDamage(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the file is damaged: %v", p)
	}
}

// maxRows is the number of rows of the largest table that is read as a whole.
const maxRows = 1 << 26

// limitedAllocator panics before a file with wrong sizes exhausts the memory.
type limitedAllocator struct {
	memory.Allocator
	left int64 // bytes that may still be allocated
}

// A file may use maxInflated bytes of memory and maxRatio times its size.
const (
	maxInflated = 1 << 30
	maxRatio    = 1 << 10
)

func (l *limitedAllocator) Allocate(size int) []byte {
	l.charge(size)
	return l.Allocator.Allocate(size)
}

func (l *limitedAllocator) Reallocate(size int, b []byte) []byte {
	l.charge(size - len(b))
	return l.Allocator.Reallocate(size, b)
}

func (l *limitedAllocator) Free(b []byte) {
	l.left += int64(len(b))
	l.Allocator.Free(b)
}

func (l *limitedAllocator) charge(size int) {
	if l.left -= int64(size); l.left < 0 {
		panic(fmt.Sprintf("a part of %d bytes", size))
	}
}

// read reads the whole file into the sheet.
func (s *Sheet) read(path string) (err error) {
	defer recoverDamage(&err)
	r, err := open(path)
	if err != nil {
		return err
	}
	f := r.ParquetReader()
	defer func() { _ = f.Close() }() // nothing was written
	metadata, rows := f.MetaData().KeyValueMetadata(), f.NumRows()
	if of := metadata.FindValue(FileKey); of == nil || *of != s.Name {
		return fmt.Errorf("it is not the file %s of a result: its metadata say so", s.Name)
	}
	if rows < 0 || rows > maxRows {
		return fmt.Errorf("it has %d rows: at most %d can be shown", rows, maxRows)
	}
	if text := metadata.FindValue(ConfidenceKey); text != nil {
		v, err := strconv.ParseFloat(*text, 64)
		if err != nil || !(v > 0 && v < 1) {
			return fmt.Errorf("its metadata %s, %q, are no confidence", ConfidenceKey, *text)
		}
		s.Confidence = v
	}
	for _, key := range OriginKeys {
		if v := metadata.FindValue(key); v != nil {
			s.Origin = append(s.Origin, key, *v)
		}
	}
	s.rows = int(rows)
	for i := range f.MetaData().Schema.NumColumns() {
		if err := s.readColumn(r, i); err != nil {
			return fmt.Errorf("column %d: %w", i, err)
		}
	}
	return nil
}

// readColumn reads column i of a file.
func (s *Sheet) readColumn(r *pqarrow.FileReader, i int) error {
	c, err := r.GetColumn(context.Background(), i)
	if err != nil {
		return err
	}
	data, err := c.NextBatch(int64(s.rows))
	if err != nil {
		return err
	}
	if data.Len() != s.rows {
		return fmt.Errorf("%d values for %d rows", data.Len(), s.rows)
	}
	var values arrow.Array
	if s.rows == 0 {
		values = array.NewBuilder(memory.DefaultAllocator, c.Field().Type).NewArray()
	} else if values, err = array.Concatenate(data.Chunks(), memory.DefaultAllocator); err != nil {
		return err
	}
	t := ColumnType(c.Field().Type)
	if t == schemas.TextColumn { // of any other type, or with texts that are not UTF-8
		array := values
		values = gather(t, array.Len(), func(row int) any { return ValueAt(array, row) })
	}
	name := strings.ToValidUTF8(c.Field().Name, "\uFFFD")
	s.Columns, s.values = append(s.Columns, schemas.Column{Name: name, Type: t}), append(s.values, values)
	return nil
}

// checkVersion returns an error if the file is not a result, or a result of another version.
func checkVersion(f *file.Reader) error {
	version := f.MetaData().KeyValueMetadata().FindValue(VersionKey)
	switch {
	case version == nil:
		return errors.New("it is no result file of Shatter: its metadata have no " + VersionKey)
	case *version != schemas.ResultVersion:
		return &schemas.VersionError{What: "it", Found: *version, Want: schemas.ResultVersion}
	}
	return nil
}
