package prediction

import (
	"math"
	"math/bits"
	"slices"
)

// memo remembers the votes on points: the states of a trial are asked about the same points again
// and again, and their hypotheses change with hard queries only.
type memo struct {
	dim    int
	points []float64 // row-major, in the order in which they were added
	votes  []int32   // on each of them
	slots  []int32   // a hash table of a power of two of places: 1 + the number of a point, or 0
}

// maxRemembered limits the points of a memo. Probes of one state ask about half as many.
const maxRemembered = 1 << 13

// find returns the number of the point x, of which all bits count; ok is false where it is not
// there.
func (m *memo) find(x []float64) (number int, ok bool) {
	if len(m.votes) == 0 {
		return 0, false
	}
	for at := m.place(x); ; at = m.next(at) {
		number = int(m.slots[at]) - 1
		if number < 0 || m.is(number, x) {
			return number, number >= 0
		}
	}
}

// is reports whether the point of that number is x.
func (m *memo) is(number int, x []float64) bool {
	for j, v := range m.points[number*m.dim:][:m.dim] {
		if math.Float64bits(v) != math.Float64bits(x[j]) {
			return false
		}
	}
	return true
}

// add adds the point x, which is not there, with the votes on it. A full memo begins anew.
func (m *memo) add(x []float64, votes int) {
	if len(m.votes) == maxRemembered {
		m.forget()
	}
	if 2*len(m.votes) >= len(m.slots) {
		m.grow()
	}
	m.points, m.votes = append(m.points, x[:m.dim]...), append(m.votes, int32(votes))
	m.insert(len(m.votes) - 1)
}

// grow doubles the hash table.
func (m *memo) grow() {
	size := max(64, 2*len(m.slots))
	m.slots = slices.Grow(m.slots[:0], size)[:size]
	clear(m.slots)
	for number := range m.votes {
		m.insert(number)
	}
}

// insert enters the point of that number in the hash table.
func (m *memo) insert(number int) {
	at := m.place(m.points[number*m.dim:][:m.dim])
	for m.slots[at] != 0 {
		at = m.next(at)
	}
	m.slots[at] = int32(number) + 1
}

// forget makes the memo empty.
func (m *memo) forget() {
	m.points, m.votes = m.points[:0], m.votes[:0]
	clear(m.slots)
}

// place returns where in the hash table the search for x begins.
func (m *memo) place(x []float64) int {
	var h uint64
	for _, v := range x[:m.dim] {
		high, low := bits.Mul64(h^math.Float64bits(v), 0x9e3779b97f4a7c15)
		h = high ^ low
	}
	return int(h) & (len(m.slots) - 1)
}

// next returns the place after the given one.
func (m *memo) next(at int) int { return (at + 1) & (len(m.slots) - 1) }
