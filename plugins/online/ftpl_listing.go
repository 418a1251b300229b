package online

import (
	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
)

// maxListed limits the number of hypotheses that are listed. maxSearched limits it for classes
// whose labels at a point have no pattern, so that each hypothesis must label each point.
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
	work   int                            // length of the work slices
}

// listAll lists any class that is small enough, for noise that is independent for all hypotheses.
func listAll(s *site) (*listing, error) {
	size, most, column := s.class.Size(), uint64(maxSearched), s.definition.Column
	if column != nil {
		most = maxListed
	}
	if !size.IsUint64() || size.Uint64() > most {
		return nil, algo.Invalid("online: class %q has %v hypotheses, each of which needs independent noise: "+
			"use at most %d, or online/ftpl-gaussian", s.Spec.Name, size, most)
	}
	l := &listing{size: int(size.Uint64()), column: column}
	if column == nil {
		l.column = members(s.class, l.size)
	}
	return l, nil
}

// fastSums maps a class to the function that makes the sums over the separator of a site whose
// points have the numbers z: integers, or bits starting with the lowest one. The classes have a
// Column and points of one coordinate, or of bits. Classes without an entry search for the best
// hypothesis.
var fastSums = map[string]func(s *site, z []int) func(c, work, out []float64){
	concept.Thresholds: func(_ *site, z []int) func(c, work, out []float64) {
		return func(c, work, out []float64) { thresholdSums(c, z, work, out) }
	},
	concept.Points: func(_ *site, z []int) func(c, work, out []float64) {
		return func(c, _, out []float64) { pointSums(c, z, out) }
	},
	concept.Parities: func(s *site, z []int) func(c, work, out []float64) {
		if s.Kind == "standard" {
			return func(c, _, out []float64) { basisSums(c, out) }
		}
		return func(c, _, out []float64) { paritySums(c, z, out) }
	},
}

// listAt lists a class for noise at its separator. It returns nil if the sums have no fast
// algorithm.
func listAt(s *site) *listing {
	size := s.class.Size()
	sumsOf, fast := fastSums[s.Spec.Name]
	if !fast || !size.IsUint64() || size.Uint64() > maxListed {
		return nil
	}
	z := make([]int, s.separator.Len())
	for i := range z {
		for j, v := range s.separator.Points[i*s.separator.Dim : (i+1)*s.separator.Dim] {
			z[i] += int(v) << j // one coordinate, or bits
		}
	}
	return &listing{
		size: int(size.Uint64()), column: s.definition.Column, sums: sumsOf(s, z), work: int(s.Spec.Domain),
	}
}

// members returns a listing's column function that lets each hypothesis label the point.
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

// thresholdSums computes the sums of the thresholds in order: the threshold t+1 differs from t only
// in the label of t, which is -1.
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

// pointSums computes the sums of the points: each labels only itself +1.
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

// paritySums computes the sums of the parities by the Walsh-Hadamard transform, which has +1 for an
// even parity, which labels -1.
func paritySums(c []float64, z []int, out []float64) {
	clear(out)
	for j, v := range z {
		out[v] -= c[j]
	}
	concept.WalshHadamard(out)
}
