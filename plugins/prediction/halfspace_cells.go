package prediction

import (
	"cmp"
	"math"
	"slices"

	"github.com/shatterlab/shatter/pipeline/numeric"
)

// maxCellDim is the largest dimension in which cells searches.
const maxCellDim = 3

const (
	parallelSine = 1e-9  // two hyperplanes with a smaller sine of their angle count as one
	sameAngle    = 1e-11 // two ends of arcs that are closer count as one
)

// cells finds the deepest cell of an arrangement of hyperplanes through the origin, in at most
// three dimensions. The hyperplanes may be in any position and may repeat. It owns scratch memory.
type cells struct {
	best       []bool    // whether each row is positive in the best cell so far
	weight     []int     // weight of each row
	flat       []float64 // projections to a hyperplane, two numbers each
	flatWeight []int     // weight of each projection
	ends       []arcEnd
}

// An arcEnd is the beginning (weight > 0) or the end of a row's arc of positive directions.
type arcEnd struct {
	angle  float64
	weight int
}

// deepest finds the cell in R^d with the largest total weight of the rows, unit vectors, that are
// positive in it. It returns that weight and marks these rows. The first m rows have weight 1; row
// m, if there is one, has weight m + 1. It takes O(m), O(m log m) and O(m^2 log m) steps for d = 1,
// 2 and 3.
func (c *cells) deepest(rows []float64, d, m int) (weight int, inside []bool) {
	n := len(rows) / d
	c.best = slices.Grow(c.best[:0], n)[:n]
	c.weight = c.weight[:0]
	for i := range n {
		c.weight = append(c.weight, 1)
		if i == m {
			c.weight[i] = m + 1
		}
	}
	switch d {
	case 1:
		weight = c.onLine(rows)
	case 2:
		var x, y float64
		weight, x, y = c.sweep(rows, c.weight)
		for i := range c.best {
			c.best[i] = positive(rows[2*i], rows[2*i+1], x, y)
		}
	case 3:
		weight = c.inSpace(rows)
	}
	return weight, c.best
}

// crosses reports whether a plane crosses the plane to which its unit normal is projected; the
// projection is (a, b).
func crosses(a, b float64) bool { return float64(a*a)+float64(b*b) > parallelSine*parallelSine }

// positive reports whether the inner product of (a, b) and (x, y) is positive.
func positive(a, b, x, y float64) bool { return float64(a*x)+float64(b*y) > 0 }

// onLine implements deepest for d = 1.
func (c *cells) onLine(rows []float64) int {
	plus, minus := 0, 0
	for i, u := range rows {
		if u > 0 {
			plus += c.weight[i]
		} else {
			minus += c.weight[i]
		}
	}
	for i, u := range rows {
		c.best[i] = (u > 0) == (plus >= minus)
	}
	return max(plus, minus)
}

// inSpace implements deepest for d = 3. Every cell has a facet on one of the planes. In that plane,
// the facet is a cell of the other planes' traces, and the cell is on one side of the planes that
// coincide with it.
func (c *cells) inSpace(rows []float64) (weight int) {
	for i := 0; i < len(rows); i += 3 {
		normal := [3]float64(rows[i : i+3])
		e1, e2 := frame(normal)
		c.flat, c.flatWeight = c.flat[:0], c.flatWeight[:0]
		plus, minus := 0, 0
		for l, w := range c.weight {
			u := [3]float64(rows[3*l : 3*l+3])
			a, b := numeric.Dot(u[:], e1[:]), numeric.Dot(u[:], e2[:])
			switch {
			case crosses(a, b):
				c.flat, c.flatWeight = append(c.flat, a, b), append(c.flatWeight, w)
			case numeric.Dot(u[:], normal[:]) > 0:
				plus += w
			default:
				minus += w
			}
		}
		facet, x, y := c.sweep(c.flat, c.flatWeight)
		if facet += max(plus, minus); facet <= weight {
			continue
		}
		weight = facet
		for l := range c.weight {
			u := [3]float64(rows[3*l : 3*l+3])
			if a, b := numeric.Dot(u[:], e1[:]), numeric.Dot(u[:], e2[:]); crosses(a, b) {
				c.best[l] = positive(a, b, x, y)
			} else {
				c.best[l] = (numeric.Dot(u[:], normal[:]) > 0) == (plus >= minus)
			}
		}
	}
	return weight
}

// frame returns an orthonormal basis of the plane orthogonal to the unit vector n.
func frame(n [3]float64) (e1, e2 [3]float64) {
	least := 0
	for j := range n {
		if math.Abs(n[j]) < math.Abs(n[least]) {
			least = j
		}
	}
	for j := range e1 {
		e1[j] = -float64(n[least] * n[j])
	}
	e1[least]++
	normalize(e1[:])
	for j := range e2 {
		k, l := (j+1)%3, (j+2)%3
		e2[j] = float64(n[k]*e1[l]) - float64(n[l]*e1[k])
	}
	return e1, e2
}

// sweep rotates a direction once around the circle and returns one at which the total weight of the
// positive rows (two numbers each, not 0) is largest. The direction is in the middle of its arc.
func (c *cells) sweep(rows []float64, weights []int) (weight int, x, y float64) {
	if len(weights) == 0 {
		return 0, 1, 0
	}
	c.ends = c.ends[:0]
	now := 0
	for i, w := range weights {
		angle := math.Atan2(rows[2*i+1], rows[2*i])
		begin, end := turn(angle-math.Pi/2), turn(angle+math.Pi/2)
		c.ends = append(c.ends, arcEnd{begin, w}, arcEnd{end, -w})
		if begin > end { // the row is positive at angle 0
			now += w
		}
	}
	slices.SortFunc(c.ends, func(a, b arcEnd) int { return cmp.Compare(a.angle, b.angle) })
	weight = -1
	for i, e := range c.ends {
		now += e.weight
		next := c.ends[0].angle + 2*math.Pi
		if i+1 < len(c.ends) {
			next = c.ends[i+1].angle
		}
		if next-e.angle > sameAngle && now > weight {
			middle := (e.angle + next) / 2
			weight, x, y = now, math.Cos(middle), math.Sin(middle)
		}
	}
	return weight, x, y
}

// turn reduces the angle to [0, 2 pi).
func turn(angle float64) float64 {
	if angle < 0 {
		angle += 2 * math.Pi
	}
	if angle >= 2*math.Pi {
		angle -= 2 * math.Pi
	}
	return angle
}
