package boosting

// The matrix is read twice a round, and reading it is what a round costs, unless rows are so short that arithmetic is. Both kernels work on
// four rows at a time, which is the fastest order once the rows are in the nearest cache and the worst one for the processor's own
// guess at what comes next; so the rows of a large matrix are asked for ahead of time.
//
// Every sum has one order, whatever the machine, and no product is fused into an addition (hence float64(x*y)).

const (
	blockRows     = 256     // rows whose weights and margins are held at a time
	prefetchAhead = 2048    // numbers between the rows in work and those asked for: 16 KB
	prefetchTile  = 192     // numbers asked for at once: 1.5 KB, or four rows
	prefetchAbove = 1 << 19 // numbers from which a matrix (4 MB) does not stay in a near cache
	prefetchDim   = 512     // longer rows are streams of their own, which the processor follows by itself
)

// inner writes the inner products <x_i, v> of the first len(out) rows of x. Rows beyond them, if any, are only prefetched.
// Each product is summed from the first coordinate to the last.
func inner(out, x, v []float64) {
	d := len(v)
	tile, ahead := tiling(len(x), d)
	for i := 0; i < len(out); i += tile {
		if next := (i + ahead) * d; ahead > 0 && next < len(x) {
			prefetch(x[next:min(next+tile*d, len(x))])
		}
		end := min(i+tile, len(out))
		innerTile(out[i:end], x[i*d:end*d], v)
	}
}

func innerTile(out, x, v []float64) {
	d := len(v)
	for len(out) >= 4 {
		a := x[:d]
		b := x[d:][:len(a)]
		c := x[2*d:][:len(a)]
		e := x[3*d:][:len(a)]
		var sa, sb, sc, se float64
		for j, t := range v[:len(a)] {
			sa += float64(a[j] * t)
			sb += float64(b[j] * t)
			sc += float64(c[j] * t)
			se += float64(e[j] * t)
		}
		out[0], out[1], out[2], out[3] = sa, sb, sc, se
		out, x = out[4:], x[4*d:]
	}
	for i := range out {
		out[i] = dot(x[i*d:(i+1)*d], v)
	}
}

// gather adds the weighted sum of the first len(w) rows of x to acc: four rows are summed among themselves first.
func gather(acc, x, w []float64) {
	d := len(acc)
	tile, ahead := tiling(len(x), d)
	for i := 0; i < len(w); i += tile {
		if next := (i + ahead) * d; ahead > 0 && next < len(x) {
			prefetch(x[next:min(next+tile*d, len(x))])
		}
		end := min(i+tile, len(w))
		gatherTile(acc, x[i*d:end*d], w[i:end])
	}
}

func gatherTile(acc, x, w []float64) {
	d := len(acc)
	for len(w) >= 4 {
		a := x[:d]
		b := x[d:][:len(a)]
		c := x[2*d:][:len(a)]
		e := x[3*d:][:len(a)]
		wa, wb, wc, we := w[0], w[1], w[2], w[3]
		z := acc[:len(a)]
		for j := range z {
			z[j] += (float64(a[j]*wa) + float64(b[j]*wb)) + (float64(c[j]*wc) + float64(e[j]*we))
		}
		w, x = w[4:], x[4*d:]
	}
	for i, wi := range w {
		for j, t := range x[i*d : (i+1)*d] {
			acc[j] += float64(t * wi)
		}
	}
}

// tiling gives how many rows, a multiple of four, go between two calls of prefetch, and how many rows ahead they lie: 0 for a
// matrix of so many numbers that needs none.
func tiling(numbers, d int) (tile, ahead int) {
	if numbers <= prefetchAbove || d > prefetchDim {
		return blockRows, 0
	}
	tile = max(4, prefetchTile/d/4*4)
	return tile, max(tile, prefetchAhead/d/4*4)
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for j, t := range a {
		sum += float64(t * b[j])
	}
	return sum
}

// squaredNorms writes the squared norms of the first len(out) rows of x.
func squaredNorms(out, x []float64, d int) {
	for len(out) >= 4 {
		a := x[:d]
		b := x[d:][:len(a)]
		c := x[2*d:][:len(a)]
		e := x[3*d:][:len(a)]
		var sa, sb, sc, se float64
		for j := range a {
			sa += float64(a[j] * a[j])
			sb += float64(b[j] * b[j])
			sc += float64(c[j] * c[j])
			se += float64(e[j] * e[j])
		}
		out[0], out[1], out[2], out[3] = sa, sb, sc, se
		out, x = out[4:], x[4*d:]
	}
	for i := range out {
		row := x[i*d : (i+1)*d]
		out[i] = dot(row, row)
	}
}
