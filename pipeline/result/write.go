package result

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/result/render"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
)

// layout lists the files of a result in their order. A file is written from a sheet or by write.
var layout = []struct {
	name   string
	sheet  string // name of the sheet; "": none
	format string // format of the sheet
	write  func(*Result, io.Writer) error
	aside  bool // not part of the result: may differ between runs
}{
	{name: "sweep.yaml", write: func(r *Result, w io.Writer) error { return disk.Bytes(r.Source)(w) }},
	{name: "table.parquet", sheet: "table", format: "parquet"},
	{name: "curve.parquet", sheet: "curve", format: "parquet"},
	{name: "bounds.parquet", write: (*Result).writeBounds},
	{name: "fits.parquet", sheet: "fits", format: "parquet"},
	{name: "trials.parquet", write: (*Result).writeTrials},
	{name: "table.csv", sheet: "table", format: "csv"},
	{name: "table.md", sheet: "table", format: "md"},
	{name: "curve.csv", sheet: "curve", format: "csv"},
	{name: "timing.parquet", write: (*Result).writeTiming, aside: true},
	{name: "failures.parquet", sheet: "failures", format: "parquet", aside: true},
}

// WriteResult writes the result into the folder dir, which it creates if necessary: sweep.yaml,
// table.parquet, curve.parquet, bounds.parquet, fits.parquet, trials.parquet, table.csv, table.md,
// curve.csv, and timing.parquet and failures.parquet, which are not part of the result. It writes
// and syncs all files under temporary names before it renames the first one, so that a failure
// leaves the old files.
//
// The files are a function of r and of the outcomes that it consumes. digest is the SHA-256, in
// hex, of the lines that sha256sum prints for the files of the result in the order above.
func WriteResult(dir string, r Result) (digest string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write result: %w", err)
			for _, f := range layout {
				_ = disk.RemoveStaged(filepath.Join(dir, f.name)) // the first error counts
			}
		}
	}()
	if err := r.check(); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	sheets, lines := map[string]*sheet.Sheet{}, sha256.New()
	for _, f := range layout {
		if f.sheet != "" && sheets[f.sheet] == nil {
			if sheets[f.sheet], err = r.Sheet(f.sheet); err != nil {
				return "", err
			}
		}
		h, path := sha256.New(), filepath.Join(dir, f.name)
		err := disk.WriteStaged(path, func(w io.Writer) error {
			if w = io.MultiWriter(w, h); f.write != nil {
				return f.write(&r, w)
			}
			return render.Render(sheets[f.sheet], w, f.format)
		})
		if err != nil {
			return "", fmt.Errorf("%q: %w", path, err)
		}
		if !f.aside {
			fmt.Fprintf(lines, "%x  %s\n", h.Sum(nil), f.name)
		}
	}
	for _, f := range layout {
		if err := disk.Replace(filepath.Join(dir, f.name)); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(lines.Sum(nil)), disk.SyncDir(dir)
}

// check returns an error if two cells have the same id in the files.
func (r *Result) check() error {
	seen := map[string][32]byte{}
	for c := range r.cells() {
		if other, ok := seen[c.Key.Short()]; ok && other != c.Key {
			return fmt.Errorf("cells %x and %x share the first 10 digits of their keys", other, c.Key)
		}
		seen[c.Key.Short()] = c.Key
	}
	return nil
}
