package population

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/apache/arrow/go/v17/arrow/float16"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/schema"
)

var parquetFormat = format{name: "parquet", extensions: []string{".parquet"}, read: (*table).readParquet}

// readParquet reads a Parquet file, one column of one row group after the other. It uses Parquet's
// own column readers, which start no goroutine: a panic on damaged bytes stays where it can be
// caught.
func (t *table) readParquet(f *io.SectionReader) error {
	if err := checkFooter(f); err != nil {
		return t.damaged(err)
	}
	mem := newLimited(t.memory, f.Size())
	r, err := file.NewParquetReader(f, file.WithReadProps(parquet.NewReaderProperties(mem)))
	if err != nil {
		return t.damaged(err)
	}
	leaves := r.MetaData().Schema
	columns := make([]column, leaves.NumColumns())
	for i := range columns {
		columns[i] = column{leaves.Column(i).Path(), parquetKind(leaves.Column(i))}
	}
	if err := t.begin(columns); err != nil {
		return err
	}
	for g := range r.NumRowGroups() {
		group := r.RowGroup(g)
		err := t.batch(func(i int, role role, base int) (int, error) {
			p, err := pagesOf(f, group, i, mem)
			if err != nil {
				return 0, t.damaged(err)
			}
			p.optional, p.most = leaves.Column(i).MaxDefinitionLevel() > 0, t.most
			return t.chunk(file.NewColumnReader(leaves.Column(i), p, mem, r.BufferPool()), role, base)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// parquetKind returns the kind of a column. Nested and repeated columns, dates, times, decimals and
// raw bytes are not supported.
func parquetKind(c *schema.Column) kind {
	if c.MaxRepetitionLevel() > 0 || c.MaxDefinitionLevel() > 1 || len(c.ColumnPath()) > 1 {
		return unknown
	}
	switch c.LogicalType().(type) {
	case schema.NoLogicalType, *schema.IntLogicalType:
		switch c.PhysicalType() {
		case parquet.Types.Int32, parquet.Types.Int64, parquet.Types.Float, parquet.Types.Double:
			return numbers
		case parquet.Types.Boolean, parquet.Types.ByteArray:
			return textual
		}
	case schema.Float16LogicalType:
		return numbers
	case schema.StringLogicalType, schema.EnumLogicalType:
		return textual
	}
	return unknown
}

// chunk reads one column of a row group, whose first row is number base, and returns its number of
// rows.
func (t *table) chunk(c file.ColumnChunkReader, role role, base int) (rows int, err error) {
	switch c := c.(type) {
	case *file.Int32ColumnChunkReader:
		if unsigned(c.Descriptor()) {
			return batches(t, role, base, c,
				func(v int32) float64 { return float64(uint32(v)) },
				func(v int32) string { return strconv.FormatUint(uint64(uint32(v)), 10) })
		}
		return batches(t, role, base, c,
			func(v int32) float64 { return float64(v) },
			func(v int32) string { return strconv.FormatInt(int64(v), 10) })
	case *file.Int64ColumnChunkReader:
		if unsigned(c.Descriptor()) {
			return batches(t, role, base, c,
				func(v int64) float64 { return float64(uint64(v)) },
				func(v int64) string { return strconv.FormatUint(uint64(v), 10) })
		}
		return batches(t, role, base, c,
			func(v int64) float64 { return float64(v) },
			func(v int64) string { return strconv.FormatInt(v, 10) })
	case *file.Float32ColumnChunkReader:
		return batches(t, role, base, c,
			func(v float32) float64 { return float64(v) },
			func(v float32) string { return strconv.FormatFloat(float64(v), 'g', -1, 32) })
	case *file.Float64ColumnChunkReader:
		return batches(t, role, base, c,
			func(v float64) float64 { return v },
			func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) })
	case *file.FixedLenByteArrayColumnChunkReader: // parquetKind admits float16 only
		return batches(t, role, base, c,
			func(v parquet.FixedLenByteArray) float64 { return float64(float16.FromLEBytes(v).Float32()) },
			func(v parquet.FixedLenByteArray) string { return float16.FromLEBytes(v).String() })
	case *file.BooleanColumnChunkReader:
		return batches(t, role, base, c, nil, strconv.FormatBool)
	case *file.ByteArrayColumnChunkReader:
		return batches(t, role, base, c, nil, func(v parquet.ByteArray) string { return string(v) })
	}
	return 0, refuse("data.file", "%s: column %q has a type that has no use here", t.spec.File, role.name)
}

// unsigned reports whether the integers of a column have no sign.
func unsigned(c *schema.Column) bool {
	i, ok := c.LogicalType().(*schema.IntLogicalType)
	return ok && !i.IsSigned()
}

// batches reads a whole column chunk of physical type V, and returns its number of rows. number and
// text convert a value; number is nil where the values are no numbers.
func batches[V any](t *table, role role, base int, c interface {
	file.ColumnChunkReader
	ReadBatch(size int64, values []V, defined, repeated []int16) (total int64, read int, err error)
}, number func(V) float64, text func(V) string,
) (rows int, err error) {
	const size = 4096
	values, defined := make([]V, size), make([]int16, size)
	for c.HasNext() {
		total, read, err := c.ReadBatch(size, values, defined, nil)
		if err != nil {
			return 0, t.damaged(err)
		}
		if total == 0 || int64(read) > total {
			return 0, t.damaged("a page is empty")
		}
		err = t.setCells(role, base+rows, cells{
			rows:    int(total),
			missing: func(i int) bool { return int64(read) < total && defined[i] == 0 },
			number:  func(i int) float64 { return number(values[i]) },
			text:    func(i int) string { return text(values[i]) },
		})
		if err != nil {
			return 0, err
		}
		rows += int(total)
	}
	if c.Err() != nil {
		return 0, t.damaged(c.Err())
	}
	return rows, nil
}

// pagesOf opens the pages of a column chunk. The stream is our own: those of the Parquet reader
// allocate a length found in the file unchecked, or repeat old bytes for ever once the file has
// ended.
func pagesOf(f *io.SectionReader, g *file.RowGroupReader, i int, mem memory.Allocator) (*pages, error) {
	const header = 64 << 10 // of a page, at most
	c, err := g.MetaData().ColumnChunk(i)
	if err != nil {
		return nil, err
	}
	if c.CryptoMetadata() != nil {
		return nil, errors.New("it is encrypted")
	}
	start := c.DataPageOffset()
	if d := c.DictionaryPageOffset(); c.HasDictionaryPage() && 0 < d && d < start {
		start = d
	}
	size := c.TotalCompressedSize()
	if start < 0 || size < 0 || size > f.Size() {
		return nil, fmt.Errorf("column %d has %d bytes from %d on", i, size, start)
	}
	stream := &pageStream{bufio.NewReaderSize(io.NewSectionReader(f, start, size), header), size}
	r, err := file.NewPageReader(stream, c.NumValues(), c.Compression(), mem, nil)
	if err != nil {
		return nil, err
	}
	r.SetMaxPageHeaderSize(header)
	return &pages{PageReader: r}, nil
}

// pageStream is the stream of a column chunk. The page reader makes room for what a page's header
// states before it reads on.
type pageStream struct {
	*bufio.Reader
	left int64 // bytes
}

// Discard skips the header of a page. It panics where more is stated than there is, because the page
// reader does not look at its error.
func (s *pageStream) Discard(n int) (int, error) {
	header, err := s.Peek(n)
	if err != nil {
		return 0, err
	}
	if size := int64(compressedSize(header)); size > s.left {
		panic(fmt.Errorf("a page of %d bytes in a column of %d", size, s.left))
	}
	return s.Reader.Discard(n)
}

// pages passes on the pages of a column chunk, up to the first that states more than it holds. The
// levels of an optional column say which cells are missing; where they end early, the column reader
// would ask for more for ever.
type pages struct {
	file.PageReader
	optional bool
	most     int64 // values of a page
	err      error
}

func (p *pages) Next() bool {
	if p.err != nil || !p.PageReader.Next() {
		return false
	}
	switch page := p.Page(); {
	case int64(page.NumValues()) > p.most:
		p.err = fmt.Errorf("a page states %d values", page.NumValues())
	case p.optional && !completeLevels(page):
		p.err = errors.New("a page has fewer levels than values")
	case !p.soundDelta(page):
		p.err = errors.New("a page of differences states more values than it has")
	}
	return p.err == nil
}

func (p *pages) Err() error {
	if p.err != nil {
		return p.err
	}
	return p.PageReader.Err()
}

// completeLevels reports whether a data page has a level of one bit for each of its values.
func completeLevels(page file.Page) bool {
	data, values := page.Data(), int64(page.NumValues())
	switch p := page.(type) {
	case *file.DataPageV1:
		if p.DefinitionLevelEncoding() != parquet.Encodings.RLE {
			return int64(len(data))*8 >= values // bit-packed; any other encoding the column reader refuses
		}
		if len(data) < 4 {
			return false
		}
		size := binary.LittleEndian.Uint32(data)
		data = data[4:]
		return uint64(size) <= uint64(len(data)) && runs(data[:size]) >= values
	case *file.DataPageV2:
		from := int64(p.RepetitionLevelByteLen())
		to := from + int64(p.DefinitionLevelByteLen())
		return to <= int64(len(data)) && runs(data[from:to]) >= values
	}
	return true
}

// soundDelta reports whether a page that is encoded as differences states lengths that suit its number
// of values: the decoder makes room for them.
func (p *pages) soundDelta(page file.Page) bool {
	switch parquet.Encoding(page.Encoding()) {
	case parquet.Encodings.DeltaBinaryPacked, parquet.Encodings.DeltaLengthByteArray, parquet.Encodings.DeltaByteArray:
	default:
		return true
	}
	data := page.Data()
	switch page := page.(type) {
	case *file.DataPageV1:
		if p.optional && page.DefinitionLevelEncoding() != parquet.Encodings.RLE {
			return false
		}
		if p.optional {
			data = data[4+binary.LittleEndian.Uint32(data):] // completeLevels has looked at it
		}
	case *file.DataPageV2:
		data = data[page.RepetitionLevelByteLen()+page.DefinitionLevelByteLen():]
	}
	const largestBlock = 1 << 20 // values
	for _, most := range []uint64{largestBlock, largestBlock, uint64(page.NumValues())} {
		v, n := binary.Uvarint(data)
		if n <= 0 || v > most {
			return false
		}
		data = data[n:]
	}
	return true
}

// runs returns the number of one-bit levels in Parquet's hybrid of run lengths and bit packing.
func runs(b []byte) (levels int64) {
	for len(b) > 0 {
		header, n := binary.Uvarint(b)
		if n <= 0 || header < 2 || header > math.MaxUint32 {
			return levels
		}
		b = b[n:]
		count, size := int64(header>>1), int64(1)
		if header&1 == 1 { // groups of eight bits
			size = min(count, int64(len(b)))
			count = 8 * size
		}
		if size > int64(len(b)) {
			return levels
		}
		levels += count
		b = b[size:]
	}
	return levels
}
