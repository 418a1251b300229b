package problem_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/schemas"
)

// A trial draws its data from four separate streams: here a sample of five from the needle
// distribution of thresholds, and the points and weights over which errors are computed exactly.
func Example() {
	p, err := problem.Open(schemas.Problem{Class: "thresholds", Distribution: "needle", Domain: 16, Mass: 0.25}, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	stream := func(number uint64) rand.Source { return rand.NewPCG(1, number) }
	d := p.Drawer(p.Test(0, 0))
	d.Begin(problem.Streams{Target: stream(0), Points: stream(1), LabelNoise: stream(2), TestPoints: stream(3)})
	x, y := make([]float64, 5), make([]float64, 5)
	d.Sample(5, x, y)
	fmt.Println(x, y)

	n := d.TestLen()
	points, labels, weights := make([]float64, n), make([]float64, n), make([]float64, n)
	d.Test(points, labels, weights)
	fmt.Println(points, labels, weights)

	_, err = problem.Open(schemas.Problem{Class: "thresholds", Distribution: "needle", Domain: 16}, "")
	fmt.Println(err)
	// Output:
	// [8 15 15 15 8] [1 1 1 1 1]
	// [7 8 15] [-1 1 1] [0.25 0.25 0.5]
	// problem.mass: missing; state the weight of a needle, for example 0.1
}
