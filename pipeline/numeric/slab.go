package numeric

// A Slab makes zero values many at a time, which stay in memory as long as any of them is in use. They
// lie by themselves: of values that die together nothing is left to hold memory between others. The zero
// Slab is ready for use.
type Slab[T any] struct{ free []T }

// slabValues is the number of values that a Slab makes at a time.
const slabValues = 64

// Next returns the next value.
func (s *Slab[T]) Next() *T {
	if len(s.free) == 0 {
		s.free = make([]T, slabValues)
	}
	next := &s.free[0]
	s.free = s.free[1:]
	return next
}
