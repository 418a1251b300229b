package concept

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// benchSample returns n uniform points of 0..domain-1, labelled by the middle threshold with 10 %
// flipped.
func benchSample(n int, domain uint64) (x, y []float64) {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	x, y = make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = float64(r.Uint64N(domain))
		y[i] = Threshold(float64(domain / 2)).Label(x[i])
		if r.IntN(10) == 0 {
			y[i] = -y[i]
		}
	}
	return x, y
}

// A trial allocates the hypothesis that it answers, and nothing else.
func TestTrialAllocations(t *testing.T) {
	x, y := benchSample(100, 1<<32)
	for _, name := range []string{"thresholds", "points", "intervals"} {
		for _, m := range mechanisms() {
			p, r := profileOf(t, name, 1<<32, false, x, y), rand.New(rand.NewPCG(1, 1))
			got := testing.AllocsPerRun(100, func() {
				if err := p.Reset(x, y); err != nil {
					t.Fatal(err)
				}
				m.draw(p, 1, r)
			})
			if got > 1 {
				t.Errorf("%s, %s: %v allocations per trial", name, m.name, got)
			}
		}
	}
}

// Every round has another sample, so that no branch is learnt by heart.
func BenchmarkTrial(b *testing.B) {
	const rounds = 64
	for _, name := range []string{"thresholds", "points", "intervals"} {
		for _, m := range mechanisms() {
			for _, c := range []struct {
				n    int
				bits int // of the domain
			}{{50, 16}, {444, 16}, {5000, 16}, {100, 32}, {1000, 32}, {10000, 32}} {
				n, domain := c.n, uint64(1)<<c.bits
				b.Run(fmt.Sprintf("%s/%s/X=2^%d/n=%d", name, m.name, c.bits, n), func(b *testing.B) {
					x, y := benchSample(n*rounds, domain)
					p, r := profileOf(b, name, domain, false, x[:n], y[:n]), rand.New(rand.NewPCG(1, 1))
					b.ReportAllocs()
					for i := 0; b.Loop(); i = (i + 1) % rounds {
						if err := p.Reset(x[i*n:(i+1)*n], y[i*n:(i+1)*n]); err != nil {
							b.Fatal(err)
						}
						m.draw(p, 1, r)
					}
				})
			}
		}
	}
}
