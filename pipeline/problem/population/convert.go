package population

import (
	"strings"

	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/pierrec/lz4/v4"

	"github.com/shatterlab/shatter/pipeline/wording"
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

// conversions tell how to convert files by their extensions.
var conversions = []struct{ extensions, how string }{
	{".json .jsonl .ndjson", "convert it, for example with DuckDB 1.5 (2026): " +
		"COPY (FROM read_json('FILE')) TO 'data.parquet'"},
	{".arff", "convert it: (grep -i '^@attribute' FILE | awk '{print $2}' | paste -sd,; " +
		"sed '1,/^@data/Id; /^%/d' FILE) > data.csv"},
	{".xls .xlsx .ods", "save the sheet as CSV"},
	{".zip .bz2 .xz .zst .7z .tar .tgz .gz", "unpack it; only text may be compressed, by gzip"},
	{".txt .dat .data", "rename it to end in .csv, and set problem.data.delimiter unless commas " +
		"separate the cells; the first line has to name the columns"},
}

// refuseExtension refuses a file with an extension.
func refuseExtension(file, extension string) error {
	for _, c := range conversions {
		for _, known := range strings.Fields(c.extensions) {
			if known == extension {
				return refuse("data.file", "%s: %s files are not read; %s", file, extension,
					strings.NewReplacer("'FILE'", "'"+file+"'", "FILE", wording.ShellWord(file)).Replace(c.how))
			}
		}
	}
	return refuse("data.file", "%s: unknown extension %q; use .csv, .parquet, .arrow or .libsvm", file, extension)
}
