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

// A resultFile is a file of a result. It is written from a sheet or by write.
type resultFile struct {
	name   string
	sheet  string // name of the sheet; "": none
	format string // format of the sheet
	write  func(*Result, io.Writer) error
	aside  bool // not part of the result: may differ between runs
	text   bool // not in the digest, which covers numbers only
}

// layout lists the files of a result in their order.
var layout = []resultFile{
	{name: "sweep.yaml", write: func(r *Result, w io.Writer) error { return disk.Bytes(r.Source)(w) }, text: true},
	{name: "table.parquet", sheet: "table", format: "parquet"},
	{name: "curve.parquet", sheet: "curve", format: "parquet"},
	{name: "bounds.parquet", sheet: "bounds", format: "parquet"},
	{name: "fits.parquet", sheet: "fits", format: "parquet"},
	{name: "trials.parquet", write: (*Result).writeTrials},
	{name: "table.csv", sheet: "table", format: "csv"},
	{name: "table.md", sheet: "table", format: "md", text: true},
	{name: "curve.csv", sheet: "curve", format: "csv"},
	{name: "timing.parquet", sheet: "timing", format: "parquet", aside: true},
	{name: "failures.parquet", sheet: "failures", format: "parquet", aside: true},
}

// WriteResult writes the result into the folder dir, which it creates if necessary: sweep.yaml,
// table.parquet, curve.parquet, bounds.parquet, fits.parquet, trials.parquet, table.csv, table.md,
// curve.csv, and timing.parquet and failures.parquet, which are not part of the result. It writes
// and syncs all files under temporary names before it renames the first one, so that a failure
// leaves the old files.
//
// The files are a function of r and of the outcomes that it consumes. digest covers the numbers: it
// is the SHA-256, in hex, of a line "SHA-256  NAME" for each file of the result in the order above,
// except sweep.yaml and table.md. The SHA-256 of a Parquet file is that of the file with
// [sheet.NoDigest] in its metadata, where the written file has the digest.
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
	sheets := map[string]*sheet.Sheet{}
	for _, name := range Sheets() {
		if sheets[name], err = r.Sheet(name); err != nil {
			return "", err
		}
	}
	r.origin = nil
	for i, value := range []string{r.Name, r.Seed, sheet.NoDigest} {
		r.origin = append(r.origin, sheet.OriginKeys[i], value)
	}
	lines := sha256.New()
	for _, f := range layout {
		path, h := filepath.Join(dir, f.name), sha256.New()
		err := disk.WriteStaged(path, func(w io.Writer) error {
			return f.render(&r, sheets, io.MultiWriter(w, h))
		})
		if err != nil {
			return "", fmt.Errorf("%q: %w", path, err)
		}
		if !f.aside && !f.text {
			fmt.Fprintf(lines, "%x  %s\n", h.Sum(nil), f.name)
		}
	}
	digest = hex.EncodeToString(lines.Sum(nil))
	for _, f := range layout {
		if filepath.Ext(f.name) != ".parquet" {
			continue
		}
		path := filepath.Join(dir, f.name)
		err := disk.EditStaged(path, func(file disk.File) error { return sheet.SetDigest(file, digest) })
		if err != nil {
			return "", fmt.Errorf("%q: %w", path, err)
		}
	}
	for _, f := range layout {
		if err := disk.Replace(filepath.Join(dir, f.name)); err != nil {
			return "", err
		}
	}
	return digest, disk.SyncDir(dir)
}

// render writes the content of a file.
func (f *resultFile) render(r *Result, sheets map[string]*sheet.Sheet, w io.Writer) error {
	if f.write != nil {
		return f.write(r, w)
	}
	s := *sheets[f.sheet]
	s.Origin = r.origin
	return render.Render(&s, w, f.format)
}

// check returns an error if two cells have the same id in the files.
func (r *Result) check() error {
	seen := map[string][32]byte{}
	for _, c := range r.cells() {
		if other, ok := seen[c.Key.Short()]; ok && other != c.Key {
			return fmt.Errorf("cells %x and %x share the first 10 digits of their keys", other, c.Key)
		}
		seen[c.Key.Short()] = c.Key
	}
	return nil
}
