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

// resultFile is one file of a result: its name and what writes it.
type resultFile struct {
	name  string
	write func(io.Writer) error
	aside bool // no part of the result: it may differ between runs
}

// WriteResult writes the result into the folder dir, which it makes where there is none:
// sweep.yaml, table.parquet, curve.parquet, bounds.parquet, fits.parquet, trials.parquet,
// table.csv, table.md, curve.csv, and timing.parquet and failures.parquet, which are no part of the
// result. All are written beside and synced before the first is renamed, so that a failure leaves the
// files that were there.
//
// The files are a function of r and of the outcomes that it consumes. digest is the SHA-256, in
// hex, of the lines that sha256sum prints for the files of the result in the order above.
func WriteResult(dir string, r Result) (digest string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("write result: %w", err)
	}
	files, err := r.files()
	if err != nil {
		return "", fmt.Errorf("write result: %w", err)
	}
	defer func() {
		if err != nil {
			for _, f := range files {
				_ = disk.RemoveBeside(filepath.Join(dir, f.name)) // the first error is what counts
			}
		}
	}()
	lines := sha256.New()
	for _, f := range files {
		h := sha256.New()
		path := filepath.Join(dir, f.name)
		if err := disk.WriteBeside(path, func(w io.Writer) error { return f.write(io.MultiWriter(w, h)) }); err != nil {
			return "", fmt.Errorf("write result %q: %w", path, err)
		}
		if !f.aside {
			fmt.Fprintf(lines, "%s  %s\n", hex.EncodeToString(h.Sum(nil)), f.name)
		}
	}
	for _, f := range files {
		if err := disk.Replace(filepath.Join(dir, f.name)); err != nil {
			return "", fmt.Errorf("write result: %w", err)
		}
	}
	if err := disk.SyncDir(dir); err != nil {
		return "", fmt.Errorf("write result: %w", err)
	}
	return hex.EncodeToString(lines.Sum(nil)), nil
}

// files returns the files in their order.
func (r *Result) files() ([]resultFile, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	sheets := map[string]*sheet.Sheet{}
	for _, name := range Sheets() {
		s, err := r.Sheet(name)
		if err != nil {
			return nil, err
		}
		sheets[name] = s
	}
	shown := func(sheet, format string) func(io.Writer) error {
		return func(w io.Writer) error { return render.Render(sheets[sheet], w, format) }
	}
	return []resultFile{
		{name: "sweep.yaml", write: disk.Bytes(r.Source)},
		{name: "table.parquet", write: sheets["table"].WriteParquet},
		{name: "curve.parquet", write: sheets["curve"].WriteParquet},
		{name: "bounds.parquet", write: sheets["bounds"].WriteParquet},
		{name: "fits.parquet", write: sheets["fits"].WriteParquet},
		{name: "trials.parquet", write: r.writeTrials},
		{name: "table.csv", write: shown("table", "csv")},
		{name: "table.md", write: shown("table", "md")},
		{name: "curve.csv", write: shown("curve", "csv")},
		{name: "timing.parquet", write: sheets["timing"].WriteParquet, aside: true},
		{name: "failures.parquet", write: sheets["failures"].WriteParquet, aside: true},
	}, nil
}

// check refuses a result with two cells that the files could not tell apart.
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
