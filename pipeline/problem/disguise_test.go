package problem

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// separable writes n rows of d numbers that a hyperplane separates with a margin, and opens a
// problem over them.
func separable(t *testing.T, n, d int, disguise bool) *Problem {
	t.Helper()
	r := rand.New(rand.NewPCG(11, 12))
	var b strings.Builder
	for j := range d {
		fmt.Fprintf(&b, "x%d,", j)
	}
	b.WriteString("y\n")
	for written := 0; written < n; {
		row, along := make([]float64, d), 0.0
		for j := range row {
			row[j] = r.NormFloat64()
			along += row[j] / math.Sqrt(float64(d))
		}
		if math.Abs(along) < 0.2 {
			continue
		}
		for _, v := range row {
			fmt.Fprintf(&b, "%v,", v)
		}
		fmt.Fprintln(&b, map[bool]string{true: "p", false: "q"}[along > 0])
		written++
	}
	p := overData("halfspace", 0)
	p.Data.Scale.Norm, p.Disguise = 5, disguise
	return openCSV(t, b.String(), p)
}

// perceptron returns a hyperplane that separates the examples.
func perceptron(x, y []float64) []float64 {
	w := make([]float64, len(x)/len(y))
	for wrong := true; wrong; {
		wrong = false
		for i, label := range y {
			if row := x[i*len(w) : (i+1)*len(w)]; label*dot(w, row) <= 0 {
				wrong = true
				for j, v := range row {
					w[j] += label * v
				}
			}
		}
	}
	return w
}

// A rule computed beforehand from the whole population needs no sample, unless each trial
// disguises the data: then it is no better than chance. The errors of a learner that is invariant
// under rotations do not change.
func TestDisguiseHidesThePopulation(t *testing.T) {
	const trials, rows, dim, n, alpha = 400, 300, 5, 40, 0.1
	var before []float64
	errors := map[string][]float64{}
	for _, disguise := range []bool{false, true} {
		p := separable(t, rows, dim, disguise)
		if p.Disguised() != disguise || disguise != (firstOf(p.Population()) == nil) {
			t.Fatalf("disguise %v: disguised %v", disguise, p.Disguised())
		}
		if !disguise {
			x, _ := p.Population()
			before = perceptron(x, p.rows.Y)
		}
		for rep := range uint64(trials) {
			seed := uint64(1)
			if disguise {
				seed = 2
			}
			d, x, y := sample(p, seed, rep, n)
			w := perceptron(x, y)
			testX, testY, weights := evaluation(d)
			for name, w := range map[string][]float64{"pretrained": before, "perceptron": w} {
				err := 0.0
				for i, label := range testY {
					if label*dot(w, testX[i*dim:(i+1)*dim]) <= 0 {
						err += weights[i]
					}
				}
				name = fmt.Sprint(name, " ", disguise)
				errors[name] = append(errors[name], err)
			}
		}
	}
	if most := slices.Max(errors["pretrained false"]); most != 0 {
		t.Errorf("a rule made beforehand errs by %v", most)
	}
	good, mean := 0.0, 0.0
	for _, err := range errors["pretrained true"] {
		mean += err / trials
		if err <= alpha {
			good += 1. / trials
		}
	}
	t.Logf("a rule made beforehand succeeds in a share of %v of the trials in disguise, its mean error is %v", good, mean)
	if good > 0.1 || math.Abs(mean-0.5) > 0.06 {
		t.Errorf("a rule made beforehand succeeds in a share of %v of the trials in disguise, its mean error is %v",
			good, mean)
	}
	// Kolmogorov and Smirnov: above 1.95 sqrt(2/trials) once in 1000 runs.
	if far := distance(errors["perceptron false"], errors["perceptron true"]); far > 1.95*math.Sqrt(2./trials) {
		t.Errorf("the disguise changes the distribution of a perceptron's errors by %v", far)
	}
}

func firstOf(x []float64, _ int) []float64 { return x }

// distance returns the largest difference of two empirical distribution functions.
func distance(a, b []float64) (most float64) {
	share := func(all []float64, v float64) (below float64) {
		for _, x := range all {
			if x <= v {
				below += 1 / float64(len(all))
			}
		}
		return below
	}
	for _, v := range slices.Concat(a, b) {
		most = max(most, math.Abs(share(a, v)-share(b, v)))
	}
	return most
}

// Isometries of too many columns are rejected.
func TestDisguiseRefusesManyColumns(t *testing.T) {
	var b strings.Builder
	for i := range maxDisguisedDim + 1 {
		fmt.Fprintf(&b, "a%d,", i)
	}
	zeros := strings.Repeat("0,", maxDisguisedDim+1)
	b.WriteString("y\n" + zeros + "p\n" + zeros + "q\n")
	p := overData("halfspace", 0)
	p.Disguise = true
	_, err := Open(p, testkit.WriteFile(t, "data.csv", b.String()))
	checkError(t, err, "problem.disguise: 4097 numbers per row are more than the 4096 for which isometries are drawn")
}

// The evaluation of a trial has the same disguise as its sample and the queries of a game.
func TestDisguiseIsThatOfTheTrial(t *testing.T) {
	p := separable(t, 60, 4, true)
	for rep := range uint64(3) {
		d, x, y := sample(p, 3, rep, 50)
		testX, testY, _ := evaluation(d)
		known := map[string]bool{}
		for i, label := range testY {
			known[fmt.Sprint(testX[i*4:(i+1)*4], label)] = true
		}
		for i, label := range y {
			if !known[fmt.Sprint(x[i*4:(i+1)*4], label)] {
				t.Fatalf("trial %d: example %d is none of the evaluation points", rep, i)
			}
		}
	}
}
