package boosting

import (
	"math"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/numeric"
	"github.com/shatterlab/shatter/plugins/algo"
)

// trialOf returns a trial of an algorithm whose Check has resolved the setting, which it must accept.
func trialOf[P any](a algo.Algorithm[P], s algo.Setting[P], seed uint64) *algo.Trial[P] {
	if err := a.Check(&s); err != nil {
		panic(err)
	}
	return &algo.Trial[P]{Setting: s, Rand: rand.New(rand.NewPCG(seed, 99))}
}

// distribution draws examples with margin tau along u: y x = tau u + sqrt(1-tau^2) q, where q is a
// unit vector orthogonal to u. q is uniform or, with skew, points towards e with probability (1 -
// minority) and towards -e otherwise. u and e are random.
type distribution struct {
	tau, minority float64
	skew          bool
	u, e          []float64 // orthonormal
	rand          *rand.Rand
}

func newDistribution(r *rand.Rand, d int, tau float64, skew bool) *distribution {
	l := &distribution{tau: tau, minority: 0.2, skew: skew, rand: r}
	l.u = l.unit(make([]float64, d))
	l.e = l.unit(make([]float64, d), l.u)
	return l
}

// unit sets v to a uniform unit vector orthogonal to others, which are orthonormal, and returns it.
func (l *distribution) unit(v []float64, others ...[]float64) []float64 {
	for j := range v {
		v[j] = l.rand.NormFloat64()
	}
	for _, o := range others {
		c := numeric.Dot(v, o)
		for j := range v {
			v[j] -= c * o[j]
		}
	}
	return scaled(v, 1/math.Sqrt(numeric.Dot(v, v)))
}

func (l *distribution) draw(n int) *algo.Data {
	d := len(l.u)
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range y {
		y[i] = float64(2*l.rand.IntN(2) - 1)
		l.example(x[i*d:(i+1)*d], y[i])
	}
	return algo.NewData(x, d, y)
}

// example sets q to an example with label y.
func (l *distribution) example(q []float64, y float64) {
	if l.skew {
		l.unit(q, l.u, l.e)
		side := 1.0
		if l.rand.Float64() < l.minority {
			side = -1
		}
		for j := range q {
			q[j] = side*l.e[j] + q[j]/2
		}
		scaled(q, 1/math.Sqrt(numeric.Dot(q, q)))
	} else {
		l.unit(q, l.u)
	}
	across := math.Sqrt(1 - l.tau*l.tau)
	for j := range q {
		q[j] = y * (l.tau*l.u[j] + across*q[j])
	}
	scaled(q, min(1, 1/math.Sqrt(numeric.Dot(q, q))))
}
