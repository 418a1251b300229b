package result

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/result/sheet"
	"github.com/shatterlab/shatter/schemas"
)

// rises knows the directions of the tests' numbers.
func rises(column string) (rises, known bool) {
	return column == "epsilon", column == "epsilon" || column == "noise_rate"
}

// bracketTable makes a table of rows of algorithm, epsilon, noise_rate, d, n_low, n_high and status.
func bracketTable(rows ...[]any) *sheet.Sheet {
	var columns []schemas.Column
	for _, c := range []struct {
		name string
		of   schemas.ColumnType
	}{
		{"algorithm", schemas.TextColumn}, {"epsilon", schemas.FloatColumn}, {"noise_rate", schemas.FloatColumn},
		{"d", schemas.IntColumn}, {"n_low", schemas.IntColumn}, {"n_high", schemas.IntColumn}, {"status", schemas.TextColumn},
	} {
		columns = append(columns, schemas.Column{Name: c.name, Type: c.of})
	}
	s := sheet.Of("table", columns, rows...)
	s.Confidence = 0.95
	return s
}

// Solve certifies what follows from the brackets and nothing else: of every n and every value it says
// the same as each bracket on its own, by brute force, and no answer contradicts the truth.
func TestSolve(t *testing.T) {
	epsilons := []float64{0.1, 0.2, 0.5, 1, 2, 5}
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		star := int64(2000)
		var rows [][]any
		truth := map[float64]int64{}
		for _, epsilon := range epsilons { // n* falls as epsilon grows
			star -= rng.Int64N(star / 2)
			truth[epsilon] = star
			row := []any{"a", epsilon, nil, int64(3), nil, nil, "undecided"}
			if rng.IntN(4) > 0 {
				row[4] = star - 1 - rng.Int64N(star/2)
			}
			if rng.IntN(4) > 0 {
				row[5] = star + rng.Int64N(star)
			}
			rows = append(rows, row)
		}
		rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		for n := int64(1); n < 3000; n += 1 + rng.Int64N(200) {
			low, high := 0.0, 1e9
			for _, row := range rows {
				if x, ok := row[4].(int64); ok && n <= x {
					low = max(low, row[1].(float64))
				}
				if x, ok := row[5].(int64); ok && n >= x {
					high = min(high, row[1].(float64))
				}
			}
			s, err := Solve(bracketTable(rows...), Question{N: n}, rises)
			if low == 0 && high == 1e9 {
				if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("n = %d is not certified", n)) {
					t.Fatalf("seed %d, n = %d: %v, %v", seed, n, s, err)
				}
				continue
			}
			if err != nil || s.Len() != 1 {
				t.Fatalf("seed %d, n = %d: %v, %v", seed, n, s, err)
			}
			of := func(name string) any { return s.At(0, schemas.IndexOf(s.Columns, name)) }
			if got := of("insufficient"); got != nil && got != low || got == nil && low != 0 || got != nil && truth[low] <= n {
				t.Errorf("seed %d, n = %d: insufficient %v, want %v", seed, n, got, low)
			}
			if got := of("sufficient"); got != nil && got != high || got == nil && high != 1e9 || got != nil && truth[high] > n {
				t.Errorf("seed %d, n = %d: sufficient %v, want %v", seed, n, got, high)
			}
		}
	}
}

// What a result does not certify is one message, with what it does.
func TestSolveMistakes(t *testing.T) {
	some := bracketTable(
		[]any{"a", 0.5, 0.1, int64(3), int64(90), int64(120), "decided"},
		[]any{"a", 1.0, 0.1, int64(3), int64(50), int64(70), "decided"},
		[]any{"a", 1.0, 0.3, int64(5), int64(200), int64(300), "not_monotone"},
	)
	one := bracketTable([]any{"a", 1.0, nil, int64(5), int64(200), int64(300), "not_monotone"},
		[]any{"a", 2.0, nil, int64(5), nil, nil, "failed"})
	for _, tt := range []struct {
		name  string
		table *sheet.Sheet
		q     Question
		want  string
	}{
		{"a value that was not measured", some, Question{N: 100, Given: []Value{{"epsilon", 0.7}}},
			"epsilon 0.7 is not certified: the result has epsilon 0.5, 1; ask about one that it has, or run a sweep with epsilon 0.7"},
		{"a column without values", some, Question{Given: []Value{{"queries", 10}}},
			"queries 10 is not certified: the result has no queries; ask about one that it has, or run a sweep with queries 10"},
		{"several numbers", some, Question{N: 100},
			"rows differ in epsilon and noise_rate: say which one to solve for, --for epsilon, or give values of the others"},
		{"no n", some, Question{For: "epsilon"}, "to solve for epsilon, say at which n: --n 2000"},
		{"an unknown direction", some, Question{N: 100, For: "d"}, "whether success rises or falls with d is not known, so its values " +
			"cannot be compared: give one, --where d=3"},
		{"not two values", some, Question{N: 100, For: "delta"}, "the result has no two values of delta there"},
		{"inside of every bracket", some, Question{N: 60, Given: []Value{{"epsilon", 1}, {"noise_rate", 0.1}}},
			"n = 60 is not certified: every bracket there has it inside; the largest n shown insufficient is 50, the least shown " +
				"sufficient is 70"},
		{"beyond a bracket without monotony", one, Question{N: 400}, "n = 400 is not certified: "},
		{"no bracket", one, Question{Given: []Value{{"epsilon", 2}}}, "no sample size is certified there: no cell has an n_low or an n_high"},
		{"an unknown direction, and no value in the first row", bracketTable(
			[]any{"a", 0.5, 0.1, nil, int64(90), int64(120), "decided"}, []any{"a", 0.5, 0.1, int64(3), int64(50), int64(70), "decided"},
		), Question{N: 100, For: "d"}, "whether success rises or falls with d is not known, so its values cannot be " +
			"compared: give one, --where d=3"},
		{"games", &sheet.Sheet{}, Question{N: 1},
			"the result has no brackets: in task online games succeed or fail only for a search, \"find: rounds\"; compare"},
	} {
		if s, err := Solve(tt.table, tt.q, rises); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %v, %v, want %s", tt.name, s, err, tt.want)
		}
	}
	for n, want := range map[int64]string{200: "insufficient", 300: "sufficient"} {
		s, err := Solve(one, Question{N: n, Given: []Value{{"epsilon", 1}}}, rises)
		if err != nil || s.Len() != 1 || s.At(0, len(s.Columns)-1) != want {
			t.Errorf("n = %d: %v, %v", n, s, err)
		}
	}
}
