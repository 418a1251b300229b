package online

import (
	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
)

// maxListed limits the number of hypotheses that are listed, and maxSearched the number in classes
// whose labels at a point have no pattern, so that each hypothesis has to label each point.
const (
	maxListed   = 1 << 20
	maxSearched = 1 << 16
)

// listing computes the labels of all hypotheses of a class at a point, and sums of noise over a
// separator.
type listing struct {
	size   int                            // number of hypotheses
	column func(x []float64, out []uint8) // writes the labels at the point x: 1 for +1, 0 for -1
	sums   func(c, work, out []float64)   // out[f] = sum_j c[j] f(z_j), f in -1, +1; nil without a separator
	work   int                            // length of work
}

// listAll lists any class that is small enough, for noise that is independent for all hypotheses.
func listAll(s *site) (*listing, error) {
	size, most := s.class.Size(), uint64(maxSearched)
	column := columnOf(s)
	if column != nil {
		most = maxListed
	}
	if !size.IsUint64() || size.Uint64() > most {
		return nil, algo.Invalid("online: class %q has %v hypotheses, each of which would need noise of its own: "+
			"take at most %d, or online/ftpl-gaussian", s.Spec.Name, size, most)
	}
	l := &listing{size: int(size.Uint64()), column: column}
	if column == nil {
		l.column = members(s.class, l.size)
	}
	return l, nil
}

// listAt lists a class for noise at its separator. It returns nil where the sums have no fast
// algorithm.
func listAt(s *site) *listing {
	size := s.class.Size()
	column := columnOf(s)
	if column == nil || !size.IsUint64() || size.Uint64() > maxListed {
		return nil
	}
	l := &listing{size: int(size.Uint64()), column: column}
	z := make([]int, s.separator.Len())
	for i := range z {
		for j, v := range s.separator.Points[i*s.separator.Dim : (i+1)*s.separator.Dim] {
			z[i] += int(v) << j // one coordinate, or bits
		}
	}
	switch s.Spec.Name {
	case "thresholds":
		l.work, l.sums = int(s.Spec.Domain), func(c, work, out []float64) { thresholdSums(c, z, work, out) }
	case "points":
		l.sums = func(c, _, out []float64) { pointSums(c, z, out) }
	case "parities":
		if s.Kind == "standard" {
			l.sums = func(c, _, out []float64) { basisSums(c, out) }
		} else {
			l.sums = func(c, _, out []float64) { paritySums(c, z, out) }
		}
	}
	return l
}

// columnOf returns the column of a listing where the labels at a point have a pattern, and nil
// elsewhere.
func columnOf(s *site) func(x []float64, out []uint8) {
	switch s.Spec.Name {
	case "thresholds": // t = 0, 1, ...: +1 where x >= t
		return func(x []float64, out []uint8) {
			ones := min(len(out), int(x[0])+1)
			for t := range out[:ones] {
				out[t] = 1
			}
			clear(out[ones:])
		}
	case "points":
		return func(x []float64, out []uint8) {
			clear(out)
			out[int(x[0])] = 1
		}
	case "parities":
		return func(x []float64, out []uint8) {
			out[0] = 0
			for j, bit := range x {
				low, high := out[:1<<j], out[1<<j:2<<j]
				copy(high, low)
				if bit == 1 {
					for i := range high {
						high[i] ^= 1
					}
				}
			}
		}
	}
	return nil
}

// members returns the column of a listing that has each hypothesis label the point.
func members(c concept.Finite, size int) func(x []float64, out []uint8) {
	all := make([]concept.Hypothesis, size)
	for i := range all {
		all[i] = c.Member(uint64(i))
	}
	return func(x []float64, out []uint8) {
		var label [1]float64
		for i, h := range all {
			h.Labels(x, label[:])
			out[i] = uint8(int(label[0]+1) / 2)
		}
	}
}

// thresholdSums computes the sums of the thresholds in order: the threshold t+1 differs from t in
// labelling t -1.
func thresholdSums(c []float64, z []int, noise, out []float64) {
	clear(noise)
	total := 0.0
	for j, v := range z {
		noise[v] += c[j]
		total += c[j]
	}
	for t := range out {
		out[t] = total
		if t < len(noise) {
			total -= 2 * noise[t]
		}
	}
}

// pointSums computes the sums of the points: each labels itself +1 alone.
func pointSums(c []float64, z []int, out []float64) {
	total := 0.0
	for _, v := range c {
		total += v
	}
	for a := range out {
		out[a] = -total
	}
	for j, v := range z {
		out[v] += 2 * c[j]
	}
}

// basisSums computes the sums of the parities at the unit vectors: coordinate j turns the term
// -c[j] into c[j].
func basisSums(c, out []float64) {
	out[0] = 0
	for _, v := range c {
		out[0] -= v
	}
	for j, v := range c {
		low, high := out[:1<<j], out[1<<j:2<<j]
		for i, sum := range low {
			high[i] = sum + 2*v
		}
	}
}

// paritySums computes the sums of the parities by the Walsh-Hadamard transform, which has +1 where
// a parity is even and labels -1.
func paritySums(c []float64, z []int, out []float64) {
	clear(out)
	for j, v := range z {
		out[v] -= c[j]
	}
	walsh(out)
}

// walsh computes the Walsh-Hadamard transform of a power of two of numbers, in place. It takes two
// bits at a time and then each quarter by itself, so that what fits into a cache is read into it
// once.
func walsh(a []float64) {
	switch len(a) {
	case 1:
		return
	case 2:
		a[0], a[1] = a[0]+a[1], a[0]-a[1]
		return
	}
	q := len(a) / 4
	a0 := a[:q]
	a1, a2, a3 := a[q:][:len(a0)], a[2*q:][:len(a0)], a[3*q:][:len(a0)]
	for i := range a0 {
		s, t := a0[i]+a1[i], a0[i]-a1[i]
		u, v := a2[i]+a3[i], a2[i]-a3[i]
		a0[i], a1[i], a2[i], a3[i] = s+u, t+v, s-u, t-v
	}
	if q > 1 {
		walsh(a0)
		walsh(a1)
		walsh(a2)
		walsh(a3)
	}
}
