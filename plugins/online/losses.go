package online

import "slices"

// losses counts the mistakes of each function of a class in a game.
type losses interface {
	// add counts the mistakes in a round with the point x and the truth y.
	add(x []float64, y float64)
	// least and most return the fewest and the most mistakes of a function.
	least() int
	most() int
	// mean returns the mean of the labels of x, where a function with k mistakes more than the
	// minimum has the weight weight[k].
	mean(x []float64, weight []float64) float64
	// leader returns the label of x by the first function with the fewest mistakes.
	leader(x []float64) float64
}

// losses returns the losses before the first round.
func (b *board) losses() losses {
	switch {
	case !b.intervals():
		return &totals{board: b, total: make([]int32, b.size)}
	case b.infinite():
		return &steps{board: b, end: b.definition.Last + 1, from: []uint64{b.definition.First}, total: []int{0}}
	}
	return &steps{board: b, end: b.size, from: []uint64{0}, total: []int{0}}
}

// totals counts the mistakes of each function of any class. A round reads 4 bytes and one bit per
// function, and writes the 4 bytes.
type totals struct {
	board     *board
	total     []int32 // mistakes of each function
	low, high int32   // the fewest and the most mistakes of a function
}

func (l *totals) least() int { return int(l.low) }
func (l *totals) most() int  { return int(l.high) }

func (l *totals) add(x []float64, y float64) {
	flip := uint64(0) // turns a column into the set of functions that err
	if y > 0 {
		flip--
	}
	low, high := l.total[0]+1, int32(0)
	for w, c := range l.board.column(x) {
		c ^= flip
		part := l.total[64*w : min(64*w+64, len(l.total))]
		for i := range part {
			part[i] += int32(c & 1)
			low, high = min(low, part[i]), max(high, part[i])
			c >>= 1
		}
	}
	l.low, l.high = low, high
}

func (l *totals) mean(x []float64, weight []float64) float64 {
	var sums [2]float64 // sums by label
	for w, c := range l.board.column(x) {
		for _, k := range l.total[64*w : min(64*w+64, len(l.total))] {
			sums[c&1] += weight[k-l.low]
			c >>= 1
		}
	}
	return (sums[1] - sums[0]) / (sums[0] + sums[1])
}

func (l *totals) leader(x []float64) float64 {
	i := slices.Index(l.total, l.low)
	if l.board.column(x)[i/64]>>(i%64)&1 == 1 {
		return 1
	}
	return -1
}

// steps counts the mistakes of the thresholds up to end-1. It stores runs of thresholds with the
// same number of mistakes; there is one run more than there were different points. Thresholds on an
// infinite order are represented by their ranks; see concept.Definition.
type steps struct {
	board     *board
	end       uint64
	from      []uint64 // the first threshold of each run, ascending
	total     []int    // mistakes of each threshold of a run
	low, high int      // the fewest and the most mistakes of a threshold
}

func (l *steps) least() int { return l.low }
func (l *steps) most() int  { return l.high }

// cut returns the first threshold that labels x -1. The thresholds below it label x +1.
func (l *steps) cut(x []float64) uint64 {
	return min(l.board.domain.Rank(x[0])+1, l.end)
}

// to returns the end of a run: the threshold after its last one.
func (l *steps) to(run int) uint64 {
	if run+1 < len(l.from) {
		return l.from[run+1]
	}
	return l.end
}

func (l *steps) add(x []float64, y float64) {
	cut := l.cut(x)
	run, found := slices.BinarySearch(l.from, cut)
	if !found && cut < l.end {
		l.from = slices.Insert(l.from, run, cut)
		l.total = slices.Insert(l.total, run, l.total[run-1])
	}
	wrong := l.total[:run]
	if y > 0 {
		wrong = l.total[run:]
	}
	for i := range wrong {
		wrong[i]++
	}
	l.low, l.high = slices.Min(l.total), slices.Max(l.total)
}

func (l *steps) mean(x []float64, weight []float64) float64 {
	cut := l.cut(x)
	minus, plus := 0.0, 0.0
	for i, from := range l.from {
		to := l.to(i)
		mid, w := min(max(cut, from), to), weight[l.total[i]-l.low]
		plus += float64(w * float64(mid-from))
		minus += float64(w * float64(to-mid))
	}
	return (plus - minus) / (minus + plus)
}

// leader implements losses. The thresholds between two points of a dense order have no smallest
// element, but their largest one is the upper point, so that one leads.
func (l *steps) leader(x []float64) float64 {
	best := slices.Index(l.total, l.low)
	t := l.from[best]
	if l.board.definition.Dense {
		t = l.to(best) - 1
	}
	if t < l.cut(x) {
		return 1
	}
	return -1
}
