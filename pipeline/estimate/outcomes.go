package estimate

import "math/bits"

// Outcome is how one trial ended.
type Outcome uint8

const (
	Miss    Outcome = iota // the trial ran, and its error was too large
	Success                // the trial ran, and its error was small enough
	Failed                 // the algorithm failed; it counts as no success
)

// outcomes keeps the outcomes of one sample size that have not been read yet, three bits a repetition.
type outcomes struct {
	base                   int // repetition of the first bit, a multiple of 64
	known, success, failed []uint64
}

// add records an outcome and reports whether it is new. rep must be at least base.
func (o *outcomes) add(rep int, outcome Outcome) bool {
	word, bit := (rep-o.base)/64, uint64(1)<<(rep%64)
	if word >= len(o.known) {
		more := make([]uint64, word+1-len(o.known))
		o.known, o.success, o.failed = append(o.known, more...), append(o.success, more...), append(o.failed, more...)
	}
	if o.known[word]&bit != 0 {
		return false
	}
	o.known[word] |= bit
	switch outcome {
	case Success:
		o.success[word] |= bit
	case Failed:
		o.failed[word] |= bit
	}
	return true
}

func (o *outcomes) has(rep int) bool {
	word := (rep - o.base) / 64
	return word < len(o.known) && o.known[word]>>(rep%64)&1 == 1
}

// count counts set bits among repetitions first..end-1 of one of the three sets.
func (o *outcomes) count(set []uint64, first, end int) int {
	n := 0
	for word := (first - o.base) / 64; word < len(set) && o.base+64*word < end; word++ {
		n += bits.OnesCount64(set[word] & o.mask(word, first, end))
	}
	return n
}

// mask has the bits of a word that stand for repetitions first..end-1.
func (o *outcomes) mask(word, first, end int) uint64 {
	start := o.base + 64*word
	mask := ^uint64(0)
	if first > start {
		mask <<= first - start
	}
	if end < start+64 {
		mask &= 1<<(end-start) - 1
	}
	return mask
}

// missing appends the runs of unknown repetitions among first..end-1 as blocks.
func (o *outcomes) missing(blocks []Block, n int64, first, end int) []Block {
	for first < end {
		gap := o.next(first, end, false)
		first = o.next(gap, end, true)
		if gap < first {
			blocks = append(blocks, Block{N: n, First: gap, Count: first - gap})
		}
	}
	return blocks
}

// next gives the first repetition in first..end-1 that is known, or that is not, or else end.
func (o *outcomes) next(first, end int, known bool) int {
	for first < end {
		word := (first - o.base) / 64
		if word >= len(o.known) {
			if known {
				return end
			}
			return first
		}
		set := o.known[word]
		if !known {
			set = ^set
		}
		if set >>= first % 64; set != 0 {
			return min(first+bits.TrailingZeros64(set), end)
		}
		first = o.base + 64*(word+1)
	}
	return end
}

// drop forgets repetitions below rep, in whole words.
func (o *outcomes) drop(rep int) {
	words := min((rep-o.base)/64, len(o.known))
	o.base += 64 * words
	for _, set := range []*[]uint64{&o.known, &o.success, &o.failed} {
		*set = append((*set)[:0], (*set)[words:]...)
	}
}
