package concept_test

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
)

// A minimizer of the errors on a sample, drawn from the 500,501 intervals of 1000 points.
func ExampleProfile() {
	class, err := concept.New(concept.Spec{Name: concept.Intervals, Domain: 1000})
	if err != nil {
		fmt.Println(err)
		return
	}
	profile, err := class.NewProfile()
	if err != nil {
		fmt.Println(err)
		return
	}
	x := []float64{100, 200, 300, 400, 500}
	y := []float64{-1, 1, 1, -1, 1}
	if err := profile.Reset(x, y); err != nil {
		fmt.Println(err)
		return
	}
	h := profile.Exponential(math.Inf(1), rand.New(rand.NewPCG(1, 2)))
	labels := make([]float64, len(x))
	h.Labels(x, labels)
	wrong := 0
	for i := range y {
		if labels[i] != y[i] {
			wrong++
		}
	}
	fmt.Println("fewest errors:", profile.Min(), "errors of the hypothesis drawn:", wrong)
	// Output:
	// fewest errors: 1 errors of the hypothesis drawn: 1
}

// The registry describes classes to a program that does not contain their names.
func ExampleLookup() {
	for _, name := range concept.Names()[:3] {
		class, _ := concept.Lookup(name)
		fmt.Printf("%s: %s; target: %s\n", class.Name, class.Doc, class.RandomDoc)
	}
	// Output:
	// thresholds: +1 at the numbers from t on, for t = 0..X; target: t is uniform on 0..X
	// points: +1 at one number a = 0..X-1 and nowhere else; target: the point is uniform
	// intervals: +1 at the numbers from a to b, or nowhere; target: half of the numbers, rounded up, from a uniform a on
}
