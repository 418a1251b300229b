package sheet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/metadata"

	"github.com/shatterlab/shatter/schemas"
)

// WriteGroups writes the file of a result with the given name from row groups that were encoded
// already: a chunk for each column, all of as many rows. It ends at the first error of groups or of
// w.
func WriteGroups(w io.Writer, name string, columns []schemas.Column, groups iter.Seq2[[]*Chunk, error]) error {
	to := &countingWriter{ErrorWriter: ErrorWriter{Writer: w}}
	f, err := newGroupFile(to, name, columns)
	if err != nil {
		return err
	}
	for chunks, err := range groups {
		if err != nil {
			return err
		}
		if err := errors.Join(f.add(chunks), to.Err); err != nil {
			return err
		}
	}
	return errors.Join(f.finish(), to.Err)
}

// countingWriter counts the bytes that were written, or dropped after an error.
type countingWriter struct {
	ErrorWriter
	at int64
}

func (w *countingWriter) Write(b []byte) (int, error) {
	w.at += int64(len(b))
	return w.ErrorWriter.Write(b)
}

// Tell returns the offset of what is written next.
func (w *countingWriter) Tell() int64 { return w.at }

// groupFile is a Parquet file that gets its row groups encoded.
type groupFile struct {
	to     *countingWriter
	footer *metadata.FileMetaDataBuilder
	groups int16
}

const parquetMark = "PAR1"

func newGroupFile(to *countingWriter, name string, columns []schemas.Column) (*groupFile, error) {
	options := commonOptions()
	for _, c := range columns {
		if c.Type == schemas.IntColumn {
			options = append(options, parquet.WithEncodingFor(c.Name, parquet.Encodings.DeltaBinaryPacked)) // without dictionary
		}
	}
	whole := parquet.NewWriterProperties(options...)
	described, pairs, err := parquetSchema(ArrowSchema(name, columns, nil), whole)
	if err != nil {
		return nil, err
	}
	_, _ = io.WriteString(to, parquetMark)
	return &groupFile{to: to, footer: metadata.NewFileMetadataBuilder(described, whole, pairs)}, nil
}

// add writes a row group.
func (f *groupFile) add(chunks []*Chunk) error {
	group, start := f.footer.AppendRowGroup(), f.to.at
	for i, c := range chunks {
		if c.rows != chunks[0].rows {
			return fmt.Errorf("column %d has %d rows, the first one %d", i, c.rows, chunks[0].rows)
		}
		if err := f.addChunk(c, group.NextColumnChunk(), int16(i)); err != nil {
			return err
		}
	}
	group.SetNumRows(chunks[0].rows)
	for _, c := range chunks {
		c.free()
	}
	f.groups++
	return group.Finish(f.to.at-start, f.groups-1)
}

func (f *groupFile) addChunk(c *Chunk, about *metadata.ColumnChunkMetaDataBuilder, column int16) error {
	pages, err := file.NewPageWriter(f.to, compress.Codecs.Uncompressed, 0, about, f.groups, column,
		memory.DefaultAllocator, false, nil, nil)
	if err != nil {
		return err
	}
	labeled := c.encoding == parquet.Encodings.RLEDict
	if labeled {
		page := file.NewDictionaryPage(memory.NewBufferBytes(c.dictionary), int32(c.entries), parquet.Encodings.Plain)
		if _, err := pages.WriteDictionaryPage(page); err != nil {
			return err
		}
	}
	page := file.NewDataPageV1(memory.NewBufferBytes(c.page), int32(c.rows), c.encoding, parquet.Encodings.RLE,
		parquet.Encodings.RLE, int32(len(c.page)))
	if _, err := pages.WriteDataPage(page); err != nil {
		return err
	}
	about.SetStats(c.stats)
	return pages.Close(labeled, false)
}

// finish writes what stands at the end of the file.
func (f *groupFile) finish() error {
	footer, err := f.footer.Finish()
	if err != nil {
		return err
	}
	size, err := footer.WriteTo(f.to, nil)
	if err != nil {
		return err
	}
	_, err = f.to.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(size)), parquetMark...))
	return err
}
