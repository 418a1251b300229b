package concept

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"sync"
)

// Matrix names the classes whose hypotheses are listed in a matrix, row by row.
const Matrix = "matrix"

var matrixDefinition = Definition{
	Name:          Matrix,
	Doc:           "the rows of a matrix of labels read from a file; the points are its columns",
	Shape:         Column,
	New:           newMatrix,
	VC:            func(c Class, _ Spec) Dimension { return Dimension{min(1, logSize(c)), logSize(c)} },
	NoLittlestone: "any class can be written as a matrix: its structure is found by searching",
	Standard:      func(c Finite, s Spec) (*Separator, error) { return computed(c, tellingColumns(s)) },
	Covers:        true,
	WholeDomain: func(c Finite, s Spec) (*Separator, error) {
		z, err := allPoints(1, s.Domain, maxPoints)
		if err != nil {
			return nil, err
		}
		return computed(c, z)
	},
	Targets:  matrixTargets,
	Examples: []Spec{{Name: Matrix, Domain: 5, Matrix: "00000" + "10110" + "01101" + "11011"}},
}

var matrixTargets = Targets{
	Random:    func(s Spec, _ int) Target { return &rowTarget{spec: s, random: true} },
	RandomDoc: "it is a uniform row of the matrix",
	Weight:    func(s Spec, _ int, _ uint64) float64 { return 1 / float64(rowsIn(s)) },
	Parse: func(s Spec, text string) (Hypothesis, error) {
		i, err := parseWhole("the number of a row", text, 1, rowsIn(s))
		if err != nil {
			return nil, err
		}
		return rowAt(s, i-1), nil
	},
	Write: func(s Spec, h Hypothesis) string {
		for i := range rowsIn(s) {
			if rowAt(s, i) == h.(Row) {
				return strconv.FormatUint(i+1, 10)
			}
		}
		panic("concept: a row that is not in the matrix")
	},
	Notation: "the number of a row, from 1 on, such as 3",
}

// rowsIn returns the number of rows of the matrix.
func rowsIn(s Spec) uint64 { return uint64(len(s.Matrix)) / s.Domain }

// rowAt returns row number i, from 0.
func rowAt(s Spec, i uint64) Row { return Row(s.Matrix[i*s.Domain : (i+1)*s.Domain]) }

// maxMatrix is the largest number of labels in a matrix.
const maxMatrix = 1 << 19

// maxReads limits the search for the Vapnik-Chervonenkis dimension of a matrix to about half a
// second.
const maxReads = 1 << 28

// Row labels point v of 0..len-1 +1 if character v is '1', and -1 if it is '0'.
type Row string

// Labels implements Hypothesis.
func (h Row) Labels(x, out []float64) {
	for i := range out {
		out[i] = h.label(x[i])
	}
}

// label returns the label of point v.
func (h Row) label(v float64) float64 { return float64(2*int(h[int(v)]-'0') - 1) }

// matrix is a class given by the labels of its hypotheses.
type matrix struct {
	text   string // row after row
	points int
	packed []byte // packed[g*rows+i] holds the labels of row i at the points 8g..8g+7; bit b is the label of 8g+b
}

func newMatrix(s Spec) (Class, error) {
	if err := checkSingle(s, "its points are column numbers"); err != nil {
		return nil, err
	}
	rows, err := checkMatrix(s.Matrix, s.Domain)
	if err != nil {
		return nil, err
	}
	m := &matrix{text: s.Matrix, points: int(s.Domain)}
	m.pack(rows)
	return &enumerated{
		facts:  facts{name: s.Name, dim: 1, size: big.NewInt(int64(rows))},
		domain: fmt.Sprintf("the integers 0 to %d", m.points-1),
		kind:   m, points: m.points, hypotheses: rows,
		search: sync.OnceValues(func() (low, high int) {
			vc := vcOf(m.columns(rows), rows, maxReads)
			return vc.Low, vc.High
		}),
	}, nil
}

// checkMatrix checks a matrix with that many points, and returns the number of its rows.
func checkMatrix(text string, points uint64) (rows int, err error) {
	n := uint64(len(text))
	switch {
	case points < 1:
		return 0, fmt.Errorf(`domain 0 of class "matrix": use the number of points, 1 or more`)
	case n > maxMatrix:
		return 0, fmt.Errorf("matrix of %d labels: use at most %d", n, maxMatrix)
	case n == 0:
		return 0, fmt.Errorf("matrix without rows: use %d characters '0' or '1' for each hypothesis", points)
	case n%points != 0:
		return 0, fmt.Errorf("row %d of the matrix (the first is 0) has %d characters: use one for each of the %d points",
			n/points, n%points, points)
	}
	width, numbers := int(points), map[string]int{}
	for i := range len(text) / width {
		row := text[i*width : (i+1)*width]
		for v, label := range []byte(row) {
			if label != '0' && label != '1' {
				return 0, fmt.Errorf("row %d of the matrix (the first is 0) has %q at point %d: use '0' or '1'", i, label, v)
			}
		}
		if first, ok := numbers[row]; ok {
			return 0, fmt.Errorf("rows %d and %d of the matrix (the first is 0) are equal: leave one of them out", first, i)
		}
		numbers[row] = i
	}
	return len(numbers), nil
}

// columns returns the labels by point: bit i%64 of word i/64 is the label of row i.
func (m *matrix) columns(rows int) [][]uint64 {
	all := make([][]uint64, m.points)
	for v := range all {
		all[v] = make([]uint64, (rows+63)/64)
		for i := range rows {
			if m.text[i*m.points+v] == '1' {
				all[v][i/64] |= 1 << (i % 64)
			}
		}
	}
	return all
}

// pack fills packed from text.
func (m *matrix) pack(rows int) {
	m.packed = make([]byte, (m.points+7)/8*rows)
	for i := range rows {
		for v := range m.points {
			m.packed[v/8*rows+i] |= (m.text[i*m.points+v] - '0') << (v % 8)
		}
	}
}

func (m *matrix) member(i uint64) Hypothesis {
	return Row(m.text[int(i)*m.points : (int(i)+1)*m.points])
}

func (m *matrix) point(row []float64) (v, stray int) {
	if v = int(row[0]); float64(v) != row[0] || v < 0 || v >= m.points {
		return 0, 0
	}
	return v, -1
}

func (m *matrix) counts(at, sums []int32)    { rowSums(m.packed, at, sums) }
func (m *matrix) weights(at, sums []float64) { rowSums(m.packed, at, sums) }

// rowSums processes eight points at a time: it first computes the sums of their 256 subsets, and
// then adds one of these to each row.
func rowSums[T number](packed []byte, at, sums []T) {
	clear(sums)
	rows := len(sums)
	for g := 0; 8*g < len(at); g++ {
		var subset [256]T
		for b, a := range at[8*g : min(8*g+8, len(at))] {
			for s := range 1 << b {
				subset[1<<b|s] = subset[s] + a
			}
		}
		for i, labels := range packed[g*rows:][:rows] {
			sums[i] += subset[labels]
		}
	}
}

// tellingColumns returns the points of a matrix that separate rows: one point per distinct
// column, without constant columns.
func tellingColumns(s Spec) (z []float64) {
	m := int(s.Domain)
	seen := map[string]bool{}
	for j := range m {
		column := make([]byte, 0, len(s.Matrix)/m)
		for i := j; i < len(s.Matrix); i += m {
			column = append(column, s.Matrix[i])
		}
		constant := strings.Count(string(column), string(column[0])) == len(column)
		if !constant && !seen[string(column)] {
			seen[string(column)] = true
			z = append(z, float64(j))
		}
	}
	return z
}
