package concept

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"

	"gonum.org/v1/gonum/mathext"
)

// Normal is implemented by profiles that can also draw with Gaussian noise: those of parities,
// monotone-conjunctions, conjunctions and matrix.
type Normal interface {
	// Normal draws the h with the least err(h) + sigma N_h, where each hypothesis has its own
	// independent standard normal N_h. sigma is in [0, +Inf]: 0 gives a uniform member of those with
	// the fewest errors, +Inf a uniform member of the class.
	//
	// For parities with the whole cube as separator these are exactly the Gaussian perturbations sigma
	// <xi, s_h>, where xi is standard normal and s_h holds the labels of all m = 2^d points, divided
	// by sqrt(m): the rows s_h are orthonormal, so that the <xi, s_h> are independent.
	Normal(sigma float64, r *rand.Rand) Hypothesis
}

// enumerated is a class that keeps a number for each of its hypotheses. All its exact methods rest
// on one linear transform,
//
//	sums[h] = sum of at[v] over the points v with h(v) = +1,
//
// because err(h) is the number of examples labelled +1 and, at every v with h(v) = +1, those
// labelled -1 more and those labelled +1 less.
type enumerated struct {
	name   string
	dim    int
	size   *big.Int
	vc     int                    // known beforehand; otherwise
	search func() (low, high int) // finds it when it is asked
	domain string                 // what a coordinate can be, for errors
	limit  error                  // why there is no exact method; nil where there is
	kind

	// Where limit is nil:
	points, hypotheses int
	inPlace            bool // the transform takes one slice for at and sums
}

// kind holds what differs between enumerated classes.
type kind interface {
	member(i uint64) Hypothesis
	// point returns the number of a point, from 0, and -1; or the number of its first wrong
	// coordinate, stray, where it is outside the domain.
	point(row []float64) (v, stray int)
	counts(at, sums []int32)    // the transform, which may overwrite at
	weights(at, sums []float64) // the same
}

func (c *enumerated) Name() string   { return c.name }
func (c *enumerated) Dim() int       { return c.dim }
func (c *enumerated) Size() *big.Int { return new(big.Int).Set(c.size) }

// VC implements Class.
func (c *enumerated) VC() int {
	if c.search == nil {
		return c.vc
	}
	_, high := c.search()
	return high
}

// LogSize implements Class.
func (c *enumerated) LogSize() float64 {
	f, _ := new(big.Float).SetInt(c.size).Float64()
	return math.Log(f)
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

// outside returns the error for coordinate number stray of a row, which name names.
func (c *enumerated) outside(row []float64, stray int, name string) error {
	return fmt.Errorf("coordinate %d of %s: %v is not in the domain of class %q, %s",
		stray, name, row[stray], c.name, c.domain)
}

// tables makes the two arguments of the transform.
func tables[T any](c *enumerated) (at, sums []T) {
	at = make([]T, c.points)
	if c.inPlace {
		return at, at
	}
	return at, make([]T, c.hypotheses)
}

// errorTable is the profile of an enumerated class. Its levels hold the hypotheses with equally many
// errors, which are scattered over the class.
type errorTable struct {
	levels
	class     *enumerated
	at, sums  []int32  // made by the first Reset; int32 holds the sums of 2^30 examples
	positives int      // examples labelled +1
	byErr     []uint64 // hypotheses by number of errors
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

// Normal implements the interface Normal: a level by the least of its members' normals, then a
// uniform member.
func (p *errorTable) Normal(sigma float64, r *rand.Rand) Hypothesis {
	return p.uniformMember(lowest(p.list, p.min, sigma, p.noise.fill(len(p.list), r)), r)
}

// ranked returns number rank of the hypotheses of level i.
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

// lowest picks the segment with the least err + sigma N over all members and their independent
// standard normals N, given a uniform number for each segment. Divided by sigma, the order is the
// same, and right for sigma 0 and +Inf as well.
func lowest(list []segment, least int, sigma float64, u []float64) int {
	best, bottom := 0, math.Inf(1)
	for i, s := range list {
		behind := 0.0
		if d := s.err - least; d > 0 {
			behind = float64(d) / sigma
		}
		if behind > hopelessNormal {
			continue
		}
		if score := leastNormal(u[i], s.count) + behind; score < bottom {
			best, bottom = i, score
		}
	}
	return best
}

// hopelessNormal is the distance that no normal makes up for: with the numbers of uniform and
// counts below 2^64, leastNormal lies between -12.5 and 8.3.
const hopelessNormal = 21

// leastNormal returns the least of count independent standard normals, given a uniform number u. It
// is above z with probability (1-Phi(z))^count: z solves 1-Phi(z) = u^(1/count), from whichever
// tail of Phi is the smaller, so that nothing cancels.
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
	z        []int     // the points of the linear term
	at, sums []float64 // made by the first Minimize
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
// the linear term. Of equal objectives the first is taken as far as the transform's sums come out
// equal: always where all weights are integers, up to 2^53 in total.
func (m *objectiveTable) Minimize(x, y, w, c []float64) (Hypothesis, float64, error) {
	if m.at == nil {
		m.at, m.sums = tables[float64](m.class)
	}
	clear(m.at)
	none := 0.0 // the objective of a function that is -1 everywhere
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

// Best implements Class.
func (c *enumerated) Best(x, y, w []float64) (float64, error) {
	m, err := c.NewMinimizer(nil)
	if err != nil {
		return 0, err
	}
	if err := checkWeights(w); err != nil {
		return 0, err
	}
	h, _, err := m.Minimize(x, y, w, nil)
	if err != nil {
		return 0, err
	}
	return weigh(h, x, y, w), nil
}

// weigh returns the weighted error of h on a sample, each example weighing 1/len(y) where w is nil.
// Weights are only ever added, not subtracted as in the transform: an error of 0 comes out as 0.
func weigh(h Hypothesis, x, y, w []float64) float64 {
	labels := make([]float64, len(y))
	h.Labels(x, labels)
	wrong := 0.0
	for i, label := range labels {
		switch {
		case label == y[i]:
		case w == nil:
			wrong++
		default:
			wrong += w[i]
		}
	}
	if w == nil {
		wrong /= max(1, float64(len(y)))
	}
	return wrong
}
