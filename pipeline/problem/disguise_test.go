package problem

import (
	"fmt"
	"math"
	"math/rand/v2"
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
