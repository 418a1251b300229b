package boosting

import (
	"iter"

	"github.com/shatterlab/shatter/pipeline/numeric"
)

// A round reads the matrix of the sample twice. That is what a round costs, unless rows are so
// short that what is kept for each example costs more. All kernels work on four or eight rows at a
// time. That is the fastest order once the rows are in the nearest cache, but the worst one for the
// processor's own guess at what comes next, so the rows of a large matrix are prefetched.
//
// Every sum has one order on every machine, and no product is fused into an addition, which is why
// the code says float64(x*y). Where the processor has AVX2, the functions of avx2_amd64.s do the
// same to four numbers at a time, and the Go code does what is left over.

const (
	blockRows     = 256     // rows whose weights and margins are held at a time
	prefetchAhead = 2048    // numbers between the rows in work and those prefetched: 16 KB
	prefetchTile  = 192     // numbers prefetched at once: 1.5 KB, or four rows if they are longer
	prefetchAbove = 1 << 19 // numbers up to which a matrix (4 MB) stays in a near cache
	prefetchDim   = 512     // longer rows are streams that the processor follows by itself
)

// bytesAhead returns how far ahead the AVX2 functions prefetch in a matrix of so many numbers: 0,
// what they read anyway, if it needs no prefetching.
func bytesAhead(numbers int) int {
	if numbers <= prefetchAbove {
		return 0
	}
	return 8 * prefetchAhead
}

// tiles returns the bounds lo, hi of consecutive tiles of the first count rows of x, each of d
// numbers. Before each tile it prefetches a later one, also from the rows of x beyond count.
func tiles(x []float64, count, d int) iter.Seq2[int, int] {
	return func(yield func(lo, hi int) bool) {
		tile, ahead := tiling(len(x), d)
		for lo := 0; lo < count; lo += tile {
			if next := (lo + ahead) * d; ahead > 0 && next < len(x) {
				prefetch(x[next:min(next+tile*d, len(x))])
			}
			if !yield(lo, min(lo+tile, count)) {
				return
			}
		}
	}
}

// tiling returns the number of rows in a tile, a multiple of four, and how many rows ahead of a
// tile the prefetched one lies: 0 if a matrix of so many numbers needs no prefetching.
func tiling(numbers, d int) (tile, ahead int) {
	if numbers <= prefetchAbove || d > prefetchDim {
		return blockRows, 0
	}
	tile = max(4, prefetchTile/d/4*4)
	return tile, max(tile, prefetchAhead/d/4*4)
}

// fourRows returns the first four rows of x, each of d numbers.
func fourRows(x []float64, d int) (r0, r1, r2, r3 []float64) {
	r0 = x[:d]
	return r0, x[d:][:len(r0)], x[2*d:][:len(r0)], x[3*d:][:len(r0)]
}

// inner writes the inner products <x_i, v> of the first len(out) rows of x. It only prefetches the
// rows after them. Each product is summed from the first coordinate to the last.
func inner(out, x, v []float64) {
	d := len(v)
	if hasAVX2 {
		done := len(out) / 8 * 8
		innerAVX2(out[:done], x[:done*d], v, bytesAhead(len(x)))
		out, x = out[done:], x[done*d:]
	}
	for lo, hi := range tiles(x, len(out), d) {
		innerTile(out[lo:hi], x[lo*d:hi*d], v)
	}
}

// innerTile writes the inner products of the rows of x with v.
func innerTile(out, x, v []float64) {
	d := len(v)
	for len(out) >= 4 {
		r0, r1, r2, r3 := fourRows(x, d)
		var s0, s1, s2, s3 float64
		for j, t := range v[:len(r0)] {
			s0 += float64(r0[j] * t)
			s1 += float64(r1[j] * t)
			s2 += float64(r2[j] * t)
			s3 += float64(r3[j] * t)
		}
		out[0], out[1], out[2], out[3] = s0, s1, s2, s3
		out, x = out[4:], x[4*d:]
	}
	for i := range out {
		out[i] = numeric.Dot(x[i*d:(i+1)*d], v)
	}
}

// gather adds the sum of the first len(w) rows of x, weighted by w, to acc. Each four rows are
// summed among themselves first.
func gather(acc, x, w []float64) {
	d := len(acc)
	if hasAVX2 {
		done := len(w) / 4 * 4
		gatherAVX2(acc, x[:done*d], w[:done], bytesAhead(len(x)))
		w, x = w[done:], x[done*d:]
	}
	for lo, hi := range tiles(x, len(w), d) {
		gatherTile(acc, x[lo*d:hi*d], w[lo:hi])
	}
}

// gatherTile adds the sum of the rows of x, weighted by w, to acc.
func gatherTile(acc, x, w []float64) {
	d := len(acc)
	for len(w) >= 4 {
		r0, r1, r2, r3 := fourRows(x, d)
		w0, w1, w2, w3 := w[0], w[1], w[2], w[3]
		z := acc[:len(r0)]
		for j := range z {
			z[j] += (float64(r0[j]*w0) + float64(r1[j]*w1)) + (float64(r2[j]*w2) + float64(r3[j]*w3))
		}
		w, x = w[4:], x[4*d:]
	}
	for i, wi := range w {
		for j, t := range x[i*d : (i+1)*d] {
			acc[j] += float64(t * wi)
		}
	}
}

// squaredNorms writes the squared norms of the first len(out) rows of x, each of d numbers and
// summed as by numeric.Dot.
func squaredNorms(out, x []float64, d int) {
	for len(out) >= 4 {
		r0, r1, r2, r3 := fourRows(x, d)
		var s0, s1, s2, s3 float64
		for j := range r0 {
			s0 += float64(r0[j] * r0[j])
			s1 += float64(r1[j] * r1[j])
			s2 += float64(r2[j] * r2[j])
			s3 += float64(r3[j] * r3[j])
		}
		out[0], out[1], out[2], out[3] = s0, s1, s2, s3
		out, x = out[4:], x[4*d:]
	}
	for i := range out {
		row := x[i*d : (i+1)*d]
		out[i] = numeric.Dot(row, row)
	}
}

// capWeights writes mu_i = min(1, factor * u_i) y_i.
func capWeights(mu, u, y []float64, factor float64) {
	if hasAVX2 {
		done := len(u) / 4 * 4
		capAVX2(mu[:done], u[:done], y[:done], factor)
		mu, u, y = mu[done:], u[done:], y[done:]
	}
	for i, v := range u {
		mu[i] = atMost1(factor*v) * y[i]
	}
}

// lower lowers each s_i by half * y_i h_i. It returns the smallest and the largest of the y_i h_i
// and of the given numbers. Which of 0 and -0 it returns is left open.
func lower(s, h, y []float64, half, smallest, largest float64) (float64, float64) {
	if hasAVX2 {
		done := len(h) / 4 * 4
		lanes := [8]float64{smallest, smallest, smallest, smallest, largest, largest, largest, largest}
		lowerAVX2(s[:done], h[:done], y[:done], half, &lanes)
		for i, m := range lanes[:4] {
			if m < smallest {
				smallest = m
			}
			if m := lanes[4+i]; m > largest {
				largest = m
			}
		}
		s, h, y = s[done:], h[done:], y[done:]
	}
	for i, v := range h {
		m := v * y[i]
		if m < smallest { // never if it is NaN
			smallest = m
		}
		if m > largest {
			largest = m
		}
		s[i] -= float64(half * m)
	}
	return smallest, largest
}
