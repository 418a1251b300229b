package estimate

import (
	"math/bits"

	"github.com/shatterlab/shatter/pipeline/numeric"
)

// An Outcome is the result of one trial.
type Outcome uint8

// The outcomes of a trial.
const (
	Miss    Outcome = iota // the trial ran, and its error was too large
	Success                // the trial ran, and its error was small enough
	Failed                 // the algorithm failed; not a success
)

// outcomes holds the outcomes of one sample size that have not been read yet, three bits per
// repetition.
type outcomes struct {
	base                   int            // repetition of the first bit, a multiple of 64
	known, success, failed numeric.BitSet // sets of repetitions, relative to base
}

// add records an outcome and reports whether it is new. rep is at least base.
func (o *outcomes) add(rep int, outcome Outcome) bool {
	i := int64(rep - o.base)
	if o.known.Has(i) {
		return false
	}
	o.known.Set(i)
	switch outcome {
	case Success:
		o.success.Set(i)
	case Failed:
		o.failed.Set(i)
	}
	return true
}

// has reports whether the outcome of a repetition is known. rep is at least base.
func (o *outcomes) has(rep int) bool {
	word := (rep - o.base) / 64
	return word < len(o.known) && o.known[word]>>(rep%64)&1 == 1
}

// count returns the number of members of one of the three sets among repetitions first..end-1.
func (o *outcomes) count(set numeric.BitSet, first, end int) int {
	n := 0
	for word := (first - o.base) / 64; word < len(set) && o.base+64*word < end; word++ {
		n += bits.OnesCount64(set[word] & o.mask(word, first, end))
	}
	return n
}

// mask returns the bits of a word that represent repetitions first..end-1.
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

// missing appends the runs of unknown repetitions among first..end-1 as blocks. first is at least
// base.
func (o *outcomes) missing(blocks []Block, n int64, first, end int) []Block {
	at, stop := int64(first-o.base), int64(end-o.base)
	for at < stop {
		gap := min(o.known.FirstClear(at), stop)
		at = o.known.FirstSet(gap, stop)
		if gap < at {
			blocks = append(blocks, Block{N: n, First: o.base + int(gap), Count: int(at - gap)})
		}
	}
	return blocks
}

// drop removes repetitions below rep, in whole words.
func (o *outcomes) drop(rep int) {
	words := min((rep-o.base)/64, len(o.known))
	o.base += 64 * words
	for _, set := range []*numeric.BitSet{&o.known, &o.success, &o.failed} {
		*set = append((*set)[:0], (*set)[min(words, len(*set)):]...)
	}
}

// shrink frees unused memory of a size that is not read for now.
func (o *outcomes) shrink() {
	if len(o.known) == 0 {
		o.known, o.success, o.failed = nil, nil, nil
	}
}
