// Package finitetest contains the common parts of the tests of algorithms over finite classes: the
// tables of small classes, and all pairs of neighboring samples over them, on which privacy can be
// checked exactly. Only tests import it.
package finitetest

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/theory"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// ReadJSON reads the file at path, a test's vectors, into a value. It fails the test on an error.
func ReadJSON(t testing.TB, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// Bound returns the bounds of an algorithm for a setting, which Check resolves first, as in a sweep.
func Bound[P any](a algo.Algorithm[P], s *algo.Setting[P]) ([]algo.Bound, error) {
	if err := a.Check(s); err != nil {
		return nil, err
	}
	return a.Bound(s)
}

// Guarantee returns the guarantee of an algorithm for a setting, which Check resolves first.
func Guarantee[P any](a algo.Algorithm[P], s *algo.Setting[P]) (algo.Guarantee, error) {
	if err := a.Check(s); err != nil {
		return algo.Guarantee{}, err
	}
	return a.Guarantee(s)
}

// BoundNamed returns the bound of that name from the result of [algo.Algorithm.Bound]. It fails the
// test if there is none.
func BoundNamed(t testing.TB, list []algo.Bound, err error, name string) algo.Bound {
	t.Helper()
	for _, b := range list {
		if b.Name == name && err == nil {
			return b
		}
	}
	t.Fatalf("no bound %q in %+v (%v)", name, list, err)
	return algo.Bound{}
}

// Holding returns the bounds that apply to trials on a problem whose class has that least error,
// for a reference error and errors that are computed exactly.
func Holding(list []algo.Bound, p algo.Problem, least, reference float64) (holding []algo.Bound) {
	facts := theory.Facts{
		Setting: &pluginv1.Setting{
			Task: pluginv1.Task_TASK_LEARN, Reference: reference,
			Problem: &pluginv1.Problem{Noise: p.Noise, NoiseRate: p.NoiseRate, Realizable: p.Realizable},
		},
		Least: func() (float64, error) { return least, nil },
	}
	for _, b := range list {
		wire := &pluginv1.Bound{Fails: b.Fails}
		for _, premise := range b.Premises {
			wire.Premises = append(wire.Premises, string(premise))
		}
		if theory.Unmet(wire, facts) == "" {
			holding = append(holding, b)
		}
	}
	return holding
}

// Names returns the names of bounds, separated by spaces.
func Names(list []algo.Bound) string {
	var names []string
	for _, b := range list {
		names = append(names, b.Name)
	}
	return strings.Join(names, " ")
}

// Domain lists all points of the domain of a small class, row-major, the first coordinate changing
// fastest.
func Domain(s concept.Spec) []float64 {
	dim, values := max(1, s.Dim), int(s.Domain)
	if values == 0 {
		values = 2
	}
	var points []float64
	for i := range int(math.Pow(float64(values), float64(dim))) {
		for range dim {
			points = append(points, float64(i%values))
			i /= values
		}
	}
	return points
}

// Labels returns the labels of points, which are row-major, one row for each hypothesis of a class.
func Labels(class concept.Finite, points []float64) [][]float64 {
	rows := make([][]float64, class.Size().Int64())
	for i := range rows {
		rows[i] = make([]float64, len(points)/class.Dim())
		class.Member(uint64(i)).Labels(points, rows[i])
	}
	return rows
}

// Examples returns the different examples over points that the rows of labels distinguish. Each is
// a column with one number for each hypothesis: 1 if it errs on that example, otherwise 0.
func Examples(labels [][]float64) (columns [][]int) {
	for j := range labels[0] {
		for _, y := range []float64{-1, 1} {
			column := make([]int, len(labels))
			for h, row := range labels {
				if row[j] != y {
					column[h] = 1
				}
			}
			same := func(other []int) bool { return slices.Equal(other, column) }
			if !slices.ContainsFunc(columns, same) {
				columns = append(columns, column)
			}
		}
	}
	return columns
}

// Neighbours visits the distributions of an answer for all pairs of samples that differ in one
// example. The shared examples are up to size-1 of the columns that [Examples] returns, in every
// combination, or one of them repeated up to reach times, in increasing steps. distribution returns
// the probability of each answer, given the number of errors of each hypothesis minus the fewest;
// it is called once for each different argument.
func Neighbours(
	columns [][]int, size int, reach float64, distribution func(errs []int) []float64, visit func(p, q []float64),
) {
	known := map[string][]float64{}
	distributionOf := func(errs []int) []float64 {
		least := slices.Min(errs)
		for i := range errs {
			errs[i] -= least
		}
		key := fmt.Sprint(errs)
		if known[key] == nil {
			known[key] = distribution(errs)
		}
		return known[key]
	}
	visitPairs := func(shared []int) {
		distributions := make([][]float64, len(columns))
		for i, column := range columns {
			distributions[i] = distributionOf(plus(shared, 1, column))
		}
		for i, p := range distributions {
			for j, q := range distributions {
				if i != j {
					visit(p, q)
				}
			}
		}
	}
	var extend func(from, left int, shared []int)
	extend = func(from, left int, shared []int) {
		visitPairs(shared)
		for i := from; i < len(columns) && left > 0; i++ {
			extend(i, left-1, plus(shared, 1, columns[i]))
		}
	}
	none := make([]int, len(columns[0]))
	extend(0, size-1, none)
	for copies := size; float64(copies) < reach; copies += 1 + copies/2 {
		for _, column := range columns {
			visitPairs(plus(none, copies, column))
		}
	}
}

// plus returns a + k b.
func plus(a []int, k int, b []int) []int {
	sum := slices.Clone(a)
	for i := range sum {
		sum[i] += k * b[i]
	}
	return sum
}
