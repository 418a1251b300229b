package noise

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem/blame"
	"github.com/shatterlab/shatter/schemas"
)

// Every kind of noise has complete fields, changes about as many examples as its rate specifies,
// negates labels and preserves points unless Points is set, and is a function of the sample and
// of its stream.
func TestKinds(t *testing.T) {
	const n, dim = 1000, 3
	r := rand.New(rand.NewPCG(1, 2))
	x, y := make([]float64, n*dim), make([]float64, n)
	for i := range x {
		x[i] = float64(r.IntN(2))
	}
	for i := range y {
		y[i] = 2*float64(r.IntN(2)) - 1
	}
	for _, k := range All() {
		if k.Name == "" || k.Doc == "" || strings.Contains(k.Doc, "\n") || strings.HasSuffix(k.Doc, ".") ||
			k.flipper == nil ||
			Lookup(k.Name) != k {
			t.Fatalf("%q: a kind has a name of its own, a doc of one line without a full stop, and a flipper", k.Name)
		}
		rates := []float64{0}
		if k.Rate {
			rates = []float64{0, 0.1, 0.49}
		}
		for _, rate := range rates {
			spec := schemas.Noise{Kind: k.Name, Rate: rate}
			if err := Resolve(&spec); err != nil || spec.Rate != rate {
				t.Fatalf("%+v: %v", spec, err)
			}
			for _, shape := range []concept.Shape{concept.Scalar, concept.Grid, concept.Bits, concept.Column, concept.Ball} {
				dim := dim
				if !shape.HasDim() {
					dim = 1
				}
				flipped := func() (points, labels []float64) {
					points, labels = slices.Clone(x[:n*dim]), slices.Clone(y)
					New(spec, shape).Flip(rand.New(rand.NewPCG(3, 4)), points, labels)
					if !slices.Equal(points, x[:n*dim]) && !(k.Points && rate > 0 && shape == concept.Ball) {
						t.Errorf("%+v: points have changed", spec)
					}
					return points, labels
				}
				points, labels := flipped()
				wrong := 0
				for i := range labels {
					if math.Abs(labels[i]) != 1 {
						t.Fatalf("%+v: the label %v", spec, labels[i])
					}
					if labels[i] != y[i] || !slices.Equal(points[i*dim:(i+1)*dim], x[i*dim:(i+1)*dim]) {
						wrong++
					}
				}
				if most := 5 * math.Sqrt(n*rate*(1-rate)); math.Abs(float64(wrong)-n*rate) > most {
					t.Errorf("%+v: %d of %d labels are wrong", spec, wrong, n)
				}
				if again, same := flipped(); !slices.Equal(labels, same) || !slices.Equal(points, again) {
					t.Errorf("%+v: equal streams give other examples", spec)
				}
			}
		}
	}
}

// FirstWrong is the least size of which a label is turned.
func TestFirstWrong(t *testing.T) {
	for _, rate := range []float64{0.001, 0.0317, 0.1, 0.2, 0.29, 1.0 / 3, 0.4999} {
		least := int64(1)
		for flips(rate, int(least)) == 0 {
			least++
		}
		for kind, want := range map[string]int64{"adversarial": least, "malicious": least, "random": 0, "none": 0} {
			if got := FirstWrong(schemas.Noise{Kind: kind, Rate: rate}); got != want {
				t.Errorf("%s of rate %v: %d, want %d", kind, rate, got, want)
			}
		}
	}
}

// Keys that do not apply or are out of range are rejected by name.
func TestResolveRefuses(t *testing.T) {
	for _, k := range All() {
		for _, rate := range []float64{-0.1, 0.5, math.NaN(), math.Inf(1)} {
			var wrong *blame.Error
			if err := Resolve(&schemas.Noise{Kind: k.Name, Rate: rate}); !errors.As(err, &wrong) ||
				wrong.Key != "problem.noise.rate" {
				t.Errorf("%s: %v: the error is %v", k.Name, rate, err)
			}
		}
	}
	n := schemas.Noise{}
	if err := Resolve(&n); err != nil || n.Kind != "none" {
		t.Errorf("%+v, %v: no noise is the kind none", n, err)
	}
	var wrong *blame.Error
	if err := Resolve(&schemas.Noise{Kind: "loud"}); !errors.As(err, &wrong) || wrong.Key != "problem.noise.kind" {
		t.Errorf("an unknown kind: %v", err)
	}
}
