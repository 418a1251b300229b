package sheet

import (
	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/klauspost/compress/zstd"
)

// zstdCodec compresses every page with one encoder: the library makes a new one for each page,
// which takes longer and far more memory than a page of a table does.
type zstdCodec struct {
	compress.Codec
	encoder *zstd.Encoder
}

// EncodeLevel compresses src. The level is zstdLevel.
func (c zstdCodec) EncodeLevel(dst, src []byte, _ int) []byte {
	return c.encoder.EncodeAll(src, dst[:0])
}

// zstdLevel is the level of compression of all files.
const zstdLevel = 3

func init() {
	codec, err := compress.GetCodec(compress.Codecs.Zstd)
	if err != nil {
		panic(err)
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithZeroFrames(true), zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true), zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(zstdLevel)))
	if err != nil {
		panic(err)
	}
	compress.RegisterCodec(compress.Codecs.Zstd, zstdCodec{codec, encoder})
}
