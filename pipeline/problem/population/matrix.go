package population

import (
	"errors"

	"github.com/shatterlab/shatter/pipeline/problem/blame"
	"github.com/shatterlab/shatter/schemas"
)

// maxMatrix bounds the labels of a class matrix: it travels inside messages of at most 1 MiB.
const maxMatrix = 1 << 19

// ReadMatrix reads the file of a class matrix, and fills in digest and format. It returns the
// labels as text, one '0' or '1' for each hypothesis and point, row after row, no two of which are
// equal, and the number of points; domain is the number stated, 0 for any. The error is a
// *blame.Error.
func ReadMatrix(m *schemas.Matrix, domain uint64) (labels string, points int, err error) {
	file := schemas.Data{File: m.File, Digest: m.Digest, Format: m.Format}
	if err := resolveFormat(&file); err != nil {
		return "", 0, blameFile(err)
	}
	if file.Delimiter != "" || file.Format == libsvmFormat {
		return "", 0, refuse("file", "%s: a class matrix is a .csv, .parquet or .arrow file", m.File)
	}
	t := &table{spec: &file, side: 2, matrix: true}
	err = t.readFile()
	if err == nil {
		err = t.settle()
	}
	if err != nil {
		return "", 0, blameFile(err)
	}
	m.Digest, m.Format = file.Digest, file.Format
	points = len(file.Features)
	switch {
	case t.rows == 0:
		return "", 0, refuse("file", "%s has no rows", m.File)
	case domain != 0 && domain != uint64(points):
		return "", 0, refuse("domain", "%d, but the class matrix has %d points; leave it out", domain, points)
	}
	labels, err = t.matrixLabels(points)
	return labels, points, err
}

// matrixLabels returns the cells as text. No two rows are equal.
func (t *table) matrixLabels(points int) (string, error) {
	labels := make([]byte, t.rows*points)
	for j, c := range t.features {
		for i, v := range c.numbers {
			labels[i*points+j] = '0' + byte(v)
		}
	}
	first := map[string]int{}
	for i := range t.rows {
		row := string(labels[i*points : (i+1)*points])
		if j, twice := first[row]; twice {
			return "", refuse("file", "%s: hypotheses %d and %d, counted from 1, are the same function; remove one",
				t.spec.File, j+1, i+1)
		}
		first[row] = i
	}
	return string(labels), nil
}

// blameFile blames problem.file for what is wrong with a table that was read as data.
func blameFile(err error) error {
	var e *blame.Error
	if errors.As(err, &e) {
		return &blame.Error{Key: "problem.file", Reason: e.Reason}
	}
	return err
}
