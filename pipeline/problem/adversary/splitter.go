package adversary

import "slices"

// splitter stores the rows of the class matrix that agree with the answers, and asks the column
// that splits them most evenly, the first in case of ties; if no column splits them, a random
// column. It ignores an answer that no row agrees with. If it sees marks, every hypothesis must
// from then on agree with the answer to a hard query, and it restarts with the rows that do.
type splitter struct {
	game
	marks  bool
	width  int      // number of columns
	rows   []string // all rows that agree with the hard queries
	alive  []string // those of them that agree with the later answers
	column int      // last query; -1: no column splits alive
	stale  bool     // alive has changed since column was chosen
}

func newSplitter(g game, marks bool) *splitter {
	q := &splitter{game: g, marks: marks, width: int(g.class.Domain), stale: true}
	q.rows = rowsOf(g.class.Matrix, q.width)
	q.alive = slices.Clone(q.rows)
	return q
}

// rowsOf cuts a class matrix into its rows.
func rowsOf(matrix string, width int) (rows []string) {
	for from := 0; from < len(matrix); from += width {
		rows = append(rows, matrix[from:from+width])
	}
	return rows
}

// Next implements Queries.
func (q *splitter) Next(x []float64) float64 {
	if q.stale {
		q.column, q.stale = evenest(q.alive, q.width), false
	}
	x[0] = float64(q.column)
	if q.column < 0 {
		x[0] = float64(q.r.IntN(q.width))
	}
	return q.truth(x)
}

// evenest returns the column that splits rows most evenly, the first in case of ties; -1 if none
// splits them.
func evenest(rows []string, width int) (column int) {
	column, most := -1, 0
	for v := range width {
		ones := 0
		for _, row := range rows {
			ones += int(row[v] - '0')
		}
		if smaller := min(ones, len(rows)-ones); smaller > most {
			column, most = v, smaller
		}
	}
	return column
}

// Observe implements Queries.
func (q *splitter) Observe(label float64, hard bool) {
	if q.column < 0 {
		return
	}
	from := q.alive
	if hard && q.marks {
		from = q.rows
	}
	left := slices.DeleteFunc(slices.Clone(from), func(row string) bool { return (row[q.column] == '1') != (label > 0) })
	if len(left) == 0 {
		return
	}
	q.alive, q.stale = left, true
	if hard && q.marks {
		q.rows = slices.Clone(left)
	}
}
