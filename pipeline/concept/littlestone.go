package concept

import "math/bits"

// Dimensions are the Vapnik-Chervonenkis and the Littlestone dimension of the class c, which is the one that New gives for s: as proved
// where there is a proof, otherwise by the searches of LabelTable and VersionSpace; of a class too large to be listed what is proved.
// VC <= Ldim <= log2 |H| in any case.
func Dimensions(c Class, s Spec) (vc, ldim Dimension) {
	switch {
	case InfiniteThresholds(c.Name()): // bisection of 2^k of them forces k mistakes, for any k
		return exactly(c.VC()), exactly(Unbounded)
	case c.Size() == nil:
		return exactly(c.VC()), ofHalfspaces(c.Dim())
	}
	log := c.Size().BitLen() - 1
	vc, ldim = provedVC(c, s, log), provedLittlestone(c, s, log)
	if !vc.Exact() || !ldim.Exact() {
		vc, ldim = searched(c, s, vc, ldim)
	}
	return vc.and(Dimension{0, ldim.High}), ldim.and(Dimension{vc.Low, log})
}

// searched narrows down what is known of a class that can be listed.
func searched(c Class, s Spec, vc, ldim Dimension) (Dimension, Dimension) {
	f, finite := c.(Finite)
	if !finite {
		return vc, ldim
	}
	t, err := NewLabelTable(f, s)
	if err != nil { // too large
		return vc, ldim
	}
	if !vc.Exact() {
		found, _ := t.VC()
		vc = vc.and(found)
	}
	if !ldim.Exact() {
		ldim = ldim.and(t.Versions().Ldim())
	}
	return vc, ldim
}

// provedVC bounds the Vapnik-Chervonenkis dimension; log is floor(log2 |H|), here and below.
func provedVC(c Class, s Spec, log int) Dimension {
	switch c.Name() {
	case "matrix":
		return Dimension{min(1, log), log}
	case "stumps": // see VC: exact with two values; otherwise as many points are shattered as there are values, if the upper bound allows it
		if high := c.VC(); s.Domain > 2 {
			return Dimension{min(high, int(s.Domain)), high}
		}
	}
	return exactly(c.VC())
}

// provedLittlestone bounds the Littlestone dimension by what is known of a class.
func provedLittlestone(c Class, s Spec, log int) Dimension {
	switch c.Name() {
	case "thresholds": // bisection: an adversary can leave half of the functions at each mistake, and no learner need leave more
		return exactly(log)
	case "points": // predict -1 until a point is labelled +1
		return exactly(min(log, 1))
	case "parities", "monotone-conjunctions": // VC = log2 |H|
		return exactly(c.Dim())
	case "conjunctions":
		return exactly(ofConjunctions(c.Dim()))
	case "intervals", "rectangles":
		return ofBoxes(s.Domain, c.Dim(), log)
	case "stumps": // those v >= t of one axis, with the constants, are X+1 thresholds
		return Dimension{bits.Len64(s.Domain+1) - 1, log}
	}
	return Dimension{0, log}
}

// ofHalfspaces is that of the halfspaces through the origin. On a line there are three different ones; on a line of the plane off the
// origin they are the thresholds on the reals.
func ofHalfspaces(dim int) Dimension {
	if dim == 1 {
		return exactly(1)
	}
	return exactly(Unbounded)
}

// ofConjunctions is that of the conjunctions of literals. Not more: elimination begins with all 2d literals and errs only on points labelled
// +1; its first mistake leaves d literals, and each later one removes another (Valiant 1984). Not less: an adversary asks for d+1 different
// points and labels them -1, as the function -1 does, until one is predicted -1. Let that be y after j mistakes, and label it +1: this
// leaves the subsets of the d literals true at y. Hold one literal fixed for each point before, false there; the other d-j or more, each
// free to be there or not, force as many mistakes more.
func ofConjunctions(d int) int { return d + 1 }

// ofBoxes bounds that of the boxes of d intervals of X points. An adversary may begin with a point labelled +1. On a line through it
// along an axis, with x points below, the two ends of the box are then thresholds of x+1 and of X-x functions, and each forces its own
// mistakes:
//
//	B = max_x floor(log2(x+1)) + floor(log2(X-x))
//
// in all, on each of d axes. For d = 1 a learner who predicts -1 until then makes at most one mistake more. B is the largest a + b, with a = b or
// a = b-1, for which 2^a - 1 points below x and 2^b - 1 above fit into X.
func ofBoxes(domain uint64, d, log int) Dimension {
	b := 0
	for next := 1; uint64(1)<<(next/2)+uint64(1)<<((next+1)/2)-1 <= domain; next++ {
		b = next
	}
	if d > 1 {
		return Dimension{d * b, log}
	}
	return Dimension{b, b + 1}
}
