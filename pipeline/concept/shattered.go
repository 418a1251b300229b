package concept

import "math/bits"

// vcOf returns the Vapnik-Chervonenkis dimension of the given number of distinct functions (rows),
// from their labels by point: bit i%64 of word i/64 of columns[v] is that of function i at point v.
// The search is exact, unless it reads more than limit words.
func vcOf(columns [][]uint64, rows, limit int) Dimension {
	s := newShatter(columns, rows, limit)
	most := bits.Len(uint(rows)) - 1 // 2^vc patterns need as many functions
	for d := range most {
		if s.exists(d + 1) {
			continue
		}
		if s.reads > s.limit {
			return Dimension{d, most}
		}
		return exactly(d)
	}
	return exactly(most)
}

// shatter searches for a shattered set of size points, depth first: the k points taken so far cut
// the functions into 2^k parts, and the next point has to cut every part.
type shatter struct {
	columns [][]uint64
	all     []int      // every column
	parts   [][]uint64 // parts[k]: the 2^k parts at depth k, one bitset after the other
	next    [][]int    // next[k]: scratch, the columns that can follow at depth k
	size    int
	reads   int // words read
	limit   int // to how many that may grow
}

// newShatter leaves out constant columns, and all but one of those that are equal or complementary:
// no shattered set has them.
func newShatter(columns [][]uint64, rows, limit int) *shatter {
	s := &shatter{parts: [][]uint64{everything(rows)}, limit: limit}
	for i, v := range different(columns, rows) {
		s.all, s.columns = append(s.all, i), append(s.columns, columns[v])
	}
	return s
}

// exists reports whether some set of that size is shattered; it reports false as well where the
// search ends at its limit.
func (s *shatter) exists(size int) bool {
	s.size = size
	for k := len(s.parts); k < size; k++ {
		s.parts = append(s.parts, make([]uint64, len(s.parts[0])<<k))
	}
	for len(s.next) < size {
		s.next = append(s.next, make([]int, 0, len(s.all)))
	}
	return s.grow(0, s.all)
}

// grow reports whether the k points taken can be completed with some of the candidates. A candidate
// that leaves too small a piece here does so further down as well: the next point cuts that piece
// in two, and each of them would need half of what the piece lacks already.
func (s *shatter) grow(k int, candidates []int) bool {
	next := s.next[k][:0]
	for _, c := range candidates {
		if s.cuts(k, s.columns[c]) {
			next = append(next, c)
			if k+1 == s.size {
				return true
			}
		}
	}
	for i := 0; k+len(next)-i >= s.size && s.reads <= s.limit; i++ {
		s.cut(k, s.columns[next[i]])
		if s.grow(k+1, next[i+1:]) {
			return true
		}
	}
	return false
}

// cuts reports whether a point cuts every part at depth k into two that are large enough: each has
// to hold all patterns of the points to come.
func (s *shatter) cuts(k int, column []uint64) bool {
	need, words := 1<<(s.size-k-1), len(column)
	for part := s.parts[k]; len(part) > 0; part = part[words:] {
		s.reads += words
		in, out := 0, 0
		for w, c := range column {
			in, out = in+bits.OnesCount64(part[w]&c), out+bits.OnesCount64(part[w]&^c)
		}
		if in < need || out < need {
			return false
		}
	}
	return true
}

// cut fills the parts at depth k+1.
func (s *shatter) cut(k int, column []uint64) {
	words, to := len(column), s.parts[k+1]
	for part := s.parts[k]; len(part) > 0; part = part[words:] {
		divide(part[:words], column, to[words:2*words], to[:words])
		to = to[2*words:]
	}
}
