package distribution

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem/blame"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas"
)

// examples returns resolved problems of a distribution, on every class that it fits: the examples
// of the class, and problems of the smallest sizes and at the limit of exact evaluation.
func examples(t *testing.T, l *Distribution) (all []schemas.Problem) {
	t.Helper()
	for _, name := range concept.Names() {
		if !l.Fits(name) {
			continue
		}
		class, _ := concept.Lookup(name)
		specs := slices.Clone(class.Examples)
		if class.Shape == concept.Scalar {
			least := uint64(2)
			if l.LeastDomain != nil {
				least = l.LeastDomain(name)
			}
			specs = append(specs, concept.Spec{Name: name, Domain: least}, concept.Spec{Name: name, Domain: concept.MaxDomain})
		}
		if class.Shape.HasDim() && class.Shape != concept.Column {
			specs = append(specs, concept.Spec{Name: name, Domain: class.Examples[0].Domain, Dim: max(1, l.LeastDim)},
				concept.Spec{Name: name, Domain: class.Examples[0].Domain, Dim: 13})
		}
		for _, s := range specs {
			p := schemas.Problem{Class: name, Distribution: l.Name, Domain: s.Domain, Dim: s.Dim,
				Target: l.DefaultTarget(), Literals: min(concept.DefaultLiterals, s.Dim)}
			for _, k := range l.Keys {
				*k.Field(&p) = 0.25
			}
			matrices[name] = s.Matrix
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		t.Errorf("it fits no class")
	}
	return all
}

// matrices holds the matrix of the classes that have one.
var matrices = map[string]string{}

// Every distribution is complete, and satisfies the contract of Distribution, on every class that
// it fits.
func TestDistributions(t *testing.T) {
	for _, l := range All() {
		t.Run(l.Name, func(t *testing.T) {
			if l.Name == "" || l.Doc == "" || strings.ContainsAny(l.Doc, "\n") || strings.HasSuffix(l.Doc, ".") {
				t.Errorf("a distribution has a name, and a doc of one line without a full stop: %q", l.Doc)
			}
			if l.Fits == nil || l.Size == nil || l.open == nil {
				t.Fatal("a distribution has Fits, Size and open")
			}
			if l.Fits("no-such-class") || Lookup(l.Name) != l {
				t.Error("it fits an unknown class, or another distribution has its name")
			}
			for _, k := range l.Keys {
				if !slices.Contains(Keys(), k) {
					t.Errorf("the key %s is not in Keys", k.Name)
				}
			}
			for _, p := range examples(t, l) {
				checkDraws(t, l, p)
				checkSupport(t, l, p)
				checkFormula(t, l, p)
			}
		})
	}
}

// checkDraws checks that examples lie in the domain, have the target's labels, depend on the
// streams alone, and that a smaller sample is a prefix of a larger one.
func checkDraws(t *testing.T, l *Distribution, p schemas.Problem) {
	t.Helper()
	class := Spec(&p, matrices[p.Class])
	side, dim := concept.Side(class), concept.Width(class)
	const n = 200
	draw := func(n int) (s Sampler, x, y []float64) {
		x, y = make([]float64, n*dim), make([]float64, n)
		s = Open(&p, class.Matrix).Sampler()
		s.Begin(stream(3, 5, 0))
		s.Draw(stream(3, 5, 1), x, y)
		return s, x, y
	}
	s, x, y := draw(n)
	for i, label := range y {
		row := x[i*dim : (i+1)*dim]
		if label != -1 && label != 1 {
			t.Fatalf("%+v: label %v", p, label)
		}
		for _, v := range row {
			if side > 0 && !(v >= 0 && v < float64(side) && v == math.Trunc(v)) {
				t.Fatalf("%+v: drew %v", p, row)
			}
		}
		if side == 0 && norm(row) > 1+1e-12 {
			t.Fatalf("%+v: drew %v, of norm %v", p, row, norm(row))
		}
		if s.Target().Label(row) != label {
			t.Fatalf("%+v: the target labels %v %v, not %v", p, row, s.Target().Label(row), label)
		}
	}
	if _, again, labels := draw(n); !slices.Equal(x, again) || !slices.Equal(y, labels) {
		t.Errorf("%+v: equal streams give other draws", p)
	}
	if _, twice, labels := draw(2 * n); !slices.Equal(x, twice[:len(x)]) || !slices.Equal(y, labels[:n]) {
		t.Errorf("%+v: the sample of %d is no prefix of that of %d", p, n, 2*n)
	}
}

// checkSupport checks that a distribution which is evaluated exactly lists its points with the
// frequencies and labels of its draws, and that any other lists none.
func checkSupport(t *testing.T, l *Distribution, p schemas.Problem) {
	t.Helper()
	all := Open(&p, matrices[p.Class]).Support
	if (all != nil) != l.Exact(&p) {
		t.Fatalf("%+v: evaluated exactly: %v, but has points: %v", p, l.Exact(&p), all != nil)
	}
	if all == nil {
		return
	}
	s := Open(&p, matrices[p.Class]).Sampler()
	s.Begin(stream(3, 5, 0))
	dim := concept.Width(Spec(&p, ""))
	n := 100 * len(all.W)
	x, y := make([]float64, n*dim), make([]float64, n)
	s.Draw(stream(3, 5, 1), x, y)
	number := map[string]int{}
	key := func(row []float64) string { return string(appendBytes(nil, row)) }
	sum := 0.0
	for k, w := range all.W {
		number[key(all.X[k*dim:(k+1)*dim])] = k
		sum += w
	}
	if math.Abs(sum-1) > 1e-9 || len(all.W) > MaxSupport || len(number) != len(all.W) {
		t.Errorf("%+v: %d points, %d distinct, whose weights sum to %v", p, len(all.W), len(number), sum)
	}
	counts := make([]float64, len(all.W))
	for i, label := range y {
		k, ok := number[key(x[i*dim:(i+1)*dim])]
		if !ok || all.Y != nil && all.Y[k] != label {
			t.Fatalf("%+v: drew %v labelled %v, which is not among its points", p, x[i*dim:(i+1)*dim], label)
		}
		counts[k]++
	}
	testkit.CheckCounts(t, counts, all.W)
}

// checkFormula checks that a distribution which declares a formula has one for the constants,
// whose errors sum to 1.
func checkFormula(t *testing.T, l *Distribution, p schemas.Problem) {
	t.Helper()
	if l.Formula == nil || !l.Formula(&p) {
		return
	}
	s := Open(&p, matrices[p.Class]).Sampler()
	s.Begin(stream(3, 5, 0))
	exact, ok := s.(Exact)
	if !ok {
		t.Fatalf("%+v: no formula", p)
	}
	one, known := exact.Error(concept.Constant{Dim: concept.Width(Spec(&p, "")), Value: 1})
	other, _ := exact.Error(concept.Constant{Dim: concept.Width(Spec(&p, "")), Value: -1})
	if !known || math.Abs(one+other-1) > 1e-12 || !(one >= 0 && one <= 1) {
		t.Errorf("%+v: the constants err with probability %v and %v", p, one, other)
	}
}

func appendBytes(b []byte, row []float64) []byte {
	for _, v := range row {
		bits := math.Float64bits(v)
		for range 8 {
			b, bits = append(b, byte(bits)), bits>>8
		}
	}
	return b
}

// Every key is complete, applies to a distribution, and rejects invalid values by its own name.
func TestKeys(t *testing.T) {
	for _, k := range Keys() {
		if k.Doc == "" || strings.HasSuffix(k.Doc, ".") || k.Field == nil || k.Outside == nil ||
			(k.Default == 0) == (k.Example == "") {
			t.Fatalf("%q: a key has a doc, Field, Outside, and either a default or an example", k.Name)
		}
		if len(k.Distributions()) == 0 {
			t.Errorf("no distribution takes the key %s", k.Name)
		}
		for _, name := range k.Distributions() {
			p := examples(t, Lookup(name))[0]
			checkKey(t, k, p, 0, k.Default != 0)
			for _, v := range []float64{-0.1, 1.5, math.Inf(1), math.NaN()} {
				checkKey(t, k, p, v, false)
			}
			checkKey(t, k, p, 0.25, true)
		}
	}
}

func checkKey(t *testing.T, k *Key, p schemas.Problem, v float64, good bool) {
	t.Helper()
	*k.Field(&p) = v
	err := k.Resolve(&p)
	var wrong *blame.Error
	switch {
	case good && err != nil:
		t.Errorf("%s: %v: %v", k.Name, v, err)
	case !good && (!errors.As(err, &wrong) || wrong.Key != "problem."+k.Name || wrong.Reason == ""):
		t.Errorf("%s: %v: the error is %v", k.Name, v, err)
	case good && v == 0 && *k.Field(&p) != k.Default:
		t.Errorf("%s: the default is %v, not %v", k.Name, *k.Field(&p), k.Default)
	}
}
