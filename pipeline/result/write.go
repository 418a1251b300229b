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
}

// layout lists the files of a result in their order.
var layout = []struct {
	name  string
	sheet string // that it shows whole; "": none
	show  func(*Result, *sheet.Sheet, io.Writer) error
	aside bool // no part of the result: it may differ between runs
}{
	{"sweep.yaml", "", func(r *Result, _ *sheet.Sheet, w io.Writer) error { return disk.Bytes(r.Source)(w) }, false},
	{"table.parquet", "table", showParquet, false},
	{"curve.parquet", "curve", showParquet, false},
	{"bounds.parquet", "", func(r *Result, _ *sheet.Sheet, w io.Writer) error { return r.writeBounds(w) }, false},
	{"fits.parquet", "fits", showParquet, false},
	{"trials.parquet", "", func(r *Result, _ *sheet.Sheet, w io.Writer) error { return r.writeTrials(w) }, false},
	{"table.csv", "table", showAs("csv"), false},
	{"table.md", "table", showAs("md"), false},
	{"curve.csv", "curve", showAs("csv"), false},
	{"timing.parquet", "", func(r *Result, _ *sheet.Sheet, w io.Writer) error { return r.writeTiming(w) }, true},
	{"failures.parquet", "failures", showParquet, true},
}

func showParquet(_ *Result, s *sheet.Sheet, w io.Writer) error { return s.WriteParquet(w) }

func showAs(format string) func(*Result, *sheet.Sheet, io.Writer) error {
	return func(_ *Result, s *sheet.Sheet, w io.Writer) error { return render.Render(s, w, format) }
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
	defer func() {
		if err != nil {
			for _, f := range layout {
				_ = disk.RemoveBeside(filepath.Join(dir, f.name)) // the first error is what counts
			}
		}
	}()
	sums := make([][]byte, len(layout))
	err = r.eachFile(func(place int, f resultFile) error {
		h := sha256.New()
		path := filepath.Join(dir, f.name)
		if err := disk.WriteBeside(path, func(w io.Writer) error { return f.write(io.MultiWriter(w, h)) }); err != nil {
			return fmt.Errorf("%q: %w", path, err)
		}
		sums[place] = h.Sum(nil)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("write result: %w", err)
	}
	for _, f := range layout {
		if err := disk.Replace(filepath.Join(dir, f.name)); err != nil {
			return "", fmt.Errorf("write result: %w", err)
		}
	}
	if err := disk.SyncDir(dir); err != nil {
		return "", fmt.Errorf("write result: %w", err)
	}
	return digestOf(sums), nil
}

// digestOf returns the digest of a result whose files, in their order, have these sums.
func digestOf(sums [][]byte) string {
	lines := sha256.New()
	for i, f := range layout {
		if !f.aside {
			fmt.Fprintf(lines, "%x  %s\n", sums[i], f.name)
		}
	}
	return hex.EncodeToString(lines.Sum(nil))
}

// eachFile calls do with each file and its place in the layout. Files of one sheet follow each other, so
// that one sheet at a time is in memory, and not beside the rows that it was made of: r has none of the
// table and the curve afterwards.
func (r *Result) eachFile(do func(place int, f resultFile) error) error {
	if err := r.check(); err != nil {
		return err
	}
	for _, name := range append(Sheets(), "") {
		var s *sheet.Sheet
		for place, f := range layout {
			if f.sheet != name {
				continue
			}
			if s == nil && name != "" {
				var err error
				if s, err = r.Sheet(name); err != nil {
					return err
				}
				r.forget(name)
			}
			write := func(w io.Writer) error { return f.show(r, s, w) }
			if err := do(place, resultFile{f.name, write}); err != nil {
				return err
			}
		}
	}
	return nil
}

// forget gives up the rows of a sheet that has them now.
func (r *Result) forget(name string) {
	switch name {
	case "table":
		r.Table, r.Games = nil, nil
	case "curve":
		r.Curve = nil
	}
}

// check refuses a result with two cells that the files could not tell apart.
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
