package problem

import (
	"errors"

	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/shatterlab/shatter/schemas"
)

// maxMatrix bounds the labels of a class matrix: it travels inside messages of at most 1 MiB.
const maxMatrix = 1 << 19

// resolveMatrix reads the file of a class matrix and fills in digest, format and domain.
func resolveMatrix(p *schemas.Problem) (read, error) {
	if p.Matrix == nil || p.Matrix.File == "" {
		return read{}, refuse("file", "missing; state the file of the class matrix: a row per hypothesis, a column per point, each cell 0 or 1")
	}
	m := *p.Matrix
	p.Matrix = &m
	file := schemas.Data{File: m.File, Digest: m.Digest, Format: m.Format}
	if err := resolveFormat(&file); err != nil {
		return read{}, atFile(err)
	}
	t := &table{spec: &file, side: 2, matrix: true, memory: memory.NewGoAllocator()}
	if err := readFile(&file, t); err != nil {
		return read{}, atFile(err)
	}
	m.Digest, m.Format = file.Digest, file.Format
	rows, points := t.rows, len(file.Features)
	switch {
	case rows == 0:
		return read{}, refuse("file", "%s has no rows", m.File)
	case rows*points > maxMatrix:
		return read{}, refuse("file", "%s: %d hypotheses on %d points are more than %d labels; use a smaller class", m.File, rows, points, maxMatrix)
	case p.Domain != 0 && p.Domain != uint64(points):
		return read{}, refuse("domain", "%d, but the class matrix has %d points; leave it out", p.Domain, points)
	}
	p.Domain = uint64(points)
	labels, err := t.labelsOf(points)
	if err != nil {
		return read{}, err
	}
	return read{matrix: labels}, resolveTest(p, points <= maxSupport)
}

// labelsOf is the table as text, one '0' or '1' for each cell, row by row. No two rows are equal.
func (t *table) labelsOf(points int) (string, error) {
	labels := make([]byte, len(t.numbers))
	for i, v := range t.numbers {
		labels[i] = '0' + byte(v)
	}
	first := map[string]int{}
	for i := range t.rows {
		row := string(labels[i*points : (i+1)*points])
		if j, twice := first[row]; twice {
			return "", refuse("file", "%s: hypotheses %d and %d, counted from 1, are the same function; remove one", t.spec.File, j+1, i+1)
		}
		first[row] = i
	}
	return string(labels), nil
}

// atFile blames problem.file for what is wrong with a table that was read as data.
func atFile(err error) error {
	var e *Error
	if errors.As(err, &e) {
		return &Error{"problem.file", e.Reason}
	}
	return err
}
