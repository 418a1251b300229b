package distribution

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

// margin is the key that applies to all distributions of halfspaces.
var margin = Key{
	Name:    "margin",
	Doc:     "tau, the least value of y<u,x>, in (0, 1)",
	Example: "a number in (0, 1), for example 0.1",
	Field:   func(p *schemas.Problem) *float64 { return &p.Margin },
	Outside: func(p *schemas.Problem) string {
		if p.Margin > 0 && p.Margin < 1 {
			return ""
		}
		return fmt.Sprintf("%v is outside (0, 1)", p.Margin)
	},
}

// fitsBall reports whether the points of a class are those of a ball.
func fitsBall(class string) bool { return concept.ShapeOf(class) == concept.Ball }

// uncountable returns the number of points of a distribution on the sphere.
func uncountable(*schemas.Problem) float64 { return math.Inf(1) }

// halfspace is the shared part of the samplers of all distributions of halfspaces: the target,
// whose normal u is uniform on the unit sphere and drawn in each trial, and the margin tau.
type halfspace struct {
	Plane
	tau float64
}

func newHalfspace(p *schemas.Problem) halfspace {
	return halfspace{Plane: Plane{Normal: make([]float64, p.Dim)}, tau: p.Margin}
}

// Target implements Sampler.
func (h *halfspace) Target() concept.Target { return &h.Plane }

// drawMargin draws the margin y<u,x> of one example.
type drawMargin func(r *rand.Rand, tau float64) float64

// randomMargin draws a margin m in [tau, 1] such that 1/m is uniform: it is at most t with
// probability (1 - tau/t)/(1 - tau). Half of the margins are below 2 tau/(1 + tau), but their
// spread is of the order of sqrt(tau), so that treating all margins as equal does not determine
// the target.
func randomMargin(r *rand.Rand, tau float64) float64 { return randomMarginAt(tau, r.Float64()) }

// randomMarginAt is the quantile function of randomMargin.
func randomMarginAt(tau, v float64) float64 { return tau / (tau + float64((1-tau)*v)) }

// fixedMargin returns tau.
func fixedMargin(_ *rand.Rand, tau float64) float64 { return tau }
