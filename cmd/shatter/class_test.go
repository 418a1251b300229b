package main

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// described is what class describe -o json says.
type describedClass struct {
	Class, File  string
	Dim          int
	Points, Size json.Number
	LogSize      float64 `json:"ln_size"`
	VC, Ldim     struct{ Low, High *int }
	Separator    *struct {
		M, H   int
		Rho01  float64   `json:"rho_01"`
		RhoPM  float64   `json:"rho_pm"`
		Margin []float64 `json:"hull_margin"`
		Points [][]float64
	}
	NoSeparator     string `json:"no_separator"`
	Tree, Shattered [][]float64
}

func describeClass(t *testing.T, args ...string) (d describedClass) {
	t.Helper()
	out, errs, code := shatter(t, append([]string{"class", "describe", "-o", "json"}, args...)...)
	if code != 0 || errs != "" {
		t.Fatalf("exit %d: %s", code, errs)
	}
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return d
}

// exact holds both dimensions against what they should be.
func (d describedClass) exact(t *testing.T, vc, ldim int) {
	t.Helper()
	if *d.VC.Low != vc || *d.VC.High != vc || *d.Ldim.Low != ldim || *d.Ldim.High != ldim {
		t.Errorf("VC %d to %d, Ldim %d to %d, want %d and %d", *d.VC.Low, *d.VC.High, *d.Ldim.Low, *d.Ldim.High, vc, ldim)
	}
}

// The thresholds of 2^40 points, which nobody can list.
func TestDescribeThresholds(t *testing.T) {
	t.Parallel()
	d := describeClass(t, "thresholds", "--domain", "2^40", "--no-constant")
	d.exact(t, 1, 40)
	if d.Points != "1099511627776" || d.Size != "1099511627776" || d.Separator != nil || d.NoSeparator == "" {
		t.Errorf("%+v", d)
	}
}

func TestDescribeParities(t *testing.T) {
	t.Parallel()
	d := describeClass(t, "parities", "--d", "8", "--tree", "--separator")
	d.exact(t, 8, 8)
	if d.Dim != 8 || d.Points != "256" || d.Size != "256" || math.Abs(d.LogSize-8*math.Ln2) > 1e-14 {
		t.Errorf("%+v", d)
	}
	z := d.Separator
	if z.M != 8 || z.H != 1 || math.Abs(z.Rho01-math.Sqrt(0.125)) > 1e-15 || math.Abs(z.RhoPM-math.Sqrt(0.5)) > 1e-15 ||
		len(z.Points) != 8 {
		t.Errorf("separator %+v", z)
	}
	if low, high := z.Margin[0], z.Margin[1]; low > 0.25 || high < 0.25 || high-low > 1e-12 {
		t.Errorf("hull margin %v, want 0.25", z.Margin)
	}
	if len(d.Tree) != 255 || len(d.Shattered) != 8 || len(d.Tree[0]) != 8 {
		t.Errorf("tree of %d nodes, shattered set of %d", len(d.Tree), len(d.Shattered))
	}
}

func TestDescribeHalfspace(t *testing.T) {
	t.Parallel()
	d := describeClass(t, "halfspace", "--d", "3")
	if *d.VC.Low != 3 || d.Ldim.Low != nil || d.Ldim.High != nil || d.Size != "" || d.Points != "" || d.Separator != nil {
		t.Errorf("%+v", d)
	}
}

func TestDescribeText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"intervals", "--domain", "2^40"}, "Littlestone dimension  between 78 and 79\n"},
		{[]string{"halfspace", "--d", "2"}, "Littlestone dimension  infinite\n"},
		{[]string{"halfspace", "--d", "2"}, "points                 infinitely many, each of 2 numbers\n"},
		{
			[]string{"stumps", "--domain", "4", "--d", "1024"},
			"points                 about 3.2317e+616, each of 1024 numbers\n",
		},
		{[]string{"points", "--domain", "2^40"}, "representation (nats)  between 1.099 and 2.833\n"},
		{[]string{"points", "--domain", "1", "--tree"}, "Littlestone dimension  0\n"},
		{[]string{"parities", "--d", "2", "--tree"}, "\n(1 0)\n- (0 1)\n+ (0 1)\n"},
		{[]string{"thresholds", "--domain", "7", "--tree"}, "\n3\n- 5\n  - 6\n  + 4\n+ 1\n  - 2\n  + 0\n"},
	} {
		out, errs, code := shatter(t, append([]string{"class", "describe"}, c.args...)...)
		if code != 0 || !strings.Contains(out, c.want) {
			t.Errorf("%v: exit %d: %s\n%s\nlacks %q", c.args, code, errs, out, c.want)
		}
	}
}

func TestBadClass(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string { return write(t, filepath.Join(dir, name), text) }
	right := file("right.csv", "a,b\n0,0\n0,1\n")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{file("twice.csv", "a,b\n0,0\n0,1\n0,0\n")}, "hypotheses 1 and 3, counted from 1, are the same function"},
		{[]string{file("two.csv", "a,b\n0,0\n0,2\n")}, `row 3, column "b": 2 is not an integer in 0..1`},
		{[]string{file("empty.csv", "a,b\n")}, "no rows below the header line"},
		{[]string{file("text.txt", "a,b\n0,0\n")}, `unknown extension ".txt"`},
		{[]string{filepath.Join(dir, "missing.csv")}, "no such file"},
		{[]string{dir}, "unknown extension"},
		{[]string{"treshold", "--domain", "4"}, `describe class: no class or file "treshold", did you mean "thresholds"?`},
		{[]string{"matrix"}, "name the file instead"},
		{[]string{"thresholds"}, `domain 0 of class "thresholds": use 2 to 2^40 (1099511627776); --domain and --d set them`},
		{[]string{"thresholds", "--domain", "two"}, `--domain: "two" is not a whole number`},
		{[]string{"thresholds", "--domain", "2^41"}, "use 2 to 2^40"},
		{[]string{"parities", "--d", "65"}, "use 1 to 64"},
		{[]string{"points", "--domain", "4", "--no-constant"}, "only thresholds can"},
		{[]string{right, "--domain", "2"}, "--domain does not apply to a file"},
		{[]string{right, "--d", "2"}, "--d does not apply to a file"},
		{
			[]string{"thresholds", "--domain", "2^40", "--tree"},
			`--tree: list class "thresholds": 1099511627777 hypotheses, use at most 4096`,
		},
		{[]string{"halfspace", "--d", "2", "--tree"}, "infinitely many hypotheses"},
		{[]string{right, "-o", "csv"}, `-o "csv": one of table, json is needed`},
		{nil, "wrong number of arguments (0)"},
	} {
		expect(t, exitUsage, []string{c.want}, append([]string{"class", "describe"}, c.args...)...)
	}
	expect(
		t,
		exitUsage,
		[]string{`unknown command "describ" for "shatter class", did you mean "describe"?`},
		"class",
		"describ",
	)
}
