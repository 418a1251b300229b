package population

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

// Rows in shared memory are those in the program's own, bit for bit, in whatever order, with and
// without columns of categories, which make rows longer when all are read.
func TestSharedRows(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		rows, values := rapid.IntRange(2, 800).Draw(t, "rows"), rapid.IntRange(1, 9).Draw(t, "values")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		var text strings.Builder
		text.WriteString("a,c,b,y\n")
		for i := range rows {
			fmt.Fprintf(&text, "%v,v%d,%v,%c\n", r.NormFloat64(), r.IntN(values), r.NormFloat64(), "pq"[i%2])
		}
		q := overData("halfspace", 0)
		if rapid.Bool().Draw(t, "categorical") {
			q.Data.Categorical = []string{"c"}
		}
		path := filepath.Join(dir, "data.csv")
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		want, err := read(q, path)
		if err != nil {
			t.Fatal(err)
		}
		order := func(rows int) (order []int32) {
			for _, i := range r.Perm(rows) {
				order = append(order, int32(i))
			}
			return order
		}
		if rapid.Bool().Draw(t, "order of the file") {
			order = nil
		}
		checkShared(t, q, path, want, order)
	})
}

func checkShared(t *rapid.T, q schemas.Problem, path string, want *Rows, order func(int) []int32) {
	data := *q.Data
	data.File = path
	var places []int32
	got, err := Read(&data, concept.Spec{Name: q.Class})
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	if !slices.Equal(got.X, want.X) {
		t.Fatal("rows differ before they are sealed")
	}
	if order != nil {
		places = order(len(got.Y))
	}
	if err := got.Seal(places); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Y, want.Y) || got.Dim != want.Dim || got.Pulled != want.Pulled {
		t.Fatalf("labels, dimension or pulled rows differ: %d, %d and %d, %d", got.Dim, got.Pulled, want.Dim, want.Pulled)
	}
	x, dim := got.Table().Points(), got.Table().Dim
	if dim != want.Dim {
		t.Fatalf("table of dimension %d", dim)
	}
	for i := range want.Y {
		if !slices.Equal(got.Row(i), want.Row(i)) {
			t.Fatalf("row %d is %v, want %v", i, got.Row(i), want.Row(i))
		}
		place := i
		if order != nil {
			place = slices.Index(places, int32(i))
		}
		if !slices.Equal(x[place*dim:(place+1)*dim], want.Row(i)) {
			t.Fatalf("place %d of the table is %v, want %v", place, x[place*dim:(place+1)*dim], want.Row(i))
		}
	}
}
