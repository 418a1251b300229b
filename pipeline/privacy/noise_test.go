package privacy

import (
	"math/rand/v2"
	"testing"
)

type noiseCase struct {
	Out     []uint64 // two words of 32 bits per uniform
	U       []float64
	Gumbel  float64
	Laplace float64 `json:"laplace_b2"`
}

// words is a source that always returns the same word.
type words uint64

func (w words) Uint64() uint64 { return uint64(w) }

func TestSeededNoise(t *testing.T) {
	var v struct{ Philox []noiseCase }
	load(t, "inference_rng.json", &v)
	if len(v.Philox) == 0 {
		t.Fatal("the list of reference values is empty")
	}
	for _, c := range v.Philox {
		for i, u := range c.U {
			if got := Uniform(rand.New(words(c.Out[2*i]<<32 | c.Out[2*i+1]))); got != u {
				t.Errorf("Uniform: got %.17g, want %.17g", got, u)
			}
		}
		near(t, "Gumbel", Gumbel(c.U[0]), c.Gumbel, 1e-12)
		near(t, "Laplace", Laplace(c.U[0], 2), c.Laplace, 1e-12)
	}
}
