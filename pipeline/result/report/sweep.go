package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/shatterlab/shatter/schemas"

	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// A Sweep holds the contents of the result folder of a sweep.
type Sweep struct {
	Folder string // path of the output folder in commands; "": the path that was loaded
	Live   bool   // the page is loaded and refreshed often, so it has to be small

	Dropped []string // algorithms of which no row satisfies the conditions on other columns

	dir          string
	whole        rows
	table        *frame   // one row for each search over another number than n
	sized, curve *frame   // rows about sample sizes (in task online, all rows), and the corresponding rows of the curve
	searches     []search // searches over other numbers than n
	fits, failed *frame   // without rows if the folder lacks the file
	timing       *frame   // messages of workers; without rows if no trial failed
	manifest     schemas.Manifest
	where        []sheet.Condition // conditions that the rows of table and curve satisfy
	source       string            // text of the sweep file
}

// Load reads a result folder. If a table is missing, the error wraps [fs.ErrNotExist].
func Load(dir string) (*Sweep, error) {
	s := &Sweep{dir: dir}
	for _, t := range []struct {
		name   string
		to     **frame
		needed bool
	}{{"table", &s.whole.table, true}, {"curve", &s.whole.curve, true},
		{"fits", &s.fits, false}, {"failures", &s.failed, false}} {
		sheet, err := sheet.ReadTable(dir, t.name)
		if err != nil && (t.needed || !errors.Is(err, fs.ErrNotExist)) {
			return nil, err
		}
		*t.to = newFrame(sheet)
	}
	s.timing = newFrame(nil)
	if s.failed.Len() > 0 {
		if messages, err := sheet.ReadTable(dir, "timing"); err == nil {
			s.timing = newFrame(messages)
		}
	}
	s.split()
	if err := s.readManifest(filepath.Join(dir, "manifest.json")); err != nil {
		return nil, err
	}
	source, err := disk.ReadFile(filepath.Join(dir, "sweep.yaml"), sweep.MaxSource)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	s.source = strings.ToValidUTF8(string(source), "\uFFFD")
	return s, nil
}

// rows holds the rows of the table and of the curve.
type rows struct{ table, curve *frame }

// A search is a search over a number other than n.
type search struct {
	axis  string
	found *frame // one row for each search, as in the table for people
	curve *frame // one row for each value and n
}

// split separates the rows about sample sizes from the rows about other numbers.
func (s *Sweep) split() {
	all := s.whole
	s.table, s.sized, s.curve, s.searches = all.table, all.table, all.curve, nil
	axes := all.table.distinctOf(all.table.all(), "search")
	if len(axes) == 0 {
		return
	}
	s.table = newFrame(all.table.FoldSearches())
	if !s.online() { // a regret belongs to one number of rounds, searched or not
		s.sized = all.table.with("search", "")
		s.curve = all.curve.of(s.sized.cells())
	}
	for _, axis := range axes {
		s.searches = append(s.searches, search{
			axis:  axis,
			found: s.table.with("search", axis),
			curve: all.curve.of(all.table.with("search", axis).cells()),
		})
	}
}

// maxManifest is the maximum size in bytes of a manifest that is read.
const maxManifest = 256 << 20

func (s *Sweep) readManifest(path string) error {
	raw, err := disk.ReadFile(path, maxManifest)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(raw, &s.manifest); err != nil {
			return fmt.Errorf("read %q: %w", path, err)
		}
	}
	if s.manifest.Name == "" {
		s.manifest.Name = filepath.Base(s.dir)
	}
	return nil
}

// online reports whether the table is one of online games.
func (s *Sweep) online() bool { return s.table.Index("regret_mean") >= 0 }

// A frame is a sheet with access to columns by name. A missing column reads as empty.
type frame struct{ *sheet.Sheet }

func newFrame(s *sheet.Sheet) *frame {
	if s == nil {
		s = &sheet.Sheet{}
	}
	return &frame{s}
}

// text returns a value in the format of package function text; "": none.
func (f *frame) text(row int, column string) string { return text(f.Value(row, column)) }

// with returns the frame with the rows whose value in a column has this text.
func (f *frame) with(column, text string) *frame {
	return newFrame(f.Filter(func(row int) bool { return f.text(row, column) == text }))
}

// keys returns the columns that describe a cell, except its id. They include the rounds of a game
// and the sample size of a row of the curve.
func (f *frame) keys() (names []string) {
	for _, c := range f.Columns {
		key := trial.IdentifiesCell(c.Name) && c.Name != "cell" && c.Name != "sample"
		if key || c.Name == "rounds" || c.Name == curveColumn {
			names = append(names, c.Name)
		}
	}
	return names
}

// text formats a value for reading: all digits of an integer, six digits of another number, and the
// printable characters of a text. Figures with other characters would not be valid XML.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', 6, 64)
	}
	return strings.Join(strings.Fields(wording.Printable(fmt.Sprint(v), "")), " ")
}
