package sweep

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRanges(t *testing.T) {
	for _, tt := range []struct{ of, written, want string }{
		{"n", "{from: 10, to: 1000, steps: 5, scale: log}", "10 32 100 316 1000"},
		{"n", "{from: 10, to: 50, steps: 5}", "10 20 30 40 50"},
		{"n", "{from: 1, to: 10, steps: 4, scale: linear}", "1 4 7 10"},
		{"n", "{from: 1, to: 2, steps: 3}", "1 2"}, // 1.5 rounds up
		{"n", "{from: 1, to: 8, steps: 20, scale: log}", "1 2 3 4 5 6 7 8"},
		{"n", "{from: 1e2, to: 1e6, steps: 3, scale: log}", "100 10000 1000000"},
		{"domain", "{from: 2^8, to: 2^32, steps: 4, scale: log}", "256 65536 16777216 4294967296"},
		{"domain", "{from: 1, to: 2^62, steps: 3, scale: log}", "1 2147483648 4611686018427387904"},
		{"epsilon", "{from: 0.1, to: 10, steps: 5, scale: log}", "0.1 0.316 1 3.16 10"},
		{"epsilon", "{from: 1, to: 1.010025, steps: 3, scale: log}", "1 1.005 1.010025"},
		{"epsilon", "{from: 1e-300, to: 1e300, steps: 3, scale: log}", "1e-300 1 1e+300"},
		{"epsilon", "{from: 0.5, to: 2, steps: 4}", "0.5 1 1.5 2"},
		{"epsilon", "{from: 0.1, to: 1.1, steps: 4}", "0.1 0.433 0.767 1.1"},
		{"epsilon", "{from: 1000, to: 1010, steps: 5}", "1000 1002.5 1005 1007.5 1010"},
		{"beta", "{from: 0.01, to: 0.07, steps: 3}", "0.01 0.04 0.07"},
		{"reference", "{from: 0, to: 0.3, steps: 4}", "0 0.1 0.2 0.3"},
		{"parameter", "{from: 1, to: 100, steps: 3, scale: log}", "1/1 10/10 100/100"},
		{"parameter", "{from: 0.5, to: 2, steps: 3, scale: log}", "0.5/0.5 1/1 2/2"},
		{"parameter", "{from: 2^2, to: 2^4, steps: 3, scale: log}", "4/4 8/8 16/16"},
	} {
		values := map[string]string{
			"n": "[100]", "domain": "64", "epsilon": "1", "beta": "0.1", "reference": "0", "parameter": "1",
		}
		values[tt.of] = tt.written
		f, err := Parse("x", []byte(fmt.Sprintf(`name: x
problem: {class: points, domain: %s, distribution: uniform}
algorithms: [{use: expmech/em, k: %s}]
privacy: {epsilon: %s}
goal: {alpha: 0.1, beta: %s, reference: %s}
n: %s
`, values["domain"], values["parameter"], values["epsilon"], values["beta"], values["reference"], values["n"])))
		if err != nil {
			t.Errorf("%s %s: %v", tt.of, tt.written, err)
			continue
		}
		var got []string
		add := func(v any) { got = append(got, fmt.Sprint(v)) }
		switch s := f.Sweep; tt.of {
		case "n":
			for _, v := range s.N.List {
				add(v)
			}
		case "domain":
			for _, v := range s.Problem.Domain {
				add(v)
			}
		case "epsilon":
			for _, v := range s.Privacy.Epsilon {
				add(v)
			}
		case "beta":
			for _, v := range s.Goal.Beta {
				add(v)
			}
		case "reference":
			for _, v := range s.Goal.Reference {
				add(v.Value)
			}
		default:
			for _, v := range s.Algorithms[0].Params["k"] {
				add(v.Text + "/" + v.Whole)
			}
		}
		if list := strings.Join(got, " "); list != tt.want {
			t.Errorf("%s %s: %s, not %s", tt.of, tt.written, list, tt.want)
		}
	}
}

func TestRangeNotes(t *testing.T) {
	f, err := Parse("x", []byte(strings.Replace(base, "n: [100]", "n: {from: 1, to: 4, steps: 7}", 1)))
	if err != nil {
		t.Fatal(err)
	}
	want := "n (line 5): only 4 of the 7 steps from 1 to 4 are different whole numbers"
	if len(f.Notes) != 1 || f.Notes[0] != want {
		t.Errorf("notes %q, not %q", f.Notes, want)
	}
	if place := f.At(f.Item("n", 2)); place.Line != 5 || place.Column != 4 {
		t.Errorf("a value of the range stands at %v", place)
	}
}

