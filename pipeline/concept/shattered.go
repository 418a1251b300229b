package concept

import "math/bits"

// vcOf returns the Vapnik-Chervonenkis dimension of the given number of distinct functions
// (rows), from their labels by point: bit i%64 of word i/64 of columns[v] is the label of
// function i at point v. The search is exact, unless it reads more than limit words.
func vcOf(columns [][]uint64, rows, limit int) Dimension {
	s := newShatter(columns, rows, limit)
	most := bits.Len(uint(rows)) - 1 // 2^vc patterns require as many functions
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

// shatter searches for a shattered set of size points, depth first: the first k points divide the
// functions into 2^k parts, and the next point must divide every part.
type shatter struct {
	columns [][]uint64
	all     []int      // every column
	parts   [][]uint64 // parts[k]: the 2^k parts at depth k, one bitset after the other
	next    [][]int    // next[k]: scratch, the columns that can follow at depth k
	size    int
	reads   int // number of words read
	limit   int // limit of reads
}

// newShatter omits constant columns, and all but one of equal or complementary columns, because
// no shattered set contains them.
func newShatter(columns [][]uint64, rows, limit int) *shatter {
	s := &shatter{parts: [][]uint64{everything(rows)}, limit: limit}
	for i, v := range different(columns, rows) {
		s.all, s.columns = append(s.all, i), append(s.columns, columns[v])
	}
	return s
}

// exists reports whether a set of that size is shattered; it also returns false if the search
// reaches its limit.
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

// grow reports whether the k chosen points can be completed with some of the candidates. A
// candidate that leaves too small a piece here does so further down too: the next point divides
// that piece in two, and each half would need half of what the piece already lacks.
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

// cuts reports whether a point divides every part at depth k into two that are large enough: each
// must contain all patterns of the remaining points.
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
