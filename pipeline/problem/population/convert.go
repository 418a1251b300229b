package population

import (
	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/pierrec/lz4/v4"
)

// lz4Raw decodes LZ4_RAW, which Arrow's Parquet reader lacks.
type lz4Raw struct{ compress.Codec }

func (lz4Raw) Decode(dst, src []byte) []byte {
	n, err := lz4.UncompressBlock(src, dst)
	if err != nil {
		panic(err)
	}
	return dst[:n]
}

func init() { compress.RegisterCodec(7, lz4Raw{}) } // the number of LZ4_RAW in parquet.thrift

// howToRewrite tells how to write a file of a format again with features that can be read.
var howToRewrite = map[string]string{
	"parquet": "rewrite it, for example with DuckDB 1.5 (2026): COPY (FROM 'old.parquet') TO 'new.parquet'",
	"arrow":   "write Parquet, for example with Polars 1 (2026): pl.read_ipc('old.arrow').write_parquet('new.parquet')",
}
