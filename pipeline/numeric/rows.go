package numeric

// RowProducts writes the inner products with v of the first len(out) rows of x, each of len(v)
// numbers. It sums in the order of [Dot], and computes four rows at a time, because a single sum
// would wait for each of its additions.
func RowProducts(out, x, v []float64) {
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
		out[i] = Dot(x[i*d:(i+1)*d], v)
	}
}

// fourRows returns the first four rows of x, each of d numbers.
func fourRows(x []float64, d int) (r0, r1, r2, r3 []float64) {
	r0 = x[:d]
	return r0, x[d:][:len(r0)], x[2*d:][:len(r0)], x[3*d:][:len(r0)]
}
