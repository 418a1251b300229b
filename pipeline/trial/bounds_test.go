package trial

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Bounds come out of their packing as they went in, whatever their names are, and a verdict on those
// of one cell is not one on the bounds that other cells share.
func TestBounds(t *testing.T) {
	want := []*pluginv1.Bound{
		{Name: "a", Source: "s", Value: 12, Proved: true, Premises: []string{"one", "two"}, With: map[string]float64{"k": 3, "b": 0.5}},
		{Name: "b", Source: "s", Unit: "regret", Value: math.Inf(1), Order: true, Fails: "no"},
		{Name: "c", Premises: []string{"", "x\x00y", string(make([]byte, 300))}, With: map[string]float64{"": 1, "\x01z": 2}},
	}
	b := NewBounds(want)
	if diff := cmp.Diff(want, b.All(), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	judged := b.Judge(func(b *pluginv1.Bound) string {
		if len(b.GetPremises()) == 2 {
			return "not here"
		}
		return b.GetFails()
	})
	if !b.Equal(NewBounds(want)) || judged.Equal(b) {
		t.Error("the verdict is on the bounds themselves")
	}
	want[0].Fails = "not here"
	if diff := cmp.Diff(want, judged.All(), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	if none := NewBounds(nil); none.All() != nil || !none.Equal(Bounds{}) {
		t.Errorf("no bounds are %v", none.All())
	}
}

// Only a bound that is proved is called so.
func TestRefutedBounds(t *testing.T) {
	for _, c := range []struct {
		want      string
		standings []string
	}{
		{"a bound that is called proved", []string{Proved, Proved}},
		{"a bound that a plugin declares", []string{Declared}},
		{"bounds that are called proved, and others that a plugin declares", []string{Proved, Declared, Proved}},
	} {
		if got := RefutedBounds(c.standings); got != c.want {
			t.Errorf("%v: %q, want %q", c.standings, got, c.want)
		}
	}
}
