// Package population reads real data: the rows of a CSV, LIBSVM, Parquet or Arrow file, which take
// the place of a distribution of points, and the files of class matrices.
//
// The rows are the population: samples are drawn from it with replacement, and errors are computed
// over all of it. A row holds the features, then for each categorical column one number per value
// of the file, sorted: 1 for the row's own value, otherwise 0. For halfspaces, rows are brought
// into the unit ball by a stated, public bound, never by their own maximum, which would leak:
// either divided by a bound on the norm, longer rows by their norm; or each feature is mapped from
// its range to [-1, 1], a value outside to the nearer end, and the row divided by sqrt(k), k being
// the columns of the file in use. A class on one whole number takes one column of integers as it
// is, and the other classes on whole numbers take all columns as they are. Labels and categories
// are compared as text; numbers have their shortest one.
//
// A file is hashed, and its digest compared, before anything in it is decoded. encoding/csv and
// Apache Arrow decode it. Damaged bytes end in an error: the decoders' panics are caught, and the
// numbers of rows and bytes that the libraries report are checked before memory is allocated by
// them. The Parquet library trusts the lengths in a footer and in the headers of pages: a forged
// file can make it allocate gigabytes before anything here can check them, which may end the
// process.
//
// The type of a column comes from the whole column. A Report lists what was read, and what was left
// out and why.
//
// Start reading at Read, then table.go, which every format fills.
package population

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/dataset"
	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/problem/blame"
	"github.com/shatterlab/shatter/schemas"
)

const (
	maxValues = 1 << 30  // numbers of a population: 8 GiB
	maxDim    = 1 << 20  // numbers of a row, and values of a categorical column
	maxFile   = 64 << 30 // bytes of a file
)

// Rows is a population. It is immutable, but for Close: any number of goroutines may share it.
type Rows struct {
	X   []float64 // scaled, row-major, in the order of the table
	Y   []float64 // labels, -1 or +1, in the order of the file
	Dim int       // numbers of a row

	// At is the place of each row of the file in the table; nil: that of the file.
	At []int32

	// Pulled is the number of rows that lay beyond the stated scale, by their norm or by any one
	// value, and were pulled back to it.
	Pulled int

	// Missing is the share of the rows of the file that were left out, or of the cells of features
	// that were filled.
	Missing float64
	Report  *Report // nil after Seal

	table *dataset.Table // memory of X after Seal; nil before
}

// Row returns the numbers of a row of the file.
func (r *Rows) Row(i int) []float64 {
	if r.At != nil {
		i = int(r.At[i])
	}
	return r.X[i*r.Dim : (i+1)*r.Dim : (i+1)*r.Dim]
}

// Read checks what d states, reads its file, and fills in digest, format and features. class is the
// class of the problem; its Dim does not matter. The error joins errors of package blame.
func Read(d *schemas.Data, class concept.Spec) (*Rows, error) {
	err := checkData(d, class)
	if !slices.Contains(formats, d.Format) {
		return nil, err
	}
	t := &table{spec: d, side: concept.Side(class), single: concept.ShapeOf(class.Name) == concept.Scalar}
	if err := errors.Join(err, t.readFile()); err != nil {
		return nil, err
	}
	return t.finish()
}

// refuse blames one key below "problem".
func refuse(key, format string, a ...any) error { return blame.Key("problem."+key, format, a...) }

// because adds a hint to errors of refuse.
func because(err error, format string, a ...any) error {
	var hinted []error
	for _, e := range blame.All(err) {
		hinted = append(hinted, &blame.Error{Key: e.Key, Reason: e.Reason + "; " + fmt.Sprintf(format, a...)})
	}
	return errors.Join(hinted...)
}

// checkData checks what can be checked without the file.
func checkData(d *schemas.Data, class concept.Spec) error {
	if d.File == "" {
		return refuse("data.file", "missing; state the path of a .csv, .parquet, .arrow or .libsvm file")
	}
	var errs []error
	fail := func(key, format string, a ...any) { errs = append(errs, refuse(key, format, a...)) }
	if d.Label == "" {
		fail("data.label", "missing; state the column of the labels")
	}
	if d.Positive == "" {
		fail("data.positive", "missing; state the value of the label that means +1")
	}
	used := map[string]string{d.Label: "data.label"}
	use := func(key string, names []string) {
		for _, name := range names {
			if other := used[name]; other != "" {
				fail(key, "column %q is already in problem.%s; name it once", name, other)
			}
			used[name] = key
		}
	}
	use("data.features", d.Features)
	use("data.categorical", d.Categorical)
	shape := concept.ShapeOf(class.Name)
	if shape == concept.Scalar && len(d.Categorical) > 0 {
		fail("data.categorical", "does not apply to %s, which take one column of integers; leave it out", class.Name)
	}
	err := resolveFormat(d)
	if err == nil {
		err = checkOptions(d, shape)
	}
	return errors.Join(append(errs, err, checkScale(&d.Scale, class.Name))...)
}

