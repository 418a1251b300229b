package worker

import (
	"math/bits"
	"math/rand/v2"
)

// chunks is the number of chunks in which a trial is asked about its points.
const chunks = 3

// span is a range of places, from..to-1, in the order in which points are asked about.
type span struct{ from, to int32 }

func (s span) len() int { return int(s.to - s.from) }

// cutChunks cuts n places into consecutive spans of random lengths, none of which holds more than
// two thirds of them, rounded up. For n below 3 some are empty.
func cutChunks(spans *[chunks]span, n int, r *rand.PCG) {
	a := n/6 + int(below(r, uint64(n/3+1)))
	b := n/2 + int(below(r, uint64(n/3+1)))
	*spans = [chunks]span{{0, int32(a)}, {int32(a), int32(b)}, {int32(b), int32(n)}}
}

// divide divides the chunks with which spans begins into spans of at most most places, in their order.
// Those that are left over are empty. There is room for chunks + places/most.
func divide(spans []span, most int) {
	cut, next := [chunks]span(spans), 0
	clear(spans)
	for _, c := range cut {
		for ; c.len() > 0; c.from = spans[next-1].to {
			spans[next] = span{c.from, min(c.to, c.from+int32(most))}
			next++
		}
	}
}

// shuffle puts order into a uniformly random order, from its end to its beginning. It draws as few
// words as it can: indices below k, k-1, ... come from one word together, as long as the product of
// these bounds fits it (Brackett-Rozsnyai and Lemire, "Batched ranged random integer generation",
// 2024).
func shuffle(order []int32, r *rand.PCG) {
	for len(order) > 1<<15 {
		order = shuffleTwo(order, r)
	}
	for len(order) > 4 {
		order = shuffleFour(order, r)
	}
	for k := len(order); k > 1; k-- {
		i := below(r, uint64(k))
		order[k-1], order[i] = order[i], order[k-1]
	}
}

// below returns a uniformly random number below k, which is at least 1.
func below(r *rand.PCG, k uint64) uint64 {
	for {
		i, rest := bits.Mul64(r.Uint64(), k)
		if !rejected(rest, k) {
			return i
		}
	}
}

// rejected reports whether a draw of indices with that product of bounds must be repeated, given
// what is left of its word.
func rejected(rest, product uint64) bool { return rest < product && rest < -product%product }

// shuffleTwo draws the last two numbers of order, of at most 2^32, and returns the others.
func shuffleTwo(order []int32, r *rand.PCG) []int32 {
	n := len(order)
	k := uint64(n)
	for {
		i, rest := bits.Mul64(r.Uint64(), k)
		j, rest := bits.Mul64(rest, k-1)
		if rejected(rest, k*(k-1)) {
			continue
		}
		order[n-1], order[i] = order[i], order[n-1]
		order[n-2], order[j] = order[j], order[n-2]
		return order[:n-2]
	}
}

// shuffleFour draws the last four numbers of order, of at most 2^16, and returns the others.
func shuffleFour(order []int32, r *rand.PCG) []int32 {
	n := len(order)
	k := uint64(n)
	for {
		a, rest := bits.Mul64(r.Uint64(), k)
		b, rest := bits.Mul64(rest, k-1)
		c, rest := bits.Mul64(rest, k-2)
		d, rest := bits.Mul64(rest, k-3)
		if rejected(rest, k*(k-1)*(k-2)*(k-3)) {
			continue
		}
		order[n-1], order[a] = order[a], order[n-1]
		order[n-2], order[b] = order[b], order[n-2]
		order[n-3], order[c] = order[c], order[n-3]
		order[n-4], order[d] = order[d], order[n-4]
		return order[:n-4]
	}
}
