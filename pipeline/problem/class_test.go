package problem

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas"
)

func TestLargeCubesAreSampled(t *testing.T) {
	for _, c := range []struct {
		p     schemas.Problem
		exact bool
	}{
		{schemas.Problem{Class: "parities", Dim: 12}, true}, {schemas.Problem{Class: "parities", Dim: 13}, false},
		{schemas.Problem{Class: "rectangles", Domain: 64}, true}, {schemas.Problem{Class: "rectangles", Domain: 65}, false},
		{schemas.Problem{Class: "stumps", Domain: 1 << 40, Dim: 1000}, false},
	} {
		c.p.Distribution = "uniform"
		p := open(t, c.p)
		if p.Exact() != c.exact {
			t.Errorf("%+v: exact %v", c.p, p.Exact())
		}
		d, x, y := sample(p, 1, 1, 3)
		if len(x) != 3*p.Dim() || len(y) != 3 {
			t.Errorf("%+v: a sample of %d numbers", c.p, len(x))
		}
		if c.exact != (p.Test(0, 0.1) == 0) {
			t.Errorf("%+v: %d evaluation points", c.p, d.TestLen())
		}
	}
}

func TestMatrix(t *testing.T) {
	file := testkit.WriteFile(t, "class.csv", "a,b,c\n0,0,0\n0,1,1\n1,1,0\n")
	spec := schemas.Problem{Class: "matrix", Distribution: "uniform", Matrix: &schemas.Matrix{File: file}}
	if err := Resolve(&spec); err != nil {
		t.Fatal(err)
	}
	if spec.Domain != 3 || spec.Matrix.Format != "csv" || len(spec.Matrix.Digest) != 64 {
		t.Fatalf("resolved to %+v", spec)
	}
	again := spec
	if err := Resolve(&again); err != nil || again.Domain != 3 || *again.Matrix != *spec.Matrix {
		t.Fatalf("resolved again to %+v, %v", again, err)
	}
	p, err := Open(spec, file)
	if err != nil {
		t.Fatal(err)
	}
	if public := p.Public(); public.Matrix != "000011110" || public.Domain != 3 || public.Dim != 1 {
		t.Errorf("public: %v", public)
	}
	counts := map[string]float64{}
	d := p.Drawer(p.Test(0, 0))
	for rep := range uint64(3000) {
		d.Begin(new(seeded).trial(1, rep))
		x, y, w := make([]float64, 3), make([]float64, 3), make([]float64, 3)
		d.Test(x, y, w)
		counts[fmt.Sprint(y)]++
	}
	testkit.CheckCounts(
		t,
		[]float64{counts["[-1 -1 -1]"], counts["[-1 1 1]"], counts["[1 1 -1]"]},
		[]float64{1. / 3, 1. / 3, 1. / 3},
	)
}

