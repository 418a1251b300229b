package population

import (
	"bytes"
	"errors"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem/blame"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas"
)

// read reads the data of a problem from a file.
func read(p schemas.Problem, path string) (*Rows, error) {
	data := *p.Data
	data.File = path
	return Read(&data, concept.Spec{Name: p.Class, Domain: p.Domain, Dim: p.Dim})
}

// readError returns the error of reading the data of a problem.
func readError(p schemas.Problem) error {
	_, err := read(p, p.Data.File)
	return err
}

// overData returns a problem over a file with the label "y" and the positive value "p". A halfspace
// has the bound 1.
func overData(class string, domain uint64) schemas.Problem {
	p := schemas.Problem{Class: class, Domain: domain, Data: &schemas.Data{Label: "y", Positive: "p"}}
	if class == "halfspace" {
		p.Data.Scale.Norm = 1
	}
	return p
}

func openCSV(t testing.TB, text string, p schemas.Problem) *Rows {
	t.Helper()
	rows, err := read(p, testkit.WriteFile(t, "data.csv", text))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// checkError wants a *blame.Error that begins as stated.
func checkError(t *testing.T, err error, want string) {
	t.Helper()
	var e *blame.Error
	if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func near(a, b []float64, most float64) bool {
	return slices.EqualFunc(a, b, func(p, q float64) bool { return math.Abs(p-q) <= most })
}

func norm(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum)
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
		{"norm, rows beyond", "a,b,y\n3,4,p\n6,8,q\n0,0,q\n", "halfspace", norm(5), []float64{.6, .8, .6, .8, 0, 0},
			[]float64{1, -1, -1}, 2, 1},
		{"norm, huge", "a,b,y\n1e308,1e308,p\n-1e308,0,q\n1e-320,0,q\n", "halfspace", norm(1e-300),
			[]float64{1 / root2, 1 / root2, -1, 0, 1e-320 / 1e-300, 0}, []float64{1, -1, -1}, 2, 2},
		{"ranges", "a,b,y\n0,100,p\n5,300,q\n10,200,q\n", "halfspace",
			ranges(map[string][2]float64{"a": {0, 10}, "b": {100, 300}}),
			[]float64{-1 / root2, -1 / root2, 0, 1 / root2, 1 / root2, 0}, []float64{1, -1, -1}, 2, 0},
		{"ranges, clamped", "a,b,y\n-1,100,p\n5,400,q\n10,200,q\n", "halfspace",
			ranges(map[string][2]float64{"a": {0, 10}, "b": {100, 300}}),
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
		{"one-hot alone", "c,y\nu,p\nv,q\n", "halfspace",
			func(q *schemas.Problem) { q.Data.Categorical = []string{"c"} },
			[]float64{1, 0, 0, 1}, []float64{1, -1}, 2, 0},
		{"chosen features in their order", "a,b,c,y\n.1,.2,.3,p\n.4,.5,.6,q\n", "halfspace",
			func(q *schemas.Problem) { q.Data.Features = []string{"c", "a"} }, []float64{.3, .1, .6, .4},
			[]float64{1, -1}, 2,
			0},
		{"text columns are no features", "a,name,y\n.5,Ann,p\n.25,Bob,q\n", "halfspace", nil, []float64{.5, .25},
			[]float64{1, -1}, 1, 0},
		{"byte order mark, CRLF, spaces, quotes, no last newline", "\uFEFFa , y\r\n .5, \"p\"\r\n\r\n .25 ,q",
			"halfspace",
			nil, []float64{.5, .25}, []float64{1, -1}, 1, 0},
		{"numeric labels", "a,y\n.5,p\n.25,0\n", "halfspace", nil, []float64{.5, .25}, []float64{1, -1}, 1, 0},
		{"ordered", "v,y\n0,q\n9,p\n3,q\n", "thresholds", nil, []float64{0, 9, 3}, []float64{-1, 1, -1}, 1, 0},
		{"ordered, chosen column, whole floats", "a,v,y\nx,1e1,q\ny,2.0,p\n", "intervals",
			func(q *schemas.Problem) { q.Domain, q.Data.Features = 11, []string{"v"} }, []float64{10, 2},
			[]float64{-1, 1}, 1,
			0},
	} {
		q := overData(c.class, 0)
		if c.class != "halfspace" {
			q.Domain = 10
		}
		if c.change != nil {
			c.change(&q)
		}
		p, err := read(q, testkit.WriteFile(t, "data.csv", c.text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !near(p.X, c.x, 1e-15) || !slices.Equal(p.Y, c.y) || p.Dim != c.dim || p.Pulled != c.pulled {
			t.Errorf("%s: rows %v, labels %v, %d numbers each, %d pulled", c.name, p.X, p.Y, p.Dim, p.Pulled)
		}
	}
}

// Keys of the sweep file that do not fit the file are refused.
func TestRefuses(t *testing.T) {
	for _, c := range []struct {
		name, text string
		change     func(q *schemas.Problem)
		want       string // FILE stands for the path
	}{
		{"not a number", "a,b,y\n1,2,p\n3,4,q\n5,six,p\n", func(q *schemas.Problem) { q.Data.Features = []string{"b"} },
			`problem.data.file: FILE: row 4, column "b": "six" is not a number; ` +
				`correct it, drop the row, or name the column in problem.data.categorical`},
		{"row as an editor shows it", "a,b,y\n1,2,p\n\n\"3\n\",4,q\n5,six,p\n",
			func(q *schemas.Problem) { q.Data.Features = []string{"b"} },
			`problem.data.file: FILE: row 6, column "b": "six" is not a number`},
		{"missing, first row, listed", "a,b,y\n1,?,p\n3,4,q\n",
			func(q *schemas.Problem) { q.Data.Features = []string{"b"} },
			`problem.data.file: FILE: row 2, column "b": the cell is missing (?)`},
		{"missing label", "a,y\n1,p\n3,\n", nil, `problem.data.file: FILE: row 3, column "y": the cell is missing`},
		{"missing category", "a,y\nu,p\n,q\n", func(q *schemas.Problem) { q.Data.Categorical = []string{"a"} },
			`problem.data.file: FILE: row 3, column "a": the cell is missing`},
		{"no feature", "mean radius,b,y\n1,2,p\n2,3,q\n",
			func(q *schemas.Problem) { q.Data.Features = []string{"mean radios"} },
			`problem.data.features: FILE has no column "mean radios", did you mean "mean radius"?`},
		{"no categorical", "a,b,y\n1,2,p\n2,3,q\n",
			func(q *schemas.Problem) { q.Data.Categorical = []string{"colour"} },
			`problem.data.categorical: FILE has no column "colour"; its columns are "a", "b", "y"`},
		{"range missing", "a,b,y\n1,2,p\n3,4,q\n",
			func(q *schemas.Problem) { q.Data.Scale = schemas.Scale{Ranges: map[string][2]float64{"a": {0, 1}}} },
			`problem.data.scale.ranges: no range for column "b"; ` +
				`add one, or list the columns to use in problem.data.features`},
		{"range of nothing", "aa,y\n1,p\n3,q\n", func(q *schemas.Problem) {
			q.Data.Scale = schemas.Scale{Ranges: map[string][2]float64{"aa": {0, 1}, "ab": {0, 1}}}
		}, `problem.data.scale.ranges: unknown "ab", did you mean "aa"?`},
		{"ordered, two columns", "a,b,y\n1,2,p\n3,4,q\n", ordinal,
			`problem.data.features: FILE: one column of integers is needed, but 2 are numeric ("a", "b"); name one`},
		{"ordered, fraction", "a,y\n1,p\n1.5,q\n", ordinal,
			`problem.data.file: FILE: row 3, column "a": 1.5 is not an integer in 0..9; correct it, or problem.domain`},
		{"ordered, negative", "a,y\n1,p\n-1,q\n", ordinal,
			`problem.data.file: FILE: row 3, column "a": -1 is not an integer in 0..9`},
		{"ordered, too large", "a,y\n1,p\n10,q\n", ordinal,
			`problem.data.file: FILE: row 3, column "a": 10 is not an integer in 0..9`},
		{"ordered, categorical", "a,y\n1,p\n",
			func(q *schemas.Problem) { ordinal(q); q.Data.Categorical = []string{"a"} },
			`problem.data.categorical: does not apply to points`},
		{"changed", "a,y\n1,p\n", func(q *schemas.Problem) { q.Data.Digest = "00" },
			`problem.data.file: FILE has changed: its digest is `},
	} {
		q := overData("halfspace", 0)
		if c.change != nil {
			c.change(&q)
		}
		q.Data.File = testkit.WriteFile(t, "data.csv", c.text)
		t.Run(c.name, func(t *testing.T) {
			checkError(t, readError(q), strings.ReplaceAll(c.want, "FILE", q.Data.File))
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
	checkError(t, readError(q), "problem.data.file: open "+q.Data.File+": no such file")
}

func FuzzCSV(f *testing.F) {
	for _, text := range []string{testkit.CSV(3), "a,c,y\n1,u,p\n2,v,q\n", "\uFEFFa,y\r\n\"1\",p\r\n2,q", "a,y\n,\n",
		"v,y\n0,q\n9,p\n"} {
		f.Add([]byte(text), false, false)
		f.Add([]byte(text), true, true)
	}
	f.Fuzz(func(t *testing.T, text []byte, categorical, ordered bool) {
		fuzzTable(t, "csv", text, categorical, ordered)
	})
}

// fuzzTable reads bytes as a table: it must end in a *blame.Error, or in rows within the unit ball.
func fuzzTable(t *testing.T, format string, data []byte, categorical, ordered bool) {
	tab := &table{spec: &schemas.Data{File: "data", Format: format, Label: "y", Positive: "p"}}
	if ordered {
		tab.side, tab.single = 10, true
	} else if tab.spec.Scale.Norm = 2; categorical {
		tab.spec.Categorical = []string{"c"}
	}
	p := &Rows{}
	err := tab.read(io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data))))
	if err == nil {
		p, err = tab.finish()
	}
	if err != nil {
		if e := (*blame.Error)(nil); !errors.As(err, &e) ||
			format == csvFormat && strings.Contains(err.Error(), "runtime error") {
			t.Fatal(err)
		}
		return
	}
	if len(p.Y) == 0 || len(p.X) != p.Dim*len(p.Y) {
		t.Fatalf("%d numbers for %d rows of %d", len(p.X), len(p.Y), p.Dim)
	}
	for i := range p.Y {
		if row := p.X[i*p.Dim : (i+1)*p.Dim]; !ordered && !(norm(row) <= 1+1e-12) {
			t.Fatalf("row %d has norm %v", i, norm(row))
		}
	}
}
