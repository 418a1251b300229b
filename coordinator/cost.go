package coordinator

import (
	"cmp"
	"slices"

	"github.com/shatterlab/shatter/coordinator/forecast"
)

// costs holds what trials took at the sample sizes that were tried, ascending in n.
type costs []sizeCost

// sizeCost is what a trial took at a sample size, in seconds.
type sizeCost struct {
	n       int64
	seconds float64
}

// at predicts the seconds of a trial at n. They are a line between the sizes that were tried, which
// goes on beyond the last, but not faster than n. Below the first, and where only one was tried,
// they are proportional to n.
func (c costs) at(n int64) float64 {
	switch {
	case len(c) == 0:
		return 0
	case len(c) == 1 || n <= c[0].n:
		return c[0].seconds * float64(n) / float64(c[0].n)
	}
	i, _ := slices.BinarySearchFunc(c, n, func(s sizeCost, n int64) int { return cmp.Compare(s.n, n) })
	if i == len(c) {
		return c.beyond(n)
	}
	a, b := c[i-1], c[i]
	slope := max(0, (b.seconds-a.seconds)/float64(b.n-a.n))
	return a.seconds + float64(slope*float64(n-a.n))
}

// beyond does the work of at beyond the last size. The slope is that from a size well below it,
// because the difference of near ones is mostly chance.
func (c costs) beyond(n int64) float64 {
	b := c[len(c)-1]
	a := c[0]
	for _, s := range c[:len(c)-1] {
		if 4*s.n <= b.n {
			a = s
		}
	}
	if b.seconds < 1.3*a.seconds {
		return b.seconds // the difference may be chance, and would be carried far
	}
	slope := (b.seconds - a.seconds) / float64(b.n-a.n)
	return b.seconds + float64(min(slope, b.seconds/float64(b.n))*float64(n-b.n))
}

// limits returns two limits of the seconds of a trial at n. They differ beyond the sizes that were
// tried: trials there cost as much as at the nearest one at least, and in proportion to n at most.
func (c costs) limits(n int64) (low, high float64) {
	switch likely := c.at(n); {
	case len(c) == 0:
		return 0, 0
	case n < c[0].n:
		return likely, c[0].seconds
	case n > c[len(c)-1].n:
		last := c[len(c)-1]
		return last.seconds, max(likely, last.seconds*float64(n)/float64(last.n))
	default:
		return likely, likely
	}
}

// costs returns what the cell's trials took.
func (c *cell) costs() (out costs) {
	for _, s := range c.sizes {
		if s.trials > 0 {
			out = append(out, sizeCost{s.n, s.seconds / float64(s.trials)})
		}
	}
	return out
}

// spent returns the seconds that the cell's trials took.
func (c *cell) spent() (seconds float64) {
	for _, s := range c.sizes {
		seconds += s.seconds
	}
	return seconds
}

// jobRule says how the cell's trials are handed out if they cost what seconds says.
func (c *cell) jobRule(seconds func(n int64) float64) forecast.Jobs {
	return forecast.Jobs{Seconds: seconds, Best: func(n int64) float64 {
		_, best := c.aims(n)
		return best
	}}
}
