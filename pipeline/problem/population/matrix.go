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
	err = resolveFormat(&file)
	if err == nil && (file.Delimiter != "" || file.Format == libsvmFormat) {
		err = refuse("file", "%s: a class matrix is a .csv, .parquet or .arrow file", m.File)
	}
	t := &table{spec: &file, side: 2, matrix: true}
	for _, step := range []func() error{t.readFile, t.settle} {
		if err == nil {
			err = step()
		}
	}
	if err != nil {
		return "", 0, blameFile(err)
	}
	m.Digest, m.Format, points = file.Digest, file.Format, len(file.Features)
	switch {
	case t.rows == 0:
		return "", 0, refuse("file", "%s has no rows", m.File)
	case domain != 0 && domain != uint64(points):
		return "", 0, refuse("domain", "%d, but the class matrix has %d points; leave it out", domain, points)
	}
	all, first := make([]byte, 0, t.rows*points), map[string]int{}
	for i := range t.rows {
		for _, c := range t.features {
			all = append(all, '0'+byte(c.numbers[i]))
		}
		row := string(all[i*points:])
		if j, twice := first[row]; twice {
			return "", 0, refuse("file", "%s: hypotheses %d and %d, counted from 1, are the same function; remove one",
				m.File, j+1, i+1)
		}
		first[row] = i
	}
	return string(all), points, nil
}

// blameFile blames problem.file for what is wrong with a table that was read as data.
func blameFile(err error) error {
	var e *blame.Error
	if errors.As(err, &e) {
		return &blame.Error{Key: "problem.file", Reason: e.Reason}
	}
	return err
}
