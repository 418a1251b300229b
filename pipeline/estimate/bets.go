package estimate

import (
	"math"

	"github.com/shatterlab/shatter/pipeline/numeric"
)

// A side is a side of Target: the sample sizes that are insufficient, or those that are
// sufficient.
type side int

const (
	insufficient side = iota // success is less likely than Target
	sufficient               // success is at least as likely as Target
	bothSides                // number of sides
)

// A mixture sums numbers that are given by their logarithms. The zero value is the empty sum.
type mixture struct{ top, sum float64 } // sum e^top

// add adds weight e^log to the sum.
func (m *mixture) add(weight, log float64) {
	switch {
	case weight == 0:
	case m.sum == 0:
		m.top, m.sum = log, weight
	case log > m.top:
		m.top, m.sum = log, float64(m.sum*math.Exp(m.top-log))+weight
	default:
		m.sum += float64(weight * math.Exp(log-m.top))
	}
}

func (m *mixture) log() float64 { return m.top + math.Log(m.sum) }

// fixedShare is the part of a size's e-process that does not depend on the belief. It detects
// success rates that the belief does not contain.
const fixedShare = 1.0 / 64

// fixedBets holds an e-process for each side of Target that depends only on the counts of one
// size. Half of the unit is not bet; the other half is spread evenly over likelihood ratios of
// rates whose logit lies 4, 2, 1, ..., 1/32 beyond that of Target. The fields are the logarithms
// of the ratios for one trial.
type fixedBets struct{ success, miss [2][8]float64 }

func newFixedBets(target float64) (o fixedBets) {
	odds := math.Log(target / (1 - target))
	for i := range o.success[0] {
		for s, sign := range []float64{-1, +1} {
			shifted := math.Exp(odds + math.Ldexp(sign*4, -i))
			miss := 1 / (1 + shifted)
			o.success[s][i], o.miss[s][i] = math.Log(miss*shifted/target), math.Log(miss/(1-target))
		}
	}
	return o
}

// fixedBetsOf returns the fixed bets of a target. Searches share them.
var fixedBetsOf = numeric.Remember(func(target float64) *fixedBets {
	bets := newFixedBets(target)
	return &bets
})

// wealth returns the logarithm of the e-process for side s after successes in n trials.
func (o *fixedBets) wealth(s side, successes, n int) float64 {
	m := mixture{sum: 0.5}
	for i, up := range o.success[s] {
		ratio := float64(float64(successes)*up) + float64(float64(n-successes)*o.miss[s][i])
		m.add(0.5/float64(len(o.success[s])), ratio)
	}
	return m.log()
}

// LogWealth returns the natural logarithm of the Beta(1/2, 1/2)-mixture e-process against success
// probability p after k successes in n trials:
// ln B(k+1/2, n-k+1/2) - ln B(1/2, 1/2) - k ln p - (n-k) ln(1-p).
//
// If the trials are independent with probability p, the process ever reaches ln(1/level) with
// probability at most level (Ville 1939), even if it is checked after every trial. 0 <= k <= n,
// and p is in (0, 1).
func LogWealth(k, n int, p float64) float64 {
	won, lost := float64(k), float64(n-k)
	return logBeta(won+0.5, lost+0.5) - math.Log(math.Pi) - float64(won*math.Log(p)) - float64(lost*math.Log1p(-p))
}

func logBeta(a, b float64) float64 {
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	return la + lb - lab
}
