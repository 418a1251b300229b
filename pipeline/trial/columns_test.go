package trial

import (
	"math"
	"testing"

	"github.com/shatterlab/shatter/pipeline/problem/distribution"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// fullCell returns a cell to which every key column applies.
func fullCell() *Cell {
	c := &Cell{
		Key: Key{0xab}, DataKey: Key{0xcd}, Task: "predict", As: "a",
		Problem: &schemas.Problem{
			Class: "thresholds", Domain: 256, Dim: 2, Distribution: "uniform", Target: "random", Literals: 2,
			Noise: schemas.Noise{Kind: "random", Rate: 0.05}, Matrix: &schemas.Matrix{File: "x/m.csv"},
			Data: &schemas.Data{File: "x/d.csv"},
		},
		Queries: 10, Adversary: &schemas.Adversary{Kind: "boundary"}, Epsilon: 1, Delta: 1e-6, Alpha: 0.1, Beta: 0.2,
		Reference: math.Copysign(0, -1), Guarantee: &pluginv1.Guarantee{},
	}
	for _, k := range distribution.Keys() {
		*k.Field(c.Problem) = 0.1
	}
	return c
}

// Every key column has a unique name and a doc, and returns values of its type both for cells to
// which it applies and for others.
func TestKeyColumns(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range KeyColumns() {
		if k.Name == "" || seen[k.Name] || k.Doc == "" {
			t.Errorf("%+v", k.Column)
		}
		seen[k.Name] = true
		v := k.Value(fullCell())
		if got := schemas.TypeOf(v); got != k.Type {
			t.Errorf("%s: %T %v in a column of %s", k.Name, v, v, k.Type)
		}
		if f, ok := v.(float64); ok && math.Signbit(f) {
			t.Errorf("%s: -0", k.Name)
		}
		if v = k.Value(&Cell{Problem: &schemas.Problem{}}); v != nil && schemas.TypeOf(v) != k.Type {
			t.Errorf("%s of an empty cell: %T %v in a column of %s", k.Name, v, v, k.Type)
		}
		if k.Has(Quantity) && (k.Type == schemas.TextColumn || k.Number(fullCell()) == 0 || v != nil) {
			t.Errorf("%s is a quantity: %v of a full cell, %v of an empty one", k.Name, k.Number(fullCell()), v)
		}
		if k.Has(FromZero) && !k.Has(Quantity) {
			t.Errorf("%s starts from zero and is no quantity", k.Name)
		}
		if !IsKeyColumn(k.Name) {
			t.Errorf("%s is no key column", k.Name)
		}
	}
	if IsKeyColumn("n_star") {
		t.Error("n_star is a key column")
	}
}

// The kind of a guarantee does not depend on its proof: a plugin's guarantee is declared by its
// author.
func TestKeyColumnsOfGuarantees(t *testing.T) {
	for _, c := range []struct {
		plugin         string
		g              *pluginv1.Guarantee
		privacy, proof any
	}{
		{"", nil, nil, nil},
		{"", &pluginv1.Guarantee{Pure: true}, "pure", "proved"},
		{"", &pluginv1.Guarantee{}, "approximate", "proved"},
		{"", &pluginv1.Guarantee{Pure: true, Unproved: true}, "pure", "unproved"},
		{"/x", nil, nil, nil},
		{"/x", &pluginv1.Guarantee{Pure: true}, "pure", "declared"},
		{"/x", &pluginv1.Guarantee{}, "approximate", "declared"},
		{"/x", &pluginv1.Guarantee{Unproved: true}, "approximate", "unproved"},
	} {
		want := map[string]any{"privacy": c.privacy, "privacy_standing": c.proof}
		for _, k := range KeyColumns() {
			if v, ok := want[k.Name]; ok && k.Value(&Cell{Plugin: c.plugin, Guarantee: c.g}) != v {
				t.Errorf("%s of plugin %q, %v: want %v", k.Name, c.plugin, c.g, v)
			}
		}
	}
}
