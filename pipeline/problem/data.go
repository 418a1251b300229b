package problem

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

// The formats of data files.
const (
	csvFormat     = "csv"
	parquetFormat = "parquet"
	arrowFormat   = "arrow"
)

// maxValues bounds the numbers of a population: 8 GiB.
const maxValues = 1 << 30

// population is the rows of a data file, scaled.
type population struct {
	x, y   []float64
	pulled int // rows that lay beyond the scale
}

// resolveData validates the keys of data, reads its file and fills in digest, format, features and d.
func resolveData(p *schemas.Problem) (*population, error) {
	data := *p.Data
	p.Data = &data
	if p.Test != 0 {
		return nil, refuse("test", "%d: the error is computed exactly here, over all rows; leave it out", p.Test)
	}
	if err := checkSides(p); err != nil {
		return nil, err
	}
	if err := checkData(&data, p.Class); err != nil {
		return nil, err
	}
	t := &table{spec: &data, side: side(p), single: shapeOf(p.Class) == scalar, memory: memory.NewGoAllocator()}
	if err := readFile(&data, t); err != nil {
		return nil, err
	}
	rows, dim, err := t.finish()
	if err != nil {
		return nil, err
	}
	if shapeOf(p.Class) == scalar {
		return rows, nil
	}
	if p.Dim != 0 && p.Dim != dim {
		return nil, refuse("d", "%d, but the data has %d numbers per row; leave it out", p.Dim, dim)
	}
	p.Dim = dim
	return rows, nil
}

// checkData validates what can be without the file.
func checkData(d *schemas.Data, class string) error {
	switch {
	case d.File == "":
		return refuse("data.file", "missing; state the path of a .csv, .parquet or .arrow file")
	case d.Label == "":
		return refuse("data.label", "missing; state the column of the labels")
	case d.Positive == "":
		return refuse("data.positive", "missing; state the value in column %q that means +1", d.Label)
	}
	used := map[string]string{d.Label: "data.label"}
	for _, list := range []struct {
		key   string
		names []string
	}{{"data.features", d.Features}, {"data.categorical", d.Categorical}} {
		for _, name := range list.names {
			if key := used[name]; key != "" {
				return refuse(list.key, "column %q is already in problem.%s; name it once", name, key)
			}
			used[name] = list.key
		}
	}
	if shapeOf(class) == scalar && len(d.Categorical) > 0 {
		return refuse("data.categorical", "does not apply to %s, which take one column of integers; leave it out", class)
	}
	if err := resolveFormat(d); err != nil {
		return err
	}
	return checkScale(&d.Scale, class)
}

func resolveFormat(d *schemas.Data) error {
	switch d.Format {
	case csvFormat, parquetFormat, arrowFormat:
		return nil
	case "":
	default:
		return refuseName("data.format", d.Format, []string{csvFormat, parquetFormat, arrowFormat})
	}
	switch ext := strings.ToLower(filepath.Ext(d.File)); ext {
	case ".csv":
		d.Format = csvFormat
	case ".parquet":
		d.Format = parquetFormat
	case ".arrow", ".feather", ".ipc":
		d.Format = arrowFormat
	default:
		return refuse("data.file", "%s: unknown extension %q; use .csv, .parquet or .arrow", d.File, ext)
	}
	return nil
}

func checkScale(s *schemas.Scale, class string) error {
	switch given, whole := s.Norm != 0 || len(s.Ranges) > 0, shapeOf(class) != vector; {
	case whole && given:
		return refuse("data.scale", "does not apply to %s, whose values stay as they are; leave it out", class)
	case whole:
		return nil
	case !given:
		return refuse("data.scale", "missing; state a public bound, norm: B on the length of a row or ranges: {column: [low, high], ...}")
	case s.Norm != 0 && len(s.Ranges) > 0:
		return refuse("data.scale", "norm and ranges are both given; choose one")
	case s.Norm != 0 && !(s.Norm > 0 && !math.IsInf(s.Norm, 1)):
		return refuse("data.scale.norm", "%v is not a positive number", s.Norm)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Ranges)) {
		low, high := s.Ranges[name][0], s.Ranges[name][1]
		if width := high - low; !(width > 0 && !math.IsInf(width, 1)) {
			return refuse("data.scale.ranges", "%q: [%v, %v] is not a range; state a finite low below a finite high", name, low, high)
		}
	}
	return nil
}

// readFile hashes a file, compares the digest, and only then decodes it into t.
func readFile(d *schemas.Data, t *table) error {
	f, err := os.Open(d.File)
	if err != nil {
		return refuse("data.file", "%v", err)
	}
	defer f.Close()
	hash := sha256.New()
	size, err := io.Copy(hash, f)
	if err != nil {
		return refuse("data.file", "%v", err)
	}
	if size == 0 {
		return refuse("data.file", "%s is empty", d.File)
	}
	digest := hex.EncodeToString(hash.Sum(nil))
	if d.Digest != "" && d.Digest != digest {
		return refuse("data.file", "%s has changed: its digest is %s, not %s", d.File, digest, d.Digest)
	}
	d.Digest = digest
	return t.read(io.NewSectionReader(f, 0, size))
}

// read decodes a file. It is the only place where the decoders' panics on damaged bytes are caught.
func (t *table) read(f *io.SectionReader) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = t.damaged(r)
		}
	}()
	switch t.spec.Format {
	case csvFormat:
		return t.readCSV(bufio.NewReaderSize(f, 64<<10))
	case parquetFormat:
		return t.readParquet(f)
	}
	return t.readArrow(f)
}

// Best is the reference error of "goal.above: best": 0 for a law, whose target lies in the class; for data the least error of
// the class on the population. Where no exact method exists the error names the remedy, "goal.above: 0".
func (p *Problem) Best() (float64, error) {
	if p.data == nil {
		return 0, nil
	}
	class, err := concept.New(concept.Spec{Name: p.spec.Class, Domain: p.domain, Dim: p.dim}) // no constant is left out over data
	if err != nil {
		return 0, fmt.Errorf("compute the least error on %s: %w", p.spec.Data.File, err)
	}
	best, err := class.Best(p.data.x, p.data.y, nil)
	if errors.Is(err, concept.ErrNoExactMethod) {
		return 0, &Error{"goal.above", fmt.Sprintf("best: the least error of a %s on data has no exact method; "+
			`set "goal.above: 0", which makes alpha an absolute error`, p.spec.Class)}
	}
	if err != nil {
		return 0, fmt.Errorf("compute the least error on %s: %w", p.spec.Data.File, err)
	}
	return best, nil
}
