package concept

import (
	"math"

	"github.com/shatterlab/shatter/pipeline/numeric"
)

// The limits of rectanglePrior.
const (
	maxPriorDim   = 64      // numbers of a point, where the offsets are too many to list
	maxListedSide = 64      // of a domain whose boxes are all tried
	maxOffsets    = 1 << 14 // combinations of offsets of all axes but one that are listed
	priorCells    = 1 << 10 // of the grid on which offsets are added up where they are not listed
	priorSides    = 64      // sides of boxes that are tried in large domains
)

// rectanglePrior returns the Prior of the rectangles, whose targets are cubes of one side at independent
// uniform offsets. For given sides the best box lies in the middle: on each axis the offsets with
// at least some overlap are a window around it. In two dimensions and up to 64 values all sides are
// tried; in three or more, or in larger domains, only nearly equal ones.
func rectanglePrior(s Spec, law Drawn, ok Allowed) (Prior, bool) {
	if law.Uniform {
		return Prior{}, false
	}
	c := newBoxCounter(s, ok)
	if ok(math.Pow(float64(c.side)/float64(c.x), float64(s.Dim))) {
		return Prior{1, make(Rectangle, s.Dim).emptied()}, true
	}
	if s.Dim > maxPriorDim && !c.listed() {
		return Prior{}, false
	}
	best, answer := -1.0, []uint64(nil)
	c.each(func(sides []uint64) {
		if share := c.share(sides); share > best {
			best, answer = share, append([]uint64(nil), sides...)
		}
	})
	h := make(Rectangle, s.Dim)
	for j, side := range answer {
		low := (c.x - side) / 2
		h[j] = Interval(float64(low), float64(low+side-1))
	}
	return Prior{min(1, best), h}, true
}

// boxCounter counts the targets near a box.
type boxCounter struct {
	x, side, starts uint64 // of the domain, of the targets, and their offsets on each axis
	dim             int
	ok              Allowed
	limit           float64 // the largest error that ok allows
}

func newBoxCounter(s Spec, ok Allowed) *boxCounter {
	side := halfSide(s.Dim, s.Domain)
	limit, _ := numeric.Bisect(0, 2, ok)
	return &boxCounter{x: s.Domain, side: side, starts: s.Domain - side + 1, dim: s.Dim, ok: ok, limit: limit}
}

// listed reports whether the offsets on all axes but one are few.
func (c *boxCounter) listed() bool {
	return math.Pow(float64(c.starts/2+1), float64(c.dim-1)) <= maxOffsets
}

// each calls try with the sides of boxes that may be the best.
func (c *boxCounter) each(try func(sides []uint64)) {
	sides := make([]uint64, c.dim)
	set := func(long, short uint64, axes int) { // that many axes have the long side
		for j := range sides {
			if sides[j] = short; j < axes {
				sides[j] = long
			}
		}
		try(sides)
	}
	if c.x > maxListedSide {
		for i := range uint64(priorSides) {
			side := c.side - uint64(float64(c.side)*float64(i)/(2*priorSides))
			set(side, side, c.dim)
		}
		set(c.x, c.x, c.dim)
		return
	}
	for long := c.x; long > 0; long-- {
		set(long, long, c.dim)
		if c.dim == 2 {
			for short := range long {
				set(long, short, 1)
			}
			continue
		}
		for axes := 1; axes < min(c.dim, maxPriorDim); axes++ {
			set(long, long-1, axes)
		}
	}
}

// near counts the offsets of an axis on which a target and the middle interval of that side have at
// least y points in common, y above 0.
func (c *boxCounter) near(side uint64, y float64) float64 {
	if y > float64(min(side, c.side)) {
		return 0
	}
	low := float64((c.x - side) / 2)
	first := max(0, math.Ceil(low+y-float64(c.side)))
	last := min(float64(c.starts-1), math.Floor(low+float64(side)-y))
	return max(0, last-first+1)
}

// share returns the probability of the targets near the box in the middle with these sides.
func (c *boxCounter) share(sides []uint64) float64 {
	alone, x := math.Pow(float64(c.side)/float64(c.x), float64(c.dim)), float64(c.x)
	own := 1.0
	for _, side := range sides {
		own *= float64(side) / x
	}
	if c.listed() {
		return c.list(sides, 1, alone+own)
	}
	return c.add(sides, (alone+own-c.limit)/2)
}

// list returns the share of the offsets, on the axes of the given sides, at which the targets are
// near: those whose common share with the box, times the factor of the axes before, is large enough.
func (c *boxCounter) list(sides []uint64, factor, alone float64) (sum float64) {
	x, top := float64(c.x), min(sides[0], c.side)
	enough := func(y uint64) bool { return c.ok(alone - 2*factor*float64(y)/x) }
	if len(sides) == 1 {
		switch {
		case !enough(top):
			return 0
		case enough(0):
			return 1
		}
		y := numeric.BisectInt(0, float64(top), func(y float64) bool { return enough(uint64(y)) })
		return c.near(sides[0], y) / float64(c.starts)
	}
	before := 0.0
	for y := top; before < float64(c.starts); y-- {
		count := float64(c.starts)
		if y > 0 {
			count = c.near(sides[0], float64(y))
		}
		if count > before {
			sum += (count - before) * c.list(sides[1:], factor*float64(y)/x, alone)
		}
		before = count
	}
	return sum / float64(c.starts)
}

// add returns the probability that the common share with the box is at least least. It adds up
// minus its logarithm, axis by axis, on a grid.
func (c *boxCounter) add(sides []uint64, least float64) float64 {
	if least <= 0 {
		return 1
	}
	most := -math.Log(least)
	for _, side := range sides {
		most += math.Log(float64(min(side, c.side)) / float64(c.x))
	}
	if most < 0 {
		return 0
	}
	total := []float64{1}
	step := most / priorCells
	for _, side := range sides {
		top := float64(min(side, c.side))
		cells, before := make([]float64, priorCells+1), 0.0
		for i := range cells {
			count := c.near(side, top*math.Exp(-(float64(i)+0.5)*step))
			cells[i], before = (count-before)/float64(c.starts), count
		}
		total = convolve(total, cells)
	}
	sum := -total[priorCells] / 2 // the last cell reaches beyond the limit
	for _, p := range total {
		sum += p
	}
	return sum
}

// convolve returns the law of the sum of two independent numbers, as far as the second law goes.
func convolve(a, b []float64) []float64 {
	sum := make([]float64, len(b))
	for i, p := range a {
		for j, q := range b[:len(b)-i] {
			sum[i+j] += float64(p * q)
		}
	}
	return sum
}