// checkOptions checks the keys that apply to some formats or classes only, and brings values into
// their shortest form.
func checkOptions(d *schemas.Data, shape concept.Shape) error {
	switch given := d.Delimiter + d.Decimal; {
	case d.Format != csvFormat && given != "":
		return refuse("data", "delimiter and decimal apply to CSV files; leave them out for %s", d.File)
	case d.Format == libsvmFormat && len(d.Categorical) > 0:
		return refuse("data.categorical", "does not apply to LIBSVM files, which hold numbers; leave it out")
	case d.Decimal != "" && d.Decimal != "." && d.Decimal != ",":
		return refuse("data.decimal", "%q is no decimal sign; use \".\" or \",\"", d.Decimal)
	case strings.ContainsAny(d.Delimiter, "\"\r\n\uFFFD") || utf8.RuneCountInString(d.Delimiter) > 1:
		return refuse("data.delimiter", "%q cannot separate cells; use one character, for example \";\" or \"\\t\"",
			d.Delimiter)
	case d.Missing != "" && d.Missing != missingDrop && d.Missing != missingMean:
		return blame.Name("problem.data.missing", d.Missing, []string{missingDrop, missingMean})
	case shape != concept.Ball && d.Missing == missingMean:
		return refuse("data.missing", "mean does not apply to whole numbers; use drop")
	case shape != concept.Ball && d.Bias:
		return refuse("data.bias", "applies to halfspaces only; leave it out")
	}
	if d.Format == libsvmFormat {
		d.Positive = strings.TrimPrefix(d.Positive, "+")
	}
	if d.Delimiter == "," {
		d.Delimiter = ""
	}
	if d.Decimal == "." {
		d.Decimal = ""
	}
	return nil
}

// Formats of data files.
const (
	csvFormat     = "csv"
	parquetFormat = "parquet"
	arrowFormat   = "arrow"
	libsvmFormat  = "libsvm"
)

var formats = []string{csvFormat, parquetFormat, arrowFormat, libsvmFormat}

// formatOf has the format of each extension of file names.
var formatOf = map[string]string{
	".csv": csvFormat, ".tsv": csvFormat, ".tab": csvFormat, ".parquet": parquetFormat, ".arrow": arrowFormat,
	".feather": arrowFormat, ".ipc": arrowFormat, ".libsvm": libsvmFormat, ".svm": libsvmFormat, ".svmlight": libsvmFormat,
}

// resolveFormat checks the format of d, and fills in what the file's extension means.
func resolveFormat(d *schemas.Data) error {
	if slices.Contains(formats, d.Format) {
		return nil
	} else if d.Format != "" {
		return blame.Name("problem.data.format", d.Format, formats)
	}
	name := strings.ToLower(filepath.Base(d.File))
	extension := filepath.Ext(strings.TrimSuffix(name, ".gz"))
	format := formatOf[extension]
	if text := format == csvFormat || format == libsvmFormat; format == "" || !text && strings.HasSuffix(name, ".gz") {
		return refuseExtension(d.File, filepath.Ext(name))
	}
	d.Format = format
	if format == csvFormat && extension != ".csv" && d.Delimiter == "" {
		d.Delimiter = "\t"
	}
	return nil
}

// checkScale checks the bound on the rows of a class.
func checkScale(s *schemas.Scale, class string) error {
	switch given, whole := s.Norm != 0 || len(s.Ranges) > 0, concept.ShapeOf(class) != concept.Ball; {
	case whole && given:
		return refuse("data.scale", "does not apply to %s, whose values stay as they are; leave it out", class)
	case whole:
		return nil
	case !given:
		return refuse("data.scale",
			"missing; state a public bound: scale: B on the length of a row, or scale: {column: "+
				"[low, high], ...} for each numeric column")
	case s.Norm != 0 && len(s.Ranges) > 0:
		return refuse("data.scale", "norm and ranges are both given; choose one")
	case s.Norm != 0 && !(s.Norm > 0 && !math.IsInf(s.Norm, 1)):
		return refuse("data.scale.norm", "%v is not a positive number", s.Norm)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Ranges)) {
		low, high := s.Ranges[name][0], s.Ranges[name][1]
		if width := high - low; !(width > 0 && !math.IsInf(width, 1)) {
			return refuse("data.scale.ranges", "%q: [%v, %v] is not a range; state a finite low below a finite high",
				name, low, high)
		}
	}
	return nil
}

// readFile hashes the file, compares the digest, and only then decodes it.
func (t *table) readFile() error {
	d, most := t.spec, int64(maxFile)
	if t.matrix {
		most = 64 * maxMatrix // a label takes a byte or two
	}
	f, size, err := disk.Open(d.File)
	if err != nil {
		return refuse("data.file", "%v", err)
	}
	defer f.Close()
	switch {
	case size == 0:
		return refuse("data.file", "%s is empty", d.File)
	case size > most:
		return refuse("data.file", "%s has %d bytes, more than %d; use fewer columns or rows", d.File, size, most)
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, io.NewSectionReader(f, 0, size)); err != nil {
		return refuse("data.file", "%v", err)
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
	t.most = 1<<25 + 1000*f.Size()
	switch t.spec.Format {
	case parquetFormat:
		return readParquet(t, f)
	case arrowFormat:
		return readArrow(t, f)
	case libsvmFormat:
		return readLIBSVM(t, f)
	}
	return readCSV(t, f)
}

// unsupported is an error that blames the format of a file.
type unsupported string

func (e unsupported) Error() string { return string(e) }

// damaged returns an error that blames the file as a whole. Libraries call content that they cannot
// read "unimplemented" or "unsupported".
func (t *table) damaged(cause any) error {
	words := fmt.Sprint(cause)
	for _, word := range []string{"unimplemented", "unsupported", "not implemented"} {
		if strings.Contains(words, word) {
			cause = unsupported(words + "; " + howToRewrite[t.spec.Format])
		}
	}
	if reason, ok := cause.(unsupported); ok {
		return refuse("data.file", "%s is not supported: %s", t.spec.File, reason)
	}
	return refuse("data.file", "%s is damaged, or not a file of the format %s: %v", t.spec.File, t.spec.Format, cause)
}
