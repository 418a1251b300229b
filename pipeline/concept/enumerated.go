package concept

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mathext"
)

// Normal is implemented by profiles that can also draw with Gaussian noise: those of parities,
// monotone-conjunctions, conjunctions and matrix.
type Normal interface {
	// Normal draws the h with the least err(h) + sigma N_h, where the N_h are independent
	// standard normals. sigma is in [0, +Inf]: 0 gives a uniform member of the minimizers of err,
	// +Inf a uniform member of the class.
	//
	// For parities with the whole cube as separator these are exactly the Gaussian perturbations sigma
	// <xi, s_h>, where xi is standard normal and s_h holds the labels of all m = 2^d points, divided
	// by sqrt(m): the rows s_h are orthonormal, so that the <xi, s_h> are independent.
	Normal(sigma float64, r *rand.Rand) Hypothesis
}

// enumerated is a class with a stored number for each of its hypotheses. All its exact methods
// use one linear transform,
//
//	sums[h] = sum of at[v] over the points v with h(v) = +1,
//
// because err(h) is the number of examples labeled +1, plus, at every v with h(v) = +1, the
// number of examples labeled -1 minus the number of examples labeled +1.
type enumerated struct {
	facts
	search func() (low, high int) // lazy computation of the dimension; nil if vc is known beforehand
	domain string                 // permitted values of a coordinate, for errors
	limit  error                  // reason why there is no exact method; nil if there is one
	kind

	// If limit is nil:
	points, hypotheses int
	inPlace            bool // the transform uses one slice for at and sums
}

// kind holds the differences between enumerated classes.
type kind interface {
	member(i uint64) Hypothesis
	// point returns the number of a point, from 0, and -1. If the point is outside the domain,
	// stray is the number of its first wrong coordinate.
	point(row []float64) (v, stray int)
	counts(at, sums []int32)    // the transform, which may overwrite at
	weights(at, sums []float64) // the same
}

// VC implements Class.
func (c *enumerated) VC() int {
	if c.search == nil {
		return c.vc
	}
	_, high := c.search()
	return high
}

// Member implements Finite.
func (c *enumerated) Member(i uint64) Hypothesis { return c.member(i) }

// example returns the number of the point of example i, after checking the point and its label.
func (c *enumerated) example(x, y []float64, i int) (int, error) {
	row := x[i*c.dim : (i+1)*c.dim]
	v, stray := c.point(row)
	if stray >= 0 {
		return 0, c.outside(row, stray, fmt.Sprintf("example %d", i))
	}
	return v, checkLabel(y, i)
}

// outside returns the error for coordinate number stray of a row; name identifies the row.
func (c *enumerated) outside(row []float64, stray int, name string) error {
	return fmt.Errorf("coordinate %d of %s: %v is not in the domain of class %q, %s",
		stray, name, row[stray], c.name, c.domain)
}

// tables allocates the two arguments of the transform.
func tables[T any](c *enumerated) (at, sums []T) {
	at = make([]T, c.points)
	if c.inPlace {
		return at, at
	}
	return at, make([]T, c.hypotheses)
}

// errorTable is the profile of an enumerated class. Each of its levels is the set of hypotheses
// with a given number of errors, which are scattered over the class.
type errorTable struct {
	levels
	class     *enumerated
	at, sums  []int32  // allocated by the first Reset; int32 can represent the sums of 2^30 examples
	positives int      // number of examples labeled +1
	byErr     []uint64 // number of hypotheses by number of errors
}

// NewProfile implements Class.
func (c *enumerated) NewProfile() (Profile, error) {
	if c.limit != nil {
		return nil, c.limit
	}
	p := &errorTable{class: c}
	p.member = p.ranked
	return p, nil
}

// Reset implements Profile. It takes the time of one transform, and O(n) for the sample.
func (p *errorTable) Reset(x, y []float64) error {
	p.list, p.positives = p.list[:0], 0
	if p.at == nil {
		p.at, p.sums = tables[int32](p.class)
	}
	clear(p.at)
	for i, label := range y {
		v, err := p.class.example(x, y, i)
		if err != nil {
			return err
		}
		gain := int32(1)
		if label > 0 {
			gain = -1
			p.positives++
		}
		p.at[v] += gain
	}
	p.class.counts(p.at, p.sums)
	p.byErr = zeroed(p.byErr, len(y)+1)
	for _, s := range p.sums {
		p.byErr[p.positives+int(s)]++
	}
	p.byErrors(p.byErr)
	return nil
}

