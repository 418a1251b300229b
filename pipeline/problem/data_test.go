package problem

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// write puts a data file in a temporary folder.
func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// overData is a problem over a file with the label "y" and the positive value "p"; a halfspace has the bound 1.
func overData(class string, domain uint64) schemas.Problem {
	q := schemas.Problem{Class: class, Domain: domain, Data: &schemas.Data{Label: "y", Positive: "p"}}
	if class == "halfspace" {
		q.Data.Scale.Norm = 1
	}
	return q
}

func openCSV(t testing.TB, text string, q schemas.Problem) *Problem {
	t.Helper()
	p, err := Open(q, write(t, "data.csv", text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// manyRows is a CSV file with two numeric columns.
func manyRows(n int) string {
	var b strings.Builder
	b.WriteString("a,b,y\n")
	for i := range n {
		fmt.Fprintf(&b, "%v,%v,%s\n", float64(i)/1000, float64(i%7)/10, []string{"p", "q"}[i%2])
	}
	return b.String()
}

func TestCSVRows(t *testing.T) {
	ranges := func(r map[string][2]float64) func(q *schemas.Problem) {
		return func(q *schemas.Problem) { q.Data.Scale = schemas.Scale{Ranges: r} }
	}
	norm := func(b float64) func(q *schemas.Problem) {
		return func(q *schemas.Problem) { q.Data.Scale.Norm = b }
	}
	root2, root3 := math.Sqrt2, math.Sqrt(3)
	for _, c := range []struct {
		name, text string
		class      string
		change     func(q *schemas.Problem)
		x, y       []float64
		dim        int
		pulled     int
	}{
		{"norm", "a,b,y\n3,0,p\n0,-5,q\n", "halfspace", norm(10), []float64{.3, 0, 0, -.5}, []float64{1, -1}, 2, 0},
		{"norm, rows beyond", "a,b,y\n3,4,p\n6,8,q\n0,0,q\n", "halfspace", norm(5), []float64{.6, .8, .6, .8, 0, 0}, []float64{1, -1, -1}, 2, 1},
		{"norm, huge", "a,b,y\n1e308,1e308,p\n-1e308,0,q\n1e-320,0,q\n", "halfspace", norm(1e-300), []float64{1 / root2, 1 / root2, -1, 0, 1e-320 / 1e-300, 0}, []float64{1, -1, -1}, 2, 2},
		{"ranges", "a,b,y\n0,100,p\n5,300,q\n10,200,q\n", "halfspace", ranges(map[string][2]float64{"a": {0, 10}, "b": {100, 300}}),
			[]float64{-1 / root2, -1 / root2, 0, 1 / root2, 1 / root2, 0}, []float64{1, -1, -1}, 2, 0},
		{"ranges, clamped", "a,b,y\n-1,100,p\n5,400,q\n10,200,q\n", "halfspace", ranges(map[string][2]float64{"a": {0, 10}, "b": {100, 300}}),
			[]float64{-1 / root2, -1 / root2, 0, 1 / root2, 1 / root2, 0}, []float64{1, -1, -1}, 2, 2},
		{"one-hot, sorted, after the features", "c,a,d,y\nz,1,u,p\nx,2,u,q\nz,3,v,q\n", "halfspace",
			func(q *schemas.Problem) {
				q.Data.Categorical = []string{"d", "c"}
				q.Data.Scale = schemas.Scale{Ranges: map[string][2]float64{"a": {1, 3}}}
			},
			[]float64{
				-1 / root3, 1 / root3, 0, 0, 1 / root3,
				0, 1 / root3, 0, 1 / root3, 0,
				1 / root3, 0, 1 / root3, 0, 1 / root3,
			}, []float64{1, -1, -1}, 5, 0},
		{"one-hot alone", "c,y\nu,p\nv,q\n", "halfspace", func(q *schemas.Problem) { q.Data.Categorical = []string{"c"} }, []float64{1, 0, 0, 1}, []float64{1, -1}, 2, 0},
		{"chosen features in their order", "a,b,c,y\n.1,.2,.3,p\n.4,.5,.6,q\n", "halfspace", func(q *schemas.Problem) { q.Data.Features = []string{"c", "a"} }, []float64{.3, .1, .6, .4}, []float64{1, -1}, 2, 0},
		{"text columns are no features", "a,name,y\n.5,Ann,p\n.25,Bob,q\n", "halfspace", nil, []float64{.5, .25}, []float64{1, -1}, 1, 0},
		{"byte order mark, CRLF, spaces, quotes, no last newline", "\uFEFFa , y\r\n .5, \"p\"\r\n\r\n .25 ,q", "halfspace", nil, []float64{.5, .25}, []float64{1, -1}, 1, 0},
		{"numeric labels", "a,y\n.5,p\n.25,0\n", "halfspace", nil, []float64{.5, .25}, []float64{1, -1}, 1, 0},
		{"ordered", "v,y\n0,q\n9,p\n3,q\n", "thresholds", nil, []float64{0, 9, 3}, []float64{-1, 1, -1}, 1, 0},
		{"ordered, chosen column, whole floats", "a,v,y\nx,1e1,q\ny,2.0,p\n", "intervals", func(q *schemas.Problem) { q.Domain, q.Data.Features = 11, []string{"v"} }, []float64{10, 2}, []float64{-1, 1}, 1, 0},
	} {
		q := overData(c.class, 0)
		if c.class != "halfspace" {
			q.Domain = 10
		}
		if c.change != nil {
			c.change(&q)
		}
		p, err := Open(q, write(t, "data.csv", c.text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		x, dim := p.Population()
		if !near(x, c.x, 1e-15) || !slices.Equal(p.data.y, c.y) || dim != c.dim || p.Dim() != c.dim || p.Pulled() != c.pulled || p.Rows() != len(c.y) {
			t.Errorf("%s: rows %v, labels %v, %d numbers each, %d pulled", c.name, x, p.data.y, dim, p.Pulled())
		}
	}
}

func TestCSVRefuses(t *testing.T) {
	for _, c := range []struct {
		name, text string
		change     func(q *schemas.Problem)
		want       string // FILE stands for the path
	}{
		{"empty", "", nil, `problem.data.file: FILE is empty`},
		{"blank", "\n\n", nil, `problem.data.file: FILE has no header line`},
		{"header only", "a,y\n", nil, `problem.data.file: FILE has no rows below the header line`},
		{"ragged", "a,y\n1,p\n2\n", nil, `problem.data.file: FILE: row 3 has 1 cells, the header line has 2`},
		{"ragged first row", "3,2,p,q\n1,2,3,4,p\n", nil, `problem.data.file: FILE: row 2 has 5 cells, the header line has 4`},
		{"quotes", "a,y\n1,p\"\n", nil, `problem.data.file: FILE: row 2: bare " in non-quoted-field; write a cell`},
		{"open quote", "a,y\n1,\"p\n2,q\n", nil, `problem.data.file: FILE: row 2: extraneous or missing " in quoted-field`},
		{"not a number", "a,b,y\n1,2,p\n3,4,q\n5,six,p\n", nil, `problem.data.file: FILE: row 4, column "b": "six" is not a number; correct it, drop the row, or name the column in problem.data.categorical`},
		{"row as an editor shows it", "a,b,y\n1,2,p\n\n\"3\n\",4,q\n5,six,p\n", nil, `problem.data.file: FILE: row 6, column "b": "six" is not a number`},
		{"missing", "a,b,y\n1,2,p\n3, ,q\n", nil, `problem.data.file: FILE: row 3, column "b": the cell is missing; drop the row or fill the cell`},
		{"missing, first row", "a,b,y\n1,?,p\n3,4,q\n", nil, `problem.data.features: FILE: row 2, column "b": the cell is missing, so whether the column holds numbers is unknown; list the columns to use`},
		{"missing, first row, listed", "a,b,y\n1,?,p\n3,4,q\n", func(q *schemas.Problem) { q.Data.Features = []string{"b"} }, `problem.data.file: FILE: row 2, column "b": "?" is not a number`},
		{"missing label", "a,y\n1,p\n3,\n", nil, `problem.data.file: FILE: row 3, column "y": the cell is missing`},
		{"missing category", "a,y\nu,p\n,q\n", func(q *schemas.Problem) { q.Data.Categorical = []string{"a"} }, `problem.data.file: FILE: row 3, column "a": the cell is missing`},
		{"NaN", "a,y\n1,p\nnan,q\n", nil, `problem.data.file: FILE: row 3, column "a": NaN is not a finite number; drop the row or fill the cell`},
		{"infinite", "a,y\n1,p\n1e999,q\n", nil, `problem.data.file: FILE: row 3, column "a": +Inf is not a finite number`},
		{"third label", "a,y\n1,p\n2,q\n3,r\n", nil, `problem.data.label: FILE: row 4, column "y": "r" is a third label, after "p" and "q"; labels must have two values`},
		{"one label", "a,y\n1,p\n2,p\n", nil, `problem.data.label: FILE: all rows of column "y" are "p"; labels must have two values`},
		{"positive never occurs", "a,y\n1,P\n2,q\n", nil, `problem.data.positive: "p" never occurs in column "y", whose values are "P", "q"; choose one of these`},
		{"no label column", "a,Y1\n1,p\n2,q\n", func(q *schemas.Problem) { q.Data.Label = "Y2" }, `problem.data.label: FILE has no column "Y2", did you mean "Y1"?`},
		{"no feature", "mean radius,b,y\n1,2,p\n2,3,q\n", func(q *schemas.Problem) { q.Data.Features = []string{"mean radios"} }, `problem.data.features: FILE has no column "mean radios", did you mean "mean radius"?`},
		{"no categorical", "a,b,y\n1,2,p\n2,3,q\n", func(q *schemas.Problem) { q.Data.Categorical = []string{"colour"} }, `problem.data.categorical: FILE has no column "colour"; its columns are "a", "b", "y"`},
		{"other separator", "a;b;y\n1;2;p\n", nil, `problem.data.label: FILE has no column "y"; its columns are "a;b;y"; cells are to be separated by commas`},
		{"nothing numeric", "a,y\nu,p\nv,q\n", nil, `problem.data.features: FILE: no column is numeric; name columns in problem.data.categorical`},
		{"unnamed column", ",a,y\n0,1,p\n1,2,q\n", nil, `problem.data.features: FILE: column 1 has no name; name it, or list the columns to use`},
		{"same name", "a,b,a,y\n0,1,2,p\n", nil, `problem.data.file: FILE: columns 1 and 3 are both named "a"; rename one`},
		{"range missing", "a,b,y\n1,2,p\n3,4,q\n", func(q *schemas.Problem) { q.Data.Scale = schemas.Scale{Ranges: map[string][2]float64{"a": {0, 1}}} }, `problem.data.scale.ranges: no range for column "b"; add one, or list the columns to use in problem.data.features`},
		{"range of nothing", "aa,y\n1,p\n3,q\n", func(q *schemas.Problem) {
			q.Data.Scale = schemas.Scale{Ranges: map[string][2]float64{"aa": {0, 1}, "ab": {0, 1}}}
		}, `problem.data.scale.ranges: "ab" is not among the features, did you mean "aa"?`},
		{"d", "a,b,y\n1,2,p\n3,4,q\n", func(q *schemas.Problem) { q.Dim = 3 }, `problem.d: 3, but the data has 2 numbers per row; leave it out`},
		{"ordered, two columns", "a,b,y\n1,2,p\n3,4,q\n", ordinal, `problem.data.features: FILE: one column of integers is needed, but 2 are numeric ("a", "b"); name one`},
		{"ordered, fraction", "a,y\n1,p\n1.5,q\n", ordinal, `problem.data.file: FILE: row 3, column "a": 1.5 is not an integer in 0..9; correct it, or problem.domain`},
		{"ordered, negative", "a,y\n1,p\n-1,q\n", ordinal, `problem.data.file: FILE: row 3, column "a": -1 is not an integer in 0..9`},
		{"ordered, too large", "a,y\n1,p\n10,q\n", ordinal, `problem.data.file: FILE: row 3, column "a": 10 is not an integer in 0..9`},
		{"ordered, categorical", "a,y\n1,p\n", func(q *schemas.Problem) { ordinal(q); q.Data.Categorical = []string{"a"} }, `problem.data.categorical: does not apply to points`},
		{"changed", "a,y\n1,p\n", func(q *schemas.Problem) { q.Data.Digest = "00" }, `problem.data.file: FILE has changed: its digest is `},
		{"parquet that is none", "a,y\n1,p\n2,q\n", func(q *schemas.Problem) { q.Data.Format = "parquet" }, `problem.data.file: FILE is damaged, or not a file of the format parquet: `},
		{"arrow that is none", "a,y\n1,p\n2,q\n", func(q *schemas.Problem) { q.Data.Format = "arrow" }, `problem.data.file: FILE is damaged, or not a file of the format arrow: it does not begin with ARROW1`},
	} {
		q := overData("halfspace", 0)
		if c.change != nil {
			c.change(&q)
		}
		q.Data.File = write(t, "data.csv", c.text)
		t.Run(c.name, func(t *testing.T) {
			checkError(t, Resolve(&q), strings.ReplaceAll(c.want, "FILE", q.Data.File))
		})
	}
}

// ordinal turns a problem over data into one for points.
func ordinal(q *schemas.Problem) {
	q.Class, q.Domain, q.Data.Scale = "points", 10, schemas.Scale{}
}

func TestNoFile(t *testing.T) {
	q := overData("halfspace", 0)
	q.Data.File = filepath.Join(t.TempDir(), "none.csv")
	checkError(t, Resolve(&q), "problem.data.file: open "+q.Data.File+": no such file")
}

func TestResolveData(t *testing.T) {
	text := manyRows(20)
	digest := sha256.Sum256([]byte(text))
	given := overData("halfspace", 0)
	given.Data.File = write(t, "data.CSV", text)
	want := given
	want.Dim, want.Noise.Kind = 2, "none"
	want.Data = &schemas.Data{
		File: given.Data.File, Digest: hex.EncodeToString(digest[:]), Format: "csv", Label: "y", Positive: "p",
		Features: []string{"a", "b"}, Scale: schemas.Scale{Norm: 1},
	}
	got := given
	for range 2 { // resolving again changes nothing
		if err := Resolve(&got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	if given.Data.Digest != "" || given.Data.Features != nil {
		t.Error("the caller's Data was written to")
	}
	// A worker opens the resolved problem from a copy of another name.
	p, err := Open(got, write(t, got.Data.Digest, text))
	if err != nil {
		t.Fatal(err)
	}
	public := &pluginv1.Problem{Class: "halfspace", Dim: 2, Noise: "none", RealData: true}
	if diff := cmp.Diff(public, p.Public(), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	if _, err := Open(got, write(t, "data.csv", text+"9,9,p\n")); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("other bytes: %v", err)
	}
}

// Samples of data are rows of it, with their labels; the evaluation is all rows.
func TestSamplesAreRows(t *testing.T) {
	p := openCSV(t, manyRows(7), overData("halfspace", 0))
	d, x, y := sample(p, 1, 2, 14_000)
	counts := make([]float64, 7)
	for i := range y {
		k := -1
		for j := range 7 {
			if slices.Equal(x[2*i:2*i+2], p.data.x[2*j:2*j+2]) && y[i] == p.data.y[j] {
				k = j
			}
		}
		if k < 0 {
			t.Fatalf("drew %v, %v", x[2*i:2*i+2], y[i])
		}
		counts[k]++
	}
	checkCounts(t, counts, slices.Repeat([]float64{1. / 7}, 7))
	testX, testY, w := evaluation(d)
	if !slices.Equal(testX, p.data.x) || !slices.Equal(testY, p.data.y) || !near(w, slices.Repeat([]float64{1. / 7}, 7), 0) {
		t.Errorf("evaluation on %v %v %v", testX, testY, w)
	}
	d.Begin(new(seeded).trial(1, 2))
	d.Test(nil, testY[:3], w[:3])
	if !slices.Equal(testY[:3], p.data.y[:3]) || p.Evaluation() != "exact" {
		t.Error("evaluation without points")
	}
}

func TestBestOnData(t *testing.T) {
	for class, want := range map[string]float64{"thresholds": 0.3, "points": 0.2, "intervals": 0.1} {
		// Positives at 2, 3, 3, negatives around and one at 3; the best interval is [2, 3].
		p := openCSV(t, "v,y\n0,q\n1,q\n2,p\n3,p\n3,q\n3,p\n4,q\n5,q\n8,q\n9,q\n", overData(class, 10))
		if best, err := p.Best(); err != nil || math.Abs(best-want) > 1e-12 {
			t.Errorf("%s: best %v, %v; want %v", class, best, err, want)
		}
	}
	_, err := openCSV(t, manyRows(9), overData("halfspace", 0)).Best()
	var e *Error
	if !errors.As(err, &e) || e.Key != "goal.above" || !strings.Contains(e.Reason, `set "goal.above: 0"`) {
		t.Errorf("halfspace: %v", err)
	}
}

// The dataset that is shipped: resolved with the ranges of the example, a plain average of yx errs on less than 8 percent.
func TestBreastCancer(t *testing.T) {
	q := schemas.Problem{Class: "halfspace", Data: &schemas.Data{
		Label: "diagnosis", Positive: "malignant",
		Features: []string{"mean radius", "mean texture", "worst radius", "worst texture", "worst concave points"},
		Scale: schemas.Scale{Ranges: map[string][2]float64{
			"mean radius": {5, 25}, "mean texture": {5, 35}, "worst radius": {4, 30}, "worst texture": {10, 40}, "worst concave points": {0, 0.3},
		}},
	}}
	path := filepath.Join("..", "..", "cmd", "shatter", "examples", "breast_cancer.csv")
	p, err := Open(q, path)
	if err != nil {
		t.Fatal(err)
	}
	x, dim := p.Population()
	if p.Rows() != 569 || dim != 5 || p.Pulled() != 19 {
		t.Errorf("%d rows of %d, %d pulled", p.Rows(), dim, p.Pulled())
	}
	w := make([]float64, dim)
	for i, y := range p.data.y {
		for j := range w {
			w[j] += y * x[i*dim+j]
		}
	}
	wrong, positive := 0.0, 0
	for i, y := range p.data.y {
		if row := x[i*dim : (i+1)*dim]; y*dot(w, row) <= 0 {
			wrong++
		} else if norm(row) > 1+1e-12 {
			t.Errorf("row %d has norm %v", i, norm(row))
		}
		if y > 0 {
			positive++
		}
	}
	if positive != 212 || wrong/569 > 0.08 {
		t.Errorf("%d malignant, %v wrong", positive, wrong)
	}
	// All thirty numeric columns.
	q.Data.Features, q.Data.Scale = nil, schemas.Scale{Norm: 5000}
	if p, err = Open(q, path); err != nil || p.Dim() != 30 {
		t.Errorf("all features: %v", err)
	}
}

func FuzzCSV(f *testing.F) {
	for _, text := range []string{manyRows(3), "a,c,y\n1,u,p\n2,v,q\n", "\uFEFFa,y\r\n\"1\",p\r\n2,q", "a,y\n,\n", "v,y\n0,q\n9,p\n"} {
		f.Add([]byte(text), false, false)
		f.Add([]byte(text), true, true)
	}
	f.Fuzz(func(t *testing.T, text []byte, categorical, ordered bool) {
		fuzzTable(t, "csv", text, categorical, ordered)
	})
}

// fuzzTable reads bytes as a table: it must end in an *Error, or in rows within the unit ball.
func fuzzTable(t *testing.T, format string, data []byte, categorical, ordered bool) {
	tab := &table{spec: &schemas.Data{File: "data", Format: format, Label: "y", Positive: "p"}, memory: memory.NewGoAllocator()}
	if ordered {
		tab.side, tab.single = 10, true
	} else if tab.spec.Scale.Norm = 2; categorical {
		tab.spec.Categorical = []string{"c"}
	}
	p, dim := &population{}, 0
	err := tab.read(io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data))))
	if err == nil {
		p, dim, err = tab.finish()
	}
	if err != nil {
		if e := (*Error)(nil); !errors.As(err, &e) || format == csvFormat && strings.Contains(err.Error(), "runtime error") {
			t.Fatal(err)
		}
		return
	}
	if len(p.y) == 0 || len(p.x) != dim*len(p.y) {
		t.Fatalf("%d numbers for %d rows of %d", len(p.x), len(p.y), dim)
	}
	for i := range p.y {
		if row := p.x[i*dim : (i+1)*dim]; !ordered && !(norm(row) <= 1+1e-12) {
			t.Fatalf("row %d has norm %v", i, norm(row))
		}
	}
}

// The loader is fast enough for a million rows.
func BenchmarkCSV(b *testing.B) {
	const rows = 20_000
	var text bytes.Buffer
	text.WriteString("c,y")
	for j := range 20 {
		fmt.Fprintf(&text, ",f%d", j)
	}
	for i := range rows {
		fmt.Fprintf(&text, "\n%s,%s", []string{"u", "v", "w"}[i%3], []string{"p", "q"}[i%2])
		for j := range 20 {
			fmt.Fprintf(&text, ",%.4f", math.Sin(float64(i*j)))
		}
	}
	q := overData("halfspace", 0)
	q.Data.Categorical = []string{"c"}
	path := write(b, "data.csv", text.String())
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Open(q, path); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
}
