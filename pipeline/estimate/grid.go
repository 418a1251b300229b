package estimate

import "math/bits"

// maxSize is the largest sample size.
const maxSize = 1 << 40

// roundDown truncates n to its first binary digits. A search picks only such round sizes by its
// belief, so that it returns to sizes that it has read, and gets the same sizes on every machine.
func roundDown(n int64, digits int) int64 {
	shift := max(0, bits.Len64(uint64(n))-digits)
	return n >> shift << shift
}

// roundAbove returns the least round number above n.
func roundAbove(n int64, digits int) int64 {
	return roundDown(n, digits) + 1<<max(0, bits.Len64(uint64(n))-digits)
}

// digitsFor returns the number of digits with which neighboring round numbers differ by at most
// that share of themselves.
func digitsFor(share float64) int {
	digits := 1
	for unit := 1.0; unit > share && digits <= 40; unit /= 2 {
		digits++
	}
	return digits
}

// doubled returns the least size above n among From, 2 From, 4 From, ... and To.
func (f *Find) doubled(n int64) int64 {
	size := f.From
	for size <= n && size < f.To {
		size *= 2
	}
	return min(size, f.To)
}

// floor returns the largest permitted size up to n.
func (f *Find) floor(n int64) int64 { return n / f.Step * f.Step }

// narrow reports whether a bracket is narrow enough.
func (f *Find) narrow(low, high int64) bool {
	return high <= low+max(1, f.Step, f.Gap) || float64(high) <= f.Within*float64(low)
}
