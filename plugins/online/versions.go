package online

import (
	"math/bits"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
)

// versions is an immutable version space: the functions of a class that agree with the truths so
// far.
type versions interface {
	// size returns the number of functions; endless reports whether it means infinity.
	size() uint64
	// split divides the functions by their label at the point x.
	split(x []float64) (minus, plus versions)
	// ldim returns the Littlestone dimension, -1 if there are no functions.
	ldim() (int, error)
}

// all returns the version space before the first round.
func (b *board) all() (versions, error) {
	if b.intervals() {
		return span{b, 0, b.size}, nil
	}
	root, err := b.root()
	return listed{b, root}, err
}

// A span holds the thresholds lo..end-1, on an infinite order by their ranks. On an infinite order
// that is not dense, end is the largest uint64, which represents infinitely many thresholds, until
// a point is labeled +1.
type span struct {
	board   *board
	lo, end uint64
}

func (s span) size() uint64 { return s.end - s.lo }

// endless reports whether size represents infinitely many functions.
func endless(size uint64) bool { return size >= 1<<63 }

// split implements versions: the threshold t labels x +1 if x >= t.
func (s span) split(x []float64) (minus, plus versions) {
	cut := min(max(s.board.domain.Rank(x[0])+1, s.lo), s.end)
	return span{s.board, cut, s.end}, span{s.board, s.lo, cut}
}

// ldim implements versions. Bisection shows that n thresholds force floor(log2 n) mistakes, and
// halving shows that they force no more.
func (s span) ldim() (int, error) {
	if endless(s.size()) {
		return concept.Unbounded, nil
	}
	return bits.Len64(s.size()) - 1, nil
}

// listed holds functions of any class whose label table fits into memory.
type listed struct {
	board *board
	concept.VersionSpace
}

func (l listed) size() uint64 { return uint64(l.Size()) }

func (l listed) split(x []float64) (minus, plus versions) {
	v := l.board.domain.Number(x)
	return listed{l.board, l.Restrict(v, -1)}, listed{l.board, l.Restrict(v, 1)}
}

func (l listed) ldim() (int, error) {
	l.board.search.Lock()
	defer l.board.search.Unlock()
	d := l.Ldim()
	if !d.Exact() {
		return 0, algo.Invalid("online: the Littlestone dimension of %d functions of class %q is %v "+
			"as far as it was searched: use a smaller class, online/halving or online/hedge",
			l.Size(), l.board.spec.Name, d)
	}
	return d.Low, nil
}
