package population

import (
	"math"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/numeric"
)

// Disguised draws rows as Sampler does, and hides them: in each trial it applies an isometry that
// is uniform among all (Haar's distribution on the orthogonal matrices) to every row, and a fair
// sign to every label. The halfspaces through the origin are the same after that, and so are the
// errors of a learner whose doings do not depend on the axes; what was known of the rows beforehand
// is worth nothing. It allocates nothing after it was made.
//
// The isometry is a product of reflections, the k-th of which moves the coordinates from k on, with
// a random sign for each: Stewart, "The efficient generation of random orthogonal matrices with an
// application to condition estimators", SIAM Journal on Numerical Analysis 17 (1980). It costs
// 2 Dim^2 operations a row, and Dim^2/2 numbers of memory.
type Disguised struct {
	Sampler
	mirrors []float64 // the mirrors' normals of length sqrt(2), the k-th of Dim-k numbers
	signs   []float64 // signs of the coordinates
	label   float64   // sign of the labels
}

// NewDisguised makes a sampler of disguised rows.
func NewDisguised(rows *Rows) *Disguised {
	d := rows.Dim
	return &Disguised{Sampler: Sampler{rows}, mirrors: make([]float64, d*(d+1)/2-1), signs: make([]float64, d), label: 1}
}

// Begin draws the isometry and the sign of the labels.
func (g *Disguised) Begin(r *rand.Rand) {
	g.label = numeric.Coin(r)
	left := g.mirrors
	for k := range g.signs {
		size := len(g.signs) - k
		if size == 1 {
			g.signs[k] = numeric.Coin(r)
			return
		}
		g.signs[k] = drawMirror(r, left[:size])
		left = left[size:]
	}
}

// drawMirror fills v with the normal, of length sqrt(2), of the mirror that swaps a uniform
// direction z and s times the first axis, and returns s, the sign that avoids cancellation.
func drawMirror(r *rand.Rand, v []float64) (s float64) {
	squared := 0.0
	for squared == 0 {
		for i := range v {
			v[i] = r.NormFloat64()
			squared += float64(v[i] * v[i])
		}
	}
	norm := math.Sqrt(squared)
	s = -math.Copysign(1, v[0])
	v[0] -= float64(s * norm)
	// |z - s |z| e|^2 = 2 |z| (|z| + |z_1|), and the second factor is |v_1|.
	scale := 1 / math.Sqrt(norm*math.Abs(v[0]))
	for i := range v {
		v[i] *= scale
	}
	return s
}

// Draw fills x and y with len(y) rows and their labels, disguised.
func (g *Disguised) Draw(r *rand.Rand, x, y []float64) {
	g.Sampler.Draw(r, x, y)
	g.Apply(x, y)
}

// Apply disguises rows and labels. A row that rounding puts outside of the unit ball comes back
// onto it.
func (g *Disguised) Apply(x, y []float64) {
	d := g.Dim
	for i := range y {
		g.turn(x[i*d : (i+1)*d])
		y[i] *= g.label
	}
}

// turn applies the isometry to a row: the reflections from the last to the first.
func (g *Disguised) turn(row []float64) {
	d, end := len(row), len(g.mirrors)
	row[d-1] *= g.signs[d-1]
	for k := d - 2; k >= 0; k-- {
		v := g.mirrors[end-(d-k) : end]
		end -= d - k
		z := row[k:]
		along := numeric.Dot(v, z)
		for i, w := range v {
			z[i] = float64(g.signs[k] * (z[i] - float64(along*w)))
		}
	}
	squared := numeric.Dot(row, row)
	if squared <= 1 {
		return
	}
	norm := math.Sqrt(squared)
	for i := range row {
		row[i] /= norm
	}
}
