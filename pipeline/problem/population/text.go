package population

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// maxLine is the largest number of bytes of a line, or of a row that has several.
const maxLine = 32 << 20

// A rationed reader reads from r until its ration is used up. It keeps a line without an end out of memory.
type rationed struct {
	r    io.Reader
	left int
}

var errTooLong = errors.New("the line is too long")

func (r *rationed) Read(b []byte) (int, error) {
	if r.left <= 0 {
		return 0, errTooLong
	}
	n, err := r.r.Read(b)
	r.left -= n
	return n, err
}

// openText opens a text file from its beginning: UTF-8, with or without a byte order mark, plain or compressed by
// gzip. ration limits what is read.
func (t *table) openText(file *io.SectionReader) (text *bufio.Reader, ration *rationed, err error) {
	ration = &rationed{io.NewSectionReader(file, 0, file.Size()), maxLine}
	text = bufio.NewReaderSize(ration, 64<<10)
	if mark, _ := text.Peek(2); string(mark) == "\x1f\x8b" {
		unpacked, err := gzip.NewReader(text)
		if err != nil {
			return nil, nil, t.damaged(err)
		}
		packed := ration
		ration = &rationed{readerFunc(func(b []byte) (int, error) {
			packed.left = maxLine
			return unpacked.Read(b)
		}), maxLine}
		text = bufio.NewReaderSize(ration, 64<<10)
	}
	start, _ := text.Peek(64)
	switch file := t.spec.File; {
	case bytes.HasPrefix(start, []byte("\uFEFF")):
		_, _ = text.Discard(3)
	case bytes.HasPrefix(start, []byte("\xFF\xFE")), bytes.HasPrefix(start, []byte("\xFE\xFF")),
		len(start) > 1 && (start[0] == 0) != (start[1] == 0):
		return nil, nil, refuse("data.file", "%s is UTF-16, which is not supported; convert it: "+
			"iconv -f UTF-16 -t UTF-8 %[1]s > utf8.csv", file)
	case bytes.HasPrefix(start, []byte("PAR1")), bytes.HasPrefix(start, []byte("ARROW1")),
		bytes.HasPrefix(start, []byte("PK\x03\x04")):
		return nil, nil, refuse("data.file", "%s is not text; it begins like a Parquet, Arrow or zip file: "+
			"rename it to .parquet or .arrow, or unzip it", file)
	}
	return text, ration, nil
}

// readerFunc is an io.Reader.
type readerFunc func(b []byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// unread returns the error of a text file that cannot be read further.
func (t *table) unread(err error) error {
	switch {
	case errors.Is(err, errTooLong):
		return refuse("data.file", "%s: a row has more than %d bytes; is it a text file, with a quote at the end of "+
			"each cell that begins with one?", t.spec.File, maxLine)
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.Is(err, io.ErrUnexpectedEOF):
		return t.damaged(fmt.Errorf("gzip: %w", err))
	}
	return refuse("data.file", "%s: %v", t.spec.File, err)
}