func TestBadMatrix(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"class.csv", "a,b\n0,2\n", `problem.file: `},
		{"class.csv", "a,b\n0,2\n", `row 2, column "b": 2 is not an integer in 0..1`},
		{"class.csv", "a,b\n0,x\n", `row 2, column "b": "x" is not a number; every cell of a class matrix is 0 or 1`},
		{"class.csv", "a,b\n0,1\nz,1\n", `"z" is not a number`},
		{"class.csv", "0,1\n1,1\n", `the first line names the points`},
		{"class.csv", "a,b\n0,1\n1,1\n0,1\n", `hypotheses 1 and 3, counted from 1, are the same function`},
		{"class.csv", "a,b\n", `has no rows`},
		{"class.csv", "", `is empty`},
		{"class.csv", "a,b\n0,\n", `row 2, column "b": the cell is missing; fill the cell`},
		{"class.csv", "a\n" + strings.Repeat("0\n", 1<<19+1), `more than 524288 labels`},
		{"class.txt", "a\n0\n", `.txt files are not read`},
		{"class.tsv", "a\n0\n", `class.tsv: a class matrix is a .csv, .parquet or .arrow file`},
		{"class.libsvm", "0 1:1\n", `class.libsvm: a class matrix is a .csv, .parquet or .arrow file`},
		{"class.parquet", "a\n0\n", `is damaged, or not a file of the format parquet`},
	} {
		p := schemas.Problem{
			Class:        "matrix",
			Distribution: "uniform",
			Matrix:       &schemas.Matrix{File: testkit.WriteFile(t, c.name, c.text)},
		}
		if err := Resolve(&p); err == nil || !strings.HasPrefix(err.Error(), "problem.file: ") ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: %v, want %q", c.text, err, c.want)
		}
	}
	for _, c := range []struct {
		p    schemas.Problem
		want string
	}{
		{schemas.Problem{Class: "matrix", Distribution: "uniform"}, "problem.file: missing"},
		{schemas.Problem{Class: "matrix", Distribution: "uniform", Matrix: &schemas.Matrix{File: "/nowhere.csv"}},
			"problem.file: open /nowhere.csv"},
		{schemas.Problem{Class: "matrix", Distribution: "uniform", Dim: 2, Matrix: &schemas.Matrix{File: "x.csv"}},
			"problem.d: 2 does not apply to matrix"},
		{schemas.Problem{Class: "parities", Distribution: "uniform", Dim: 2, Matrix: &schemas.Matrix{File: "x.csv"}},
			"problem.file: does not apply to parities"},
		{schemas.Problem{Class: "parities", Distribution: "uniform", Domain: 2, Dim: 2},
			"problem.domain: 2 does not apply to parities"},
		{schemas.Problem{Class: "parities", Distribution: "uniform"}, "problem.d: missing"},
		{schemas.Problem{Class: "parities", Distribution: "needle", Dim: 2},
			`problem.distribution: "needle" does not fit the class parities; choose uniform`},
		{schemas.Problem{Class: "stumps", Distribution: "uniform", Dim: 2}, "problem.domain: missing"},
		{schemas.Problem{Class: "matrix", Data: &schemas.Data{}}, "problem.data: does not apply to the class matrix"},
	} {
		if err := Resolve(&c.p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.p, err, c.want)
		}
	}
}

// Data for the classes on bits: numeric columns unchanged, categories as 0 and 1.
func TestBitsFromData(t *testing.T) {
	file := testkit.WriteFile(t, "data.csv", "a,b,c,y\n0,1,red,p\n1,1,blue,n\n1,0,red,p\n")
	spec := schemas.Problem{
		Class: "conjunctions",
		Data:  &schemas.Data{File: file, Label: "y", Positive: "p", Features: []string{"a", "b"}, Categorical: []string{"c"}},
	}
	p, err := Open(spec, file)
	if err != nil {
		t.Fatal(err)
	}
	x, dim := p.Population()
	if dim != 4 || !slices.Equal(x, []float64{0, 1, 0, 1, 1, 1, 1, 0, 1, 0, 0, 1}) || p.Public().Dim != 4 {
		t.Errorf("population %v of dimension %d", x, dim)
	}
	spec.Data.File = testkit.WriteFile(t, "data.csv", "a,b,y\n0,3,p\n1,1,n\n")
	spec.Data.Categorical = nil
	if err := Resolve(&spec); err == nil ||
		!strings.Contains(err.Error(), `column "b": 3 is not an integer in 0..1; correct it`) {
		t.Errorf("a number that is no bit: %v", err)
	}
}

func FuzzMatrix(f *testing.F) {
	f.Add("a,b\n0,1\n1,1\n")
	f.Add("a,b\n0,1\n0,1\n")
	f.Add("0,1\n0,1\n")
	f.Fuzz(func(t *testing.T, text string) {
		file := testkit.WriteFile(t, "class.csv", text)
		p, err := Open(schemas.Problem{Class: "matrix", Distribution: "uniform", Matrix: &schemas.Matrix{File: file}}, file)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "problem.file: ") {
				t.Fatalf("blames something else: %v", err)
			}
			return
		}
		if rows := p.Public().Matrix; len(rows) == 0 || strings.Trim(rows, "01") != "" ||
			len(rows)%int(p.Public().Domain) != 0 {
			t.Fatalf("matrix %.40q", rows)
		}
	})
}
