package concept

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// tabulate returns the label table of a class.
func tabulate(t testing.TB, s Spec) *LabelTable {
	t.Helper()
	c, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	table, err := NewLabelTable(c.(Finite), s)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func matrixOf(rows []string) Spec {
	return Spec{Name: "matrix", Domain: uint64(len(rows[0])), Matrix: strings.Join(rows, "")}
}

// plainLdim returns the Littlestone dimension by its definition.
func plainLdim(rows []string) int {
	best := len(rows) - 1
	if len(rows) > 1 {
		best = 0
		for v := range rows[0] {
			if zero, one := halves(rows, v); len(zero) > 0 && len(one) > 0 {
				best = max(best, 1+min(plainLdim(zero), plainLdim(one)))
			}
		}
	}
	return best
}

// halves splits functions by their label at a point.
func halves(rows []string, v int) (zero, one []string) {
	for _, row := range rows {
		if row[v] == '1' {
			one = append(one, row)
		} else {
			zero = append(zero, row)
		}
	}
	return zero, one
}

// randomRows returns up to that many different functions; share is the probability of a label 1.
func randomRows(r *rand.Rand, functions, points int, share float64) (rows []string) {
	seen := map[string]bool{}
	for range functions {
		row := make([]byte, points)
		for v := range row {
			row[v] = '0'
			if r.Float64() < share {
				row[v] = '1'
			}
		}
		if !seen[string(row)] {
			seen[string(row)], rows = true, append(rows, string(row))
		}
	}
	return rows
}

// Both dimensions equal brute force.
func TestDimensionsByRecursion(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	found := map[int]int{}
	for range 400 {
		rows := randomRows(r, 1+r.IntN(12), 1+r.IntN(7), 0.1+0.5*r.Float64())
		table := tabulate(t, matrixOf(rows))
		ldim, vc := table.Versions().Ldim(), plainVC(rows)
		if want := plainLdim(rows); ldim != exactly(want) {
			t.Errorf("%v: Ldim %v, want %d", rows, ldim, want)
		}
		if got := table.VC(); got != exactly(vc) {
			t.Errorf("%v: VC %v, want %d", rows, got, vc)
		}
		found[ldim.Low-vc]++
	}
	if found[0] == 0 || found[1] == 0 {
		t.Errorf("Ldim - VC: %v, want some 0 and some 1", found)
	}
}

func TestDegenerateLdim(t *testing.T) {
	all := func(m int) (rows []string) {
		for i := range 1 << m {
			rows = append(rows, fmt.Sprintf("%0*b", m, i))
		}
		return rows
	}
	for _, c := range []struct {
		name string
		rows []string
		want int
	}{
		{"one function", []string{"0110"}, 0},
		{"two functions", []string{"0110", "0111"}, 1},
		{"three functions", []string{"00", "01", "11"}, 1},
		{"three functions that differ anywhere", []string{"0110", "1001", "1111"}, 1},
		{"all functions on one point", all(1), 1},
		{"all functions on five points", all(5), 5},
		{"all functions on eight points", all(8), 8},
		{"one point, then constant ones", []string{"0000", "1000"}, 1},
	} {
		table := tabulate(t, matrixOf(c.rows))
		if got := table.Versions().Ldim(); got != exactly(c.want) {
			t.Errorf("%s: Ldim %v, want %d", c.name, got, c.want)
		}
	}
	empty := tabulate(t, matrixOf([]string{"01"})).Versions().Restrict(0, 1)
	if got := empty.Ldim(); got != exactly(-1) || empty.Size() != 0 {
		t.Errorf("empty version space: Ldim %v, %d functions", got, empty.Size())
	}
}

// If the search reaches its limit, of words or of memory, the bounds still hold.
func TestUndecidedLdim(t *testing.T) {
	rows := randomRows(rand.New(rand.NewPCG(1, 1)), 200, 40, 0.2)
	table := tabulate(t, matrixOf(rows))
	exact := table.Versions().Ldim()
	if !exact.Exact() {
		t.Fatalf("Ldim %v", exact)
	}
	undecided := 0
	for _, c := range []struct{ limit, memory int }{
		{0, maxMemo}, {1 << 10, maxMemo}, {1 << 14, maxMemo}, {maxSplits, 0}, {maxSplits, 1 << 13},
	} {
		got := table.versions(c.limit, c.memory).Ldim()
		if got.Low > exact.Low || got.High < exact.High {
			t.Errorf("%+v: Ldim %v, want %v", c, got, exact)
		}
		if !got.Exact() {
			undecided++
		}
	}
	if undecided != 3 {
		t.Errorf("%d searches are undecided, want 3", undecided)
	}
}

// The dimensions of independent classes add up: four times that of seven thresholds. A search
// that does not memoize which sets are too shallow exceeds the limit here.
func TestLdimOfProduct(t *testing.T) {
	seven := []string{"111111", "011111", "001111", "000111", "000011", "000001", "000000"}
	rows := []string{""}
	for range 4 {
		var longer []string
		for _, row := range rows {
			for _, end := range seven {
				longer = append(longer, row+end)
			}
		}
		rows = longer
	}
	table := tabulate(t, matrixOf(rows))
	if got := table.versions(1<<22, maxMemo).Ldim(); got != exactly(8) {
		t.Errorf("Ldim %v, want 8", got)
	}
}

// Previous calls do not change results, even if the memo was cleared.
func TestMemoIsOnlyMemory(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	rows := randomRows(r, 60, 12, 0.4)
	table := tabulate(t, matrixOf(rows))
	warm := []VersionSpace{table.Versions(), table.versions(maxSplits, 1<<13)}
	for range 200 {
		fresh := table.Versions()
		games := slices.Clone(warm)
		for range 3 {
			x, y := r.IntN(12), 2*float64(r.IntN(2))-1
			fresh = fresh.Restrict(x, y)
			for i := range games {
				games[i] = games[i].Restrict(x, y)
				if got, want := games[i].Ldim(), fresh.Ldim(); got != want {
					t.Fatalf("Ldim %v, want %v", got, want)
				}
			}
		}
	}
}

func TestLabelTableRefuses(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{Name: "thresholds", Domain: 5000}, "5001 hypotheses, use at most 4096"},
		{Spec{Name: "stumps", Domain: 3, Dim: 8}, "3^8 points"},
		{Spec{Name: "intervals", Domain: MaxDomain}, "604462909807864343166977 hypotheses"},
	} {
		k, err := New(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := NewLabelTable(k.(Finite), c.spec); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.spec, err, c.want)
		}
	}
}

// The labels of a table are those of the class's members.
func TestLabelTable(t *testing.T) {
	s := Spec{Name: "stumps", Domain: 3, Dim: 2}
	table := tabulate(t, s)
	k, _ := New(s)
	out := make([]float64, 1)
	for v := range table.Len() {
		for i := range table.Functions() {
			k.(Finite).Member(uint64(i)).Labels(table.Point(v), out)
			if got := table.columns[v][i/64]>>(i%64)&1 == 1; got != (out[0] > 0) {
				t.Errorf("function %d at point %v: %v", i, table.Point(v), got)
			}
		}
	}
	if table.Len() != 9 || table.Functions() != 10 {
		t.Errorf("%d points, %d functions", table.Len(), table.Functions())
	}
}
