package plugintest

import (
	"math"
	"math/rand/v2"

	"github.com/shatterlab/shatter/plugins/algo"
)

// problems are tried where the author names no settings.
var problems = []algo.Problem{
	{Class: "thresholds", Domain: 1024, Dim: 1, Noise: "none", Realizable: true},
	{Class: "points", Domain: 1024, Dim: 1, Noise: "none", Realizable: true},
	{Class: "intervals", Domain: 1024, Dim: 1, Noise: "none", Realizable: true},
	{Class: "stumps", Domain: 16, Dim: 3, Noise: "none", Realizable: true},
	{Class: "rectangles", Domain: 8, Dim: 2, Noise: "none", Realizable: true},
	{Class: "conjunctions", Dim: 4, Noise: "none", Realizable: true},
	{Class: "monotone-conjunctions", Dim: 5, Noise: "none", Realizable: true},
	{Class: "parities", Dim: 5, Noise: "none", Realizable: true},
	{Class: "matrix", Domain: 5, Dim: 1, Matrix: "00000" + "10110" + "01101" + "11011", Noise: "none", Realizable: true},
	{Class: "halfspace", Dim: 5, Margin: 0.1, Noise: "none", Realizable: true},
}

// endless are tried beside them in the task online: infinite classes without a law.
var endless = []algo.Problem{
	{Class: "thresholds-naturals", Dim: 1, Noise: "none", Realizable: true},
	{Class: "thresholds-dyadics", Dim: 1, Noise: "none", Realizable: true},
}

// draw fills x with points of a problem, and y, unless it is nil, with their labels. The key fixes
// the target as well as the points, so that a shorter table is the start of a longer one.
func draw(p algo.Problem, key uint64, x, y []float64) {
	r := rand.New(rand.NewPCG(key, 0x706c7567696e74))
	switch p.Class {
	case "matrix":
		drawColumns(p, r, x, y)
	case "conjunctions", "monotone-conjunctions", "parities":
		drawGrid(2, p.Dim, r, x, y)
	case "stumps", "rectangles":
		drawGrid(p.Domain, p.Dim, r, x, y)
	case "thresholds-naturals", "thresholds-dyadics":
		drawEndless(p, r, x, y)
	default:
		if p.Domain > 0 {
			drawOrdered(p, r, x, y)
		} else {
			drawHalfspace(p, r, x, y)
		}
	}
}

// drawColumns draws columns of a class matrix, labelled by one of its rows.
func drawColumns(p algo.Problem, r *rand.Rand, x, y []float64) {
	row := p.Matrix[r.IntN(len(p.Matrix)/int(p.Domain))*int(p.Domain):]
	for i := range x {
		v := r.Uint64N(p.Domain)
		x[i] = float64(v)
		if y != nil {
			y[i] = 2*float64(row[v]-'0') - 1
		}
	}
}

// drawGrid draws points of dim whole numbers below side. The label is +1 if the first number is
// large enough, which a stump, a rectangle, a conjunction and a parity can all express.
func drawGrid(side uint64, dim int, r *rand.Rand, x, y []float64) {
	low := float64(1 + r.Uint64N(side-1))
	for i := range x {
		x[i] = float64(r.Uint64N(side))
	}
	for i := range y {
		y[i] = -1
		if x[i*dim] >= low {
			y[i] = 1
		}
	}
}

// drawOrdered draws points of 0..Domain-1, a quarter of them at one place, so that single points
// can be learned too.
func drawOrdered(p algo.Problem, r *rand.Rand, x, y []float64) {
	low := r.Uint64N(p.Domain)
	high := math.Inf(1)
	switch p.Class {
	case "points":
		high = float64(low)
	case "intervals":
		high = float64(low + r.Uint64N(p.Domain-low))
	}
	for i := range x {
		x[i] = float64(r.Uint64N(p.Domain))
		if r.IntN(4) == 0 {
			x[i] = float64(low)
		}
		if y != nil {
			y[i] = -1
			if x[i] >= float64(low) && x[i] <= high {
				y[i] = 1
			}
		}
	}
}

// drawEndless draws points of 1..1024, or of the multiples of 1/1024 below 1.
func drawEndless(p algo.Problem, r *rand.Rand, x, y []float64) {
	const side = 1024
	drawOrdered(algo.Problem{Class: "thresholds", Domain: side}, r, x, y)
	for i := range x {
		if p.Class == "thresholds-naturals" {
			x[i]++
		} else {
			x[i] /= side
		}
	}
}

// drawHalfspace draws points of the unit ball at least the margin away from a hyperplane through 0.
func drawHalfspace(p algo.Problem, r *rand.Rand, x, y []float64) {
	w := make([]float64, p.Dim)
	direction(r, w)
	for i := range len(x) / p.Dim {
		v := x[i*p.Dim : (i+1)*p.Dim]
		direction(r, v)
		along := 0.0
		for k := range v {
			along += v[k] * w[k]
		}
		label := 1.0
		if r.IntN(2) == 0 {
			label = -1
		}
		// Keep the part across w, which is at most 1 long, and choose the part along w.
		distance := p.Margin + (1-p.Margin)*r.Float64()
		across := math.Sqrt(1 - distance*distance)
		for k := range v {
			v[k] = across*(v[k]-along*w[k]) + label*distance*w[k]
		}
		if y != nil {
			y[i] = label
		}
	}
}

// direction fills v with a random vector of length 1.
func direction(r *rand.Rand, v []float64) {
	norm := 0.0
	for norm == 0 {
		norm = 0
		for k := range v {
			v[k] = r.NormFloat64()
			norm += v[k] * v[k]
		}
	}
	norm = math.Sqrt(norm)
	for k := range v {
		v[k] /= norm
	}
}
