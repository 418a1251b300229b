package problem

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// overData returns a problem over a file with the label "y" and the positive value "p". A
// halfspace has the bound 1.
func overData(class string, domain uint64) schemas.Problem {
	q := schemas.Problem{Class: class, Domain: domain, Data: &schemas.Data{Label: "y", Positive: "p"}}
	if class == "halfspace" {
		q.Data.Scale.Norm = 1
	}
	return q
}

func openCSV(t testing.TB, text string, q schemas.Problem) *Problem {
	t.Helper()
	p, err := Open(q, testkit.WriteFile(t, "data.csv", text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestDimensionOfData(t *testing.T) {
	q := overData("halfspace", 0)
	q.Dim, q.Data.File = 3, testkit.WriteFile(t, "data.csv", "a,b,y\n1,2,p\n3,4,q\n")
	checkError(t, Resolve(&q), "problem.d: 3, but the data has 2 numbers per row; leave it out")
}

func TestResolveData(t *testing.T) {
	text := testkit.CSV(20)
	digest := sha256.Sum256([]byte(text))
	given := overData("halfspace", 0)
	given.Data.File = testkit.WriteFile(t, "data.CSV", text)
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
	// A worker opens the resolved problem from a copy with another name.
	p, err := Open(got, testkit.WriteFile(t, got.Data.Digest, text))
	if err != nil {
		t.Fatal(err)
	}
	public := &pluginv1.Problem{Class: "halfspace", Dim: 2, Noise: "none", RealData: true}
	if diff := cmp.Diff(public, p.Public(), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	if _, err := Open(got, testkit.WriteFile(t, "data.csv", text+"9,9,p\n")); err == nil ||
		!strings.Contains(err.Error(), "has changed") {
		t.Errorf("other bytes: %v", err)
	}
}

// Samples of data are rows of the file, with their labels; the evaluation covers all rows.
func TestSamplesAreRows(t *testing.T) {
	p := openCSV(t, testkit.CSV(7), overData("halfspace", 0))
	d, x, y := sample(p, 1, 2, 14_000)
	counts := make([]float64, 7)
	for i := range y {
		k := -1
		for j := range 7 {
			if slices.Equal(x[2*i:2*i+2], p.rows.X[2*j:2*j+2]) && y[i] == p.rows.Y[j] {
				k = j
			}
		}
		if k < 0 {
			t.Fatalf("drew %v, %v", x[2*i:2*i+2], y[i])
		}
		counts[k]++
	}
	testkit.CheckCounts(t, counts, slices.Repeat([]float64{1. / 7}, 7))
	testX, testY, w := evaluation(d)
	if !slices.Equal(testX, p.rows.X) || !slices.Equal(testY, p.rows.Y) ||
		!near(w, slices.Repeat([]float64{1. / 7}, 7), 0) {
		t.Errorf("evaluation on %v %v %v", testX, testY, w)
	}
	d.Begin(new(seeded).trial(1, 2))
	d.Test(nil, testY[:3], w[:3])
	if !slices.Equal(testY[:3], p.rows.Y[:3]) || p.Evaluation(0, 0, 0, false).Words != "exact" {
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
		backwards := func(rows int) (order []int32) {
			for i := range rows {
				order = append(order, int32(rows-1-i))
			}
			return order
		}
		shared, err := Open(p.Resolved(), p.Resolved().Data.File)
		if err != nil {
			t.Fatal(err)
		}
		if err := shared.Seal(backwards); err != nil {
			t.Fatal(err)
		}
		for _, when := range []string{"in shared memory", "after Close"} { // the least error reads the file again
			if best, err := shared.Best(); err != nil || math.Abs(best-want) > 1e-12 {
				t.Errorf("%s, %s: best %v, %v; want %v", class, when, best, err, want)
			}
			if err := shared.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	_, err := openCSV(t, testkit.CSV(9), overData("halfspace", 0)).Best()
	var e *Error
	if !errors.As(err, &e) || e.Key != "goal.reference" || !strings.Contains(e.Reason, `set "goal.reference: 0"`) {
		t.Errorf("halfspace: %v", err)
	}
}