// Normal implements the interface Normal: it draws the level with the least normal of its
// members, then a uniform member.
func (p *errorTable) Normal(sigma float64, r *rand.Rand) Hypothesis {
	return p.uniformMember(p.lowest(sigma, r), r)
}

// ranked returns hypothesis number rank of level i.
func (p *errorTable) ranked(i int, rank uint64) Hypothesis {
	sum := int32(p.list[i].err - p.positives)
	for h, s := range p.sums {
		if s != sum {
			continue
		}
		if rank == 0 {
			return p.class.member(uint64(h))
		}
		rank--
	}
	panic("rank beyond the level's count")
}

// lowest returns the level with the least err + sigma N over all members and their independent
// standard normals N. It compares the values divided by sigma, which have the same order and are
// valid for sigma 0 and +Inf too.
func (p *errorTable) lowest(sigma float64, r *rand.Rand) int {
	best, bottom := 0, math.Inf(1)
	for i, s := range p.list {
		u, behind := uniform(r), 0.0
		if d := s.err - p.min; d > 0 {
			behind = float64(d) / sigma
		}
		if behind > hopelessNormal {
			continue
		}
		if score := leastNormal(u, s.count) + behind; score < bottom {
			best, bottom = i, score
		}
	}
	return best
}

// hopelessNormal is a distance that no normal can exceed: with the numbers of uniform and counts
// below 2^64, leastNormal lies between -12.5 and 8.3.
const hopelessNormal = 21

// leastNormal returns the least of count independent standard normals, given a uniform number u.
// It is above z with probability (1-Phi(z))^count: z solves 1-Phi(z) = u^(1/count). The smaller
// tail of Phi is used to avoid cancellation.
func leastNormal(u float64, count uint64) float64 {
	above := math.Log(u) / float64(count) // ln(1-Phi(z))
	if above < -math.Ln2 {
		return -mathext.NormalQuantile(math.Exp(above))
	}
	return mathext.NormalQuantile(-math.Expm1(above))
}

// objectiveTable is the minimizer of an enumerated class: it computes the objective of every
// hypothesis.
type objectiveTable struct {
	class    *enumerated
	z        []int     // points of the linear term
	at, sums []float64 // allocated by the first Minimize
}

// NewMinimizer implements Finite.
func (c *enumerated) NewMinimizer(z []float64) (Minimizer, error) {
	if c.limit != nil {
		return nil, c.limit
	}
	if len(z)%c.dim != 0 {
		return nil, fmt.Errorf("linear term of %d numbers: not a multiple of the dimension %d", len(z), c.dim)
	}
	m := &objectiveTable{class: c}
	for ; len(z) > 0; z = z[c.dim:] {
		v, stray := c.point(z[:c.dim])
		if stray >= 0 {
			return nil, c.outside(z, stray, fmt.Sprintf("point %d of the linear term", len(m.z)))
		}
		m.z = append(m.z, v)
	}
	return m, nil
}

// Minimize implements Minimizer. It takes the time of one transform, and O(n) for the sample and
// the linear term. The first of equal objectives is returned if the transform's sums come out
// equal, which is certain if all weights are integers, up to 2^53 in total.
func (m *objectiveTable) Minimize(x, y, w, c []float64) (Hypothesis, float64, error) {
	if m.at == nil {
		m.at, m.sums = tables[float64](m.class)
	}
	clear(m.at)
	none := 0.0 // objective of a function that is -1 everywhere
	for i, label := range y {
		v, err := m.class.example(x, y, i)
		if err != nil {
			return nil, 0, err
		}
		weight := weightOf(w, i)
		if !(math.Abs(weight) <= math.MaxFloat64) {
			return nil, 0, fmt.Errorf("weight %v of example %d: not a finite number", weight, i)
		}
		if label > 0 {
			m.at[v] -= weight
			none += weight
		} else {
			m.at[v] += weight
		}
	}
	for j, weight := range c {
		if !(math.Abs(weight) <= math.MaxFloat64) {
			return nil, 0, fmt.Errorf("weight %v of point %d of the linear term: not a finite number", weight, j)
		}
		m.at[m.z[j]] += float64(2 * weight)
		none -= weight
	}
	m.class.weights(m.at, m.sums)
	best := 0
	for h, s := range m.sums {
		if s < m.sums[best] {
			best = h
		}
	}
	return m.class.member(uint64(best)), none + m.sums[best], nil
}
