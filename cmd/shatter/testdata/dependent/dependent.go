// Package dependent holds algorithms that depend on something that no trial may depend on, each on
// something else, and one that does not.
package dependent

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/shatterlab/shatter/plugins/algo"
)

// started differs from process to process.
var started = time.Now().UnixNano()

// direction is a model: points are on the side of a sum of examples.
type direction struct {
	w       []float64
	predict func(m *direction, x *algo.Data, out []float64) // nil: pointwise
	first   []float64                                       // point that was seen first
	calls   int
}

func (m *direction) Predict(_ context.Context, x *algo.Data, out []float64) error {
	if m.predict != nil {
		m.predict(m, x, out)
		return nil
	}
	for i := range out {
		out[i] = m.side(x.X(i), nil)
	}
	return nil
}

// side returns the side on which a point lies, seen from a centre.
func (m *direction) side(x, centre []float64) float64 {
	sum := 0.0
	for j, w := range m.w {
		if sum += w * x[j]; centre != nil {
			sum -= w * centre[j] / 2
		}
	}
	if sum < 0 {
		return -1
	}
	return 1
}

func (m *direction) byRank(x *algo.Data, out []float64) {
	for i := range out {
		below := 0
		for k := range out {
			if x.X(k)[0] < x.X(i)[0] {
				below++
			}
		}
		if out[i] = -1; 2*below >= len(out) {
			out[i] = 1
		}
	}
}

func (m *direction) byMean(x *algo.Data, out []float64) {
	mean := make([]float64, len(m.w))
	for i := range out {
		for j, v := range x.X(i) {
			mean[j] += v / float64(len(out))
		}
	}
	for i := range out {
		out[i] = m.side(x.X(i), mean)
	}
}

func (m *direction) byFirst(x *algo.Data, out []float64) {
	if m.first == nil {
		m.first = append([]float64{}, x.X(0)...)
	}
	for i := range out {
		out[i] = m.side(x.X(i), m.first)
	}
}

func (m *direction) byCalls(x *algo.Data, out []float64) {
	m.calls++
	for i := range out {
		if out[i] = m.side(x.X(i), nil); m.calls%2 == 0 {
			out[i] = -out[i]
		}
	}
}

var (
	memory []float64 // sum of the samples of all trials
	trials int
)

// algorithm makes a learner that adds up its examples and then calls change.
func algorithm(name string, change func(m *direction)) algo.Algorithm[struct{}] {
	return algo.Algorithm[struct{}]{
		Name: "dependent/" + name, Version: "1.0.0", Doc: "Adds up its examples, and depends on what its name says.",
		Learn: func(_ context.Context, t *algo.Trial[struct{}], sample *algo.Data) (algo.Model, error) {
			m := &direction{w: make([]float64, sample.Dim())}
			for i := range sample.Len() {
				for j, v := range sample.X(i) {
					m.w[j] += sample.Y(i) * v
				}
			}
			if change != nil {
				change(m)
			}
			return m, nil
		},
	}
}

// turn turns a model by chance.
func turn(m *direction, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	for j := range m.w {
		m.w[j] += rng.NormFloat64()
	}
}

func predicting(f func(*direction, *algo.Data, []float64)) func(*direction) {
	return func(m *direction) { m.predict = f }
}

// Plugins returns the algorithms.
func Plugins() []algo.Plugin {
	return []algo.Plugin{
		algorithm("none", nil),
		algorithm("rank", predicting((*direction).byRank)),
		algorithm("mean", predicting((*direction).byMean)),
		algorithm("first", predicting((*direction).byFirst)),
		algorithm("calls", predicting((*direction).byCalls)),
		algorithm("memory", func(m *direction) {
			if memory == nil {
				memory = make([]float64, len(m.w))
			}
			for j := range m.w {
				memory[j] += m.w[j]
				m.w[j] = memory[j]
			}
		}),
		algorithm("global", func(m *direction) {
			trials++
			m.w[0] += float64(trials % 7)
		}),
		algorithm("map", func(m *direction) {
			for key := range map[uint64]bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true} {
				turn(m, key)
				return
			}
		}),
		algorithm("race", func(m *direction) {
			heads, tails, seed := make(chan uint64), make(chan uint64), uint64(0)
			for range 8 {
				go func() { heads <- 1 }()
				go func() { tails <- 0 }()
			}
			time.Sleep(time.Millisecond) // all of them wait
			for i := range 16 {
				select {
				case x := <-heads:
					seed |= x << i
				case <-tails:
				}
			}
			turn(m, seed)
		}),
		algorithm("time", func(m *direction) { turn(m, uint64(time.Now().UnixNano())) }),
		algorithm("process", func(m *direction) { turn(m, uint64(started)) }),
	}
}
