package concept

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
)

const (
	maxSplits = 1 << 29 // limit of the words that a search for a Littlestone dimension reads: about a second
	maxMemo   = 1 << 27 // limit of the bytes of one memo
)

// VersionSpace is the set of the functions of a finite class that agree with the labels seen so
// far in a game of online learning. It is immutable: Restrict returns the next one.
//
// All version spaces that derive from one call of Versions share one memo of results, so that the
// next game costs little. They serve one goroutine for many games; another goroutine calls
// Versions of the same LabelTable. An exact dimension does not depend on previous calls, but
// whether a search reaches its limit may. Therefore a learner whose results must be reproducible
// stops if a dimension is not exact.
type VersionSpace struct {
	search *splitSearch
	set    []uint64
}

// Versions returns the version space of all functions, with a new memo.
func (t *LabelTable) Versions() VersionSpace { return t.versions(maxSplits, maxMemo) }

// versions is Versions with given limits on the words that a search reads and on the bytes of its
// memo.
func (t *LabelTable) versions(limit, memory int) VersionSpace {
	search := &splitSearch{table: t, limit: limit, memory: memory, room: memory, memo: map[string]verdict{}}
	return VersionSpace{search, everything(t.functions)}
}

// Size returns the number of remaining functions.
func (v VersionSpace) Size() int { return sizeOf(v.set) }

// Restrict returns the remaining functions that give a point the label, -1 or +1.
func (v VersionSpace) Restrict(point int, label float64) VersionSpace {
	flip := ^uint64(0)
	if label > 0 {
		flip = 0
	}
	left := make([]uint64, len(v.set))
	for w, c := range v.search.table.columns[point] {
		left[w] = v.set[w] & (c ^ flip)
	}
	return VersionSpace{v.search, left}
}

// Ldim returns the Littlestone dimension: the number of mistakes of an optimal deterministic
// learner against the worst labels that a remaining function agrees with (Littlestone 1988). It
// is -1 if no function remains. The search is exact, but stops after a few seconds, or when its
// memo is full: it can take |H|^O(log |H|) steps.
func (v VersionSpace) Ldim() Dimension { return v.search.dimension(v.set) }

// splitSearch finds Littlestone dimensions. A set of functions has dimension k or more if some
// point splits it into two parts of dimension k-1 or more; hence into parts of at least 2^(k-1)
// functions.
type splitSearch struct {
	table  *LabelTable
	memo   map[string]verdict // keys are the words of the set
	memory int                // limit of the bytes of the memo
	room   int                // remaining bytes
	reads  int                // number of words read
	limit  int                // limit of reads
	levels []level            // scratch, by k
	key    []byte             // scratch
}

// verdict holds the bounds of the dimension of one set.
type verdict struct{ low, high int8 }

// level is the scratch memory of one search for a point.
type level struct {
	splits      []split
	minus, plus []uint64
}

// split holds a point and the size of the smaller of its two parts.
type split struct{ point, small int }

// dimension finds the dimension from below. If that takes too long at some k, it improves the
// upper bound from above, with the same limit of work.
func (s *splitSearch) dimension(set []uint64) Dimension {
	n := sizeOf(set)
	if n < 2 {
		return exactly(n - 1)
	}
	s.begin()
	low, most := 1, bits.Len(uint(n))-1
	for low < most && s.atLeast(set, n, low+1) {
		low++
	}
	if low == most || !s.cut() {
		return exactly(low)
	}
	s.reads = 0
	for high := most; ; high-- {
		switch deep := s.atLeast(set, n, high); {
		case deep:
			return exactly(high)
		case s.cut():
			return Dimension{low, high}
		}
	}
}

// begin starts a search with the memo of the previous searches, or with an empty one if they used
// more than half of the memory.
func (s *splitSearch) begin() {
	s.reads = 0
	if s.room < s.memory/2 {
		clear(s.memo)
		s.room = s.memory
	}
}

// cut reports whether the search has reached one of its limits.
func (s *splitSearch) cut() bool { return s.reads > s.limit || s.room < 0 }

// atLeast reports whether a set of n functions has dimension k or more; it also returns false if
// the search was cut.
func (s *splitSearch) atLeast(set []uint64, n, k int) bool {
	if n>>k == 0 || k <= 1 { // any two functions differ at some point
		return n>>k > 0
	}
	known, found := s.memo[string(s.keyOf(set))]
	switch {
	case !found:
		known.high = int8(bits.Len(uint(n)) - 1)
	case int(known.low) >= k:
		return true
	}
	if int(known.high) < k {
		return false
	}
	if s.splits(set, n, k) {
		known.low = int8(k)
	} else if s.cut() {
		return false
	} else {
		known.high = int8(k - 1)
	}
	if !found {
		s.room -= 8*len(set) + 64 // 64 bytes are the overhead of an entry
	}
	s.memo[string(s.keyOf(set))] = known
	return int(known.low) >= k
}

// splits reports whether a point splits a set of n functions into two parts of dimension k-1 or
// more. It tries even splits first. Points with the same split cost little: the memo contains
// their parts.
func (s *splitSearch) splits(set []uint64, n, k int) bool {
	l := s.level(k)
	s.split(l, set, n, 1<<(k-1))
	for _, c := range l.splits {
		divide(set, s.table.columns[c.point], l.minus, l.plus)
		small, large := l.minus, l.plus
		if sizeOf(small) > c.small {
			small, large = large, small
		}
		if s.atLeast(small, c.small, k-1) && s.atLeast(large, n-c.small, k-1) {
			return true
		}
		if s.cut() {
			break
		}
	}
	return false
}

// split lists the points whose smaller part, of a set of n, has at least least functions.
func (s *splitSearch) split(l *level, set []uint64, n, least int) {
	l.splits = l.splits[:0]
	for _, v := range s.table.telling {
		plus, column := 0, s.table.columns[v][:len(set)] // helps the compiler to remove bounds checks
		for w, left := range set {
			plus += bits.OnesCount64(left & column[w])
		}
		if small := min(plus, n-plus); small >= least {
			l.splits = append(l.splits, split{v, small})
		}
	}
	s.reads += len(s.table.telling) * len(set)
	slices.SortFunc(l.splits, func(a, b split) int { return cmp.Or(b.small-a.small, a.point-b.point) })
}

// level returns the scratch memory for dimension k; the enclosing searches through larger
// dimensions use their own.
func (s *splitSearch) level(k int) *level {
	for len(s.levels) <= k {
		words := (s.table.functions + 63) / 64
		s.levels = append(s.levels, level{minus: make([]uint64, words), plus: make([]uint64, words)})
	}
	return &s.levels[k]
}

// keyOf encodes a set as a key of the memo, in scratch memory.
func (s *splitSearch) keyOf(set []uint64) []byte {
	s.key = s.key[:0]
	for _, w := range set {
		s.key = binary.LittleEndian.AppendUint64(s.key, w)
	}
	return s.key
}
