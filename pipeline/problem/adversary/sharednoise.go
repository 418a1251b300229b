package adversary

import (
	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/theory"
	"github.com/shatterlab/shatter/schemas"
)

var sharedNoise = Adversary{
	Name: "shared-noise",
	Doc: "always asks one point that splits the class. The lead is the number of truths -1 minus the number " +
		"of truths +1; the truth contradicts the last label observed at the same lead. A learner whose " +
		"noise is drawn once repeats that label, and one with fresh noise errs half of the time",
	Reveals: "the truth is the opposite of the learner's label at the same lead, if there was one",
	Place:   9,
	Refuses: onDistribution(nil),
	Knows:   func(schemas.Adversary) string { return theory.SeesPast },
	rounds: func(g game, _ schemas.Adversary) (Rounds, error) {
		return &sharedNoiseRounds{game: g, point: g.splitting(), given: map[int]float64{}}, nil
	},
}

// sharedNoiseRounds always asks one point: a learner only learns the difference between the
// numbers of truths -1 and +1.
type sharedNoiseRounds struct {
	game
	point []float64
	lead  int             // truths -1 minus truths +1
	given map[int]float64 // last label by lead
	truth float64
}

func (o *sharedNoiseRounds) Next(x []float64) { copy(x, o.point) }

func (o *sharedNoiseRounds) Truth(float64) float64 {
	o.truth = o.against(o.given[o.lead])
	return o.truth
}

func (o *sharedNoiseRounds) Observe(label float64) {
	o.given[o.lead] = label
	o.lead -= int(o.truth)
}

// splitting returns a point on which two hypotheses disagree, if there is one.
func (v *View) splitting() []float64 {
	x := make([]float64, v.class.Dim)
	switch concept.ShapeOf(v.class.Name) {
	case concept.Scalar, concept.Grid: // the middle
		for j := range x {
			x[j] = float64((v.class.Domain - 1) / 2)
		}
	case concept.Column:
		width := int(v.class.Domain)
		x[0] = float64(max(0, evenest(rowsOf(v.class.Matrix, width), width)))
	case concept.Bits, concept.Ball:
		// The first number is 1, the others 0; the point 0 for monotone conjunctions, whose
		// conjunction of no bits is +1 everywhere.
		if v.class.Name != concept.MonotoneConjunctions {
			x[0] = 1
		}
	}
	return x
}
