package concept

import (
	"math"
	"math/big"
	"math/bits"
	"sort"
)

// Drawn selects the distribution of targets of a class: that of its Definition, or a uniform
// hypothesis.
type Drawn struct {
	Uniform  bool // every hypothesis of the class is equally likely
	Literals int  // conjunctions, unless Uniform: literals of a target
}

// Allowed reports whether an error counts as a success. If it is false for an error, it is false
// for every larger one.
type Allowed func(err float64) bool

// Prior is the best answer of a learner without data.
type Prior struct {
	Success float64 // probability over the targets that the error of Answer is allowed
	Answer  Hypothesis
}

// The limits of NewPrior for the comparison of all hypotheses with each other.
const (
	maxCompared      = 4096    // hypotheses
	maxComparedCells = 1 << 20 // hypotheses times points
)

// NewPrior returns the best answer without data among the hypotheses of a class and the two
// constants, for uniform points (uniform on the sphere for halfspaces) and drawn targets. It is
// exact if the class has a formula or few hypotheses; for larger classes of boxes it is an
// estimate, see estimatePrior. It returns false for all other classes. Functions outside of the
// class may do better: if two targets differ by up to 2 alpha, some function is within alpha of
// both.
func NewPrior(s Spec, distribution Drawn, ok Allowed) (Prior, bool) {
	if p, found := ExactPrior(s, distribution, ok); found {
		return p, true
	}
	if d, known := Lookup(s.Name); !known || d.Random == nil {
		return Prior{}, false
	}
	if _, err := New(s); err != nil {
		return Prior{}, false
	}
	return estimatePrior(s, distribution, ok)
}

// ExactPrior is NewPrior without estimates: it returns false for classes that need one.
func ExactPrior(s Spec, distribution Drawn, ok Allowed) (Prior, bool) {
	d, known := Lookup(s.Name)
	if !known || d.Random == nil {
		return Prior{}, false
	}
	if d.Prior != nil {
		if p, found := d.Prior(s, distribution, ok); found {
			return p, true
		}
	}
	made, err := New(s)
	if err != nil {
		return Prior{}, false
	}
	c, finite := made.(Finite)
	points := Cardinality(s)
	if !finite || c.Size().Cmp(big.NewInt(maxCompared)) > 0 || points*float64(c.Size().Int64()) > maxComparedCells {
		return Prior{}, false
	}
	x, err := allPoints(c.Dim(), Side(s), uint64(points))
	if err != nil {
		return Prior{}, false
	}
	return comparePrior(c, x, targetWeights(s, d, distribution, c.Size().Uint64()), ok), true
}

// targetWeights returns the probabilities of the hypotheses of a class of that size as targets.
func targetWeights(s Spec, d *Definition, distribution Drawn, size uint64) []float64 {
	w := make([]float64, size)
	for i := range w {
		if w[i] = 1 / float64(size); !distribution.Uniform {
			w[i] = d.Weight(s, distribution.Literals, uint64(i))
		}
	}
	return w
}

// Constant is the function that gives all points one label.
type Constant struct {
	Dim   int
	Value float64 // -1 or +1
}

// Labels implements Hypothesis.
func (c Constant) Labels(_, out []float64) {
	for i := range out {
		out[i] = c.Value
	}
}

// comparePrior compares all hypotheses of a class, which are targets with the given
// probabilities, and the constants with each other at the points x, which have equal weights.
func comparePrior(c Finite, x, weight []float64, ok Allowed) (best Prior) {
	t, _ := newSignTable(c, x) // maxCompared is below its limit
	most := mostWrong(uint64(t.m), ok)
	try := func(h Hypothesis, labels []uint64) {
		if near := weighNear(labels, t.bits, weight, most); near > best.Success || best.Answer == nil {
			best = Prior{near, h}
		}
	}
	for i := range t.n {
		try(c.Member(uint64(i)), t.row(i))
	}
	try(Constant{c.Dim(), -1}, make([]uint64, t.words))
	try(Constant{c.Dim(), 1}, everything(t.m))
	if best.Success > 1-1e-12 { // all targets, except for rounding
		best.Success = 1
	}
	return best
}

// weighNear returns the sum of the weights of the rows of a bit matrix that differ from h in at
// most most bits.
func weighNear(h, rows []uint64, weight []float64, most uint64) (sum float64) {
	for i, w := range weight {
		if w == 0 {
			continue
		}
		wrong := 0
		for j, b := range rows[i*len(h) : (i+1)*len(h)] {
			wrong += bits.OnesCount64(b ^ h[j])
		}
		if uint64(wrong) <= most {
			sum += w
		}
	}
	return sum
}

// mostWrong returns the largest number of m points of equal weight that may be mislabeled. m is
// below 2^52.
func mostWrong(m uint64, ok Allowed) uint64 {
	return uint64(sort.Search(int(m), func(k int) bool { return !ok(float64(k+1) / float64(m)) }))
}

// thresholdPrior returns the Prior of the thresholds: the thresholds within k points of the
// middle one are allowed. Targets that one function approximates all lie within 2k of each other,
// so no function does better.
func thresholdPrior(s Spec, _ Drawn, ok Allowed) (Prior, bool) {
	if s.NoConstant {
		return Prior{}, false
	}
	k := mostWrong(s.Domain, ok)
	share := float64(min(2*k+1, s.Domain+1)) / float64(s.Domain+1)
	return Prior{share, Threshold(float64(s.Domain / 2))}, true
}

// pointPrior returns the Prior of the points: the constant -1 mislabels one point of X, for every
// target.
func pointPrior(s Spec, _ Drawn, ok Allowed) (Prior, bool) {
	if ok(1 / float64(s.Domain)) {
		return Prior{1, Empty()}, true
	}
	return Prior{1 / float64(s.Domain), Point(float64(s.Domain / 2))}, true
}

// intervalPrior returns the Prior of the intervals of ceil(X/2) points. An interval [p, p+L-1]
// differs in 2|p-a| points from the target that starts at a; an interval of one point more
// differs from it in an odd number. Targets that one function approximates with k points wrong
// differ by up to 2k, and so start within k of each other. So no function covers more than k+1 of
// these targets.
func intervalPrior(s Spec, distribution Drawn, ok Allowed) (Prior, bool) {
	if distribution.Uniform {
		return Prior{}, false
	}
	length, starts := (s.Domain+1)/2, s.Domain/2+1
	k := min(mostWrong(s.Domain, ok), starts-1)
	odd := k % 2
	first := (starts - 1 - odd) / 2
	answer := Interval(float64(first), float64(first+length+odd-1))
	return Prior{float64(k+1) / float64(starts), answer}, true
}

// parityPrior returns the Prior of the parities: any two differ at half of all points.
func parityPrior(s Spec, _ Drawn, ok Allowed) (Prior, bool) {
	p := Prior{math.Ldexp(1, -s.Dim), Parity{Dim: s.Dim}}
	if ok(0.5) {
		p.Success = 1
	}
	return p, true
}

// halfspacePrior returns the Prior of the halfspaces for points uniform on the sphere: two
// normals at an angle a differ on a share a/pi of it, and the normals within a of the first axis
// are a cap.
func halfspacePrior(s Spec, _ Drawn, ok Allowed) (Prior, bool) {
	answer := Linear{W: make([]float64, s.Dim)}
	answer.W[0] = 1
	return Prior{CapPrior(s.Dim, func(angle float64) float64 { return angle / math.Pi }, ok), answer}, true
}
