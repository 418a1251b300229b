package worker

import "math/rand/v2"

// chunks is the number of chunks in which a trial is asked about its points.
const chunks = 3

// span is a range of places, from..to-1, in the order in which points are asked about.
type span struct{ from, to int32 }

func (s span) len() int { return int(s.to - s.from) }

// cutChunks cuts n places into consecutive spans of random lengths, none of which holds more than
// two thirds of them, rounded up. For n below 3 some are empty. spans has the length chunks.
func cutChunks(spans []span, n int, r *rand.Rand) {
	a, b := n/6+r.IntN(n/3+1), n/2+r.IntN(n/3+1)
	spans[0], spans[1], spans[2] = span{0, int32(a)}, span{int32(a), int32(b)}, span{int32(b), int32(n)}
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

// shuffle puts order into a uniformly random order.
func shuffle(order []int32, r *rand.Rand) {
	r.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
}
