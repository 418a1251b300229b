// Command lists is a plugin with a problem of its own, the decision lists over bits, and a learner for it.
//
// A decision list is a sequence of rules "if bit i is v, answer b" with a default answer; the first rule that
// applies answers (Rivest, Learning decision lists, Machine Learning 1987).
package main

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/shatterlab/shatter/plugins/algo"
)

// maxBits limits the bits, so that all decision lists can be enumerated.
const maxBits = 4

type params struct {
	D int `param:"d" doc:"bits of a point" min:"1" max:"4"`
}

var lists = algo.Generator[params]{
	Name: "gallery/decision-lists", Version: "1.0.0", Doc: "A uniform decision list on uniform points of d bits.",
	Defaults: params{D: 3}, Pose: pose, Target: target,
}

var greedy = algo.Algorithm[struct{}]{
	Name: "gallery/greedy-list", Version: "1.0.0",
	Doc:   "A decision list that agrees with the sample (Rivest 1987); not private.",
	Check: check, Learn: learn,
}

func main() { algo.Serve(lists, greedy) }

func pose(p *params) (algo.Posed, error) {
	none := 0.0 // the target is a decision list
	return algo.Posed{Domain: 2, Dim: p.D, LeastError: &none}, nil
}

// A truth is a function of points: bit number x of it is set if the point x has the label +1. The
// number of a point has its coordinate i as bit i.
type truth uint16

// functions returns the distinct decision lists over d bits, ascending: the constants, and each other one with a
// rule before it. Lists are enumerated once for each d.
var functions = [maxBits + 1]func() []truth{
	1: enumerate(1), 2: enumerate(2), 3: enumerate(3), 4: enumerate(4),
}

func enumerate(d int) func() []truth {
	return sync.OnceValue(func() []truth {
		all := truth(1<<(1<<d) - 1)
		known := map[truth]bool{0: true, all: true}
		for open := []truth{0, all}; len(open) > 0; {
			f := open[0]
			open = open[1:]
			for i := range d {
				for v := range 2 {
					var applies truth // the points whose bit i is v
					for x := range 1 << d {
						if x>>i&1 == v {
							applies |= 1 << x
						}
					}
					for _, g := range []truth{f | applies, f &^ applies} {
						if !known[g] {
							known[g] = true
							open = append(open, g)
						}
					}
				}
			}
		}
		return slices.Sorted(maps.Keys(known))
	})
}

func target(p params, r *rand.Rand) (algo.Example, error) {
	all := functions[p.D]()
	f := all[r.IntN(len(all))]
	return func(r *rand.Rand, x []float64) float64 {
		number := r.IntN(1 << p.D)
		for i := range x {
			x[i] = float64(number >> i & 1)
		}
		return float64(2*int(f>>number&1) - 1)
	}, nil
}

func check(s *algo.Setting[struct{}]) error {
	if s.Problem.Class != lists.Name && s.Problem.Class != "matrix" {
		return algo.Invalid("class %q: use %s, or a matrix with a column for each point", s.Problem.Class, lists.Name)
	}
	return nil
}

// bits returns the bits of a point, of which a matrix has only the number.
func bits(s *algo.Setting[struct{}], x []float64) []float64 {
	if s.Problem.Class != "matrix" {
		return x
	}
	var b []float64
	for i := 0; 1<<i < s.Problem.Domain; i++ {
		b = append(b, float64(int(x[0])>>i&1))
	}
	return b
}

type rule struct {
	bit    int
	value  float64
	answer float64
}

// list is a decision list; a last answer is its default.
type list struct {
	setting *algo.Setting[struct{}]
	rules   []rule
	last    float64
}

// learn repeats: find a rule that agrees with all examples to which it applies, of which there is at least one,
// and remove these. While examples of both labels are left, such a rule exists if the target is a decision list.
func learn(_ context.Context, t *algo.Trial[struct{}], sample *algo.Data) (algo.Model, error) {
	m := list{setting: &t.Setting, last: 1}
	left := make([]int, sample.Len())
	for i := range left {
		left[i] = i
	}
	for len(left) > 0 {
		found := next(&t.Setting, sample, left)
		if found == nil {
			break
		}
		m.rules = append(m.rules, *found)
		left = slices.DeleteFunc(left, func(i int) bool { return bits(&t.Setting, sample.X(i))[found.bit] == found.value })
	}
	return m, nil
}

func next(s *algo.Setting[struct{}], sample *algo.Data, left []int) *rule {
	for bit := range bits(s, sample.X(0)) {
		for _, value := range []float64{0, 1} {
			labels := map[float64]bool{}
			for _, i := range left {
				if bits(s, sample.X(i))[bit] == value {
					labels[sample.Y(i)] = true
				}
			}
			for answer := range labels {
				if len(labels) == 1 {
					return &rule{bit, value, answer}
				}
			}
		}
	}
	return nil
}

func (m list) Predict(_ context.Context, x *algo.Data, out []float64) error {
	for i := range out {
		point := bits(m.setting, x.X(i))
		out[i] = m.last
		for _, r := range m.rules {
			if point[r.bit] == r.value {
				out[i] = r.answer
				break
			}
		}
	}
	return nil
}
