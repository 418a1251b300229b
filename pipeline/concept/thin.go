package concept

import (
	"math"
	"math/rand/v2"
)

// thinned is a class with a sample and an eps, from which the exponential mechanism can draw.
type thinned[H any] interface {
	// draw draws from the exponential mechanism, and returns the number of errors of h beyond the
	// fewest.
	draw(r *rand.Rand) (h H, excess int)

	// decay returns exp(-eps d/2), the factor by which d more errors reduce a weight; total
	// returns the sum of decay(excess) over the class.
	decay(d int) float64
	total() float64
}

// thin draws from permute-and-flip by thinning draws of the exponential mechanism.
//
// Let p = exp(-eps (err(h) - Min)/2). Permute-and-flip gives every h an arrival time uniform in (0,
// 1) and a coin that accepts with probability p; the answer is the first accepted arrival. On the
// clock t = -ln(1 - arrival), arrivals are Exp(1), and the accepted arrival of h has survival
// function 1 - p(1 - e^-t) and hazard
//
//	p e^-t / (1 - p + p e^-t) = p / (1 + (1-p)(e^t - 1)) <= p.
//
// The first accepted arrival of all is thus the first event of independent Poisson processes with
// these rates. Thinning draws it: events at rate Z, the sum of all p, each with an h drawn with
// probability p/Z, which is the exponential mechanism, and kept with probability hazard/p. An h
// with p = 1 is always kept, so the loop ends.
//
// The rates add up to at least 1 + (Z-1)e^-t, so the first kept event is later than t with
// probability at most e^-t exp(-(Z-1)(1-e^-t)), and the mean number of draws is at most Z times the
// integral of that, Z (1-e^-(Z-1))/(Z-1) < 1.3.
func thin[H any](p thinned[H], r *rand.Rand) H {
	for t := 0.0; ; {
		t -= math.Log(uniform(r)) / p.total()
		h, excess := p.draw(r)
		if uniform(r)*(1+float64((1-p.decay(excess))*math.Expm1(t))) < 1 {
			return h
		}
	}
}