func TestRangeMistakes(t *testing.T) {
	for _, tt := range []struct{ n, want string }{
		{"{from: 10, to: 100, steps: 1}", "5:31: n.steps: 1 is outside [2, 100]: a range has two ends"},
		{"{from: 10, to: 100, steps: 101}", "5:31: n.steps: 101 is outside [2, 100]: a range has two ends"},
		{"{from: 100, to: 10, steps: 3}", "5:4: n: from 100 is above to 10: a range ascends"},
		{"{from: 10, to: 10, steps: 3}", "5:4: n: from and to are both 10: write the value alone"},
		{"{from: 0, to: 10, steps: 3}", "5:11: n.from: 0 is outside [1, 1000000000]"},
		{"{from: 1.5, to: 10, steps: 3}", "5:11: n.from: 1.5 is not a whole number"},
		{"{from: 1, to: 10, steps: 3, scale: lgo}", `5:39: n.scale: unknown value "lgo", did you mean "log"?`},
		{"{from: ten, to: 10, steps: 3}", `5:11: n.from: "ten" is not a number`},
		{"{from: 1, to: 10, steps: 3, by: 2}", "5:32: n.by: unknown key"},
		{"{from: 1, steps: 3}", `5:4: n: "to" is needed`},
		{"{from: 1, to: 9, scale: log}", `5:4: n: "steps" is needed`},
		{"{find: true, from: 1, to: 9}", "5:5: n.find: unknown key: remove it: {from, to, within} is a search"},
		{"[100]\nprivacy: {epsilon: {from: -1, to: 1, steps: 3}}", "6:27: privacy.epsilon.from: -1 is outside (0, inf)"},
		{"[100]\nadversary: {kind: tree, rate: {from: 0, to: 1, steps: 3, scale: log}}",
			"6:38: adversary.rate.from: 0 has no logarithm: with scale log, from must be above 0"},
	} {
		_, err := Parse("x", []byte(strings.Replace(base, "[100]", tt.n, 1)))
		if err == nil || !strings.Contains("\n"+err.Error(), "\nx:"+tt.want) ||
			strings.Contains(strings.Replace(err.Error(), "\nx:"+tt.want, "", 1), "\n") {
			t.Errorf("%s: %v, not %s", tt.n, err, tt.want)
		}
	}
}

// TestRangeValuesAreNearest holds every value against the definition: a whole number is half a unit
// or less away from the value that it stands for.
func TestRangeValuesAreNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.Int64Range(1, 1<<40).Draw(t, "from")
		s := span{
			from: big.NewRat(from, 1), to: big.NewRat(rapid.Int64Range(from+1, 1<<62).Draw(t, "to"), 1),
			steps: rapid.IntRange(2, 12).Draw(t, "steps"), log: rapid.Bool().Draw(t, "log"), whole: true,
		}
		half := big.NewRat(1, 2)
		for i, x := range s.values() {
			if i == 0 || i == s.steps-1 {
				continue
			}
			// y reaches the value if y^k >= from^(k-i) to^i, or k y >= (k-i) from + i to.
			k := s.steps - 1
			above := func(y *big.Rat) bool {
				if s.log {
					return power(y, k).Cmp(new(big.Rat).Mul(power(s.from, k-i), power(s.to, i))) > 0
				}
				want := new(big.Rat).Mul(s.from, big.NewRat(int64(k-i), 1))
				want.Add(want, new(big.Rat).Mul(s.to, big.NewRat(int64(i), 1)))
				return new(big.Rat).Mul(y, big.NewRat(int64(k), 1)).Cmp(want) > 0
			}
			if !x.IsInt() || above(new(big.Rat).Sub(x, half)) || !above(new(big.Rat).Add(x, half)) {
				t.Fatalf("value %d is %v", i, x)
			}
		}
	})
}

func power(x *big.Rat, k int) *big.Rat {
	return new(big.Rat).SetFrac(raise(x.Num(), k), raise(x.Denom(), k))
}
