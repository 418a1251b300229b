package population

import (
	"errors"

	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// bounded is a codec of Parquet that decodes no more than the size which the page states: the
// library's make as much as the compressed bytes say, up to thousands of times their number.
type bounded struct {
	compress.Codec
	decode func(dst, src []byte) []byte // fills dst, which is not nil
}

func (b bounded) Decode(dst, src []byte) []byte {
	if dst == nil { // a page without content
		dst = []byte{}
	}
	return b.decode(dst, src)
}

var errLonger = errors.New("a page is longer than it states")

func init() {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err)
	}
	decoders := map[compress.Compression]func(dst, src []byte) []byte{
		compress.Codecs.Snappy: func(dst, src []byte) []byte {
			if n, err := snappy.DecodedLen(src); err != nil || n > len(dst) {
				panic(errors.Join(errLonger, err))
			}
			return must(snappy.Decode(dst, src))
		},
		compress.Codecs.Zstd: func(dst, src []byte) []byte { return must(decoder.DecodeAll(src, dst[:0:len(dst)])) },
		compress.Codecs.Gzip: nil, compress.Codecs.Brotli: nil, // they fill what they are given
	}
	for name, decode := range decoders {
		codec, err := compress.GetCodec(name)
		if err != nil {
			panic(err)
		}
		if decode == nil {
			decode = codec.Decode
		}
		compress.RegisterCodec(name, bounded{codec, decode})
	}
}

// must returns what was decoded; like the library's codecs it panics where that failed.
func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}
