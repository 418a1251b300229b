package trial

import (
	"testing"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Verdicts on the bounds of one cell do not change the bounds that other cells share.
func TestJudge(t *testing.T) {
	b := Bounds{{Name: "a", Premises: []string{"one"}}, {Name: "b", Fails: "no"}}
	judged := b.WithFailures(func(b *pluginv1.Bound) string {
		if len(b.GetPremises()) == 1 {
			return "not here"
		}
		return b.GetFails()
	})
	if b[0].Fails != "" || judged[0].Fails != "not here" || judged[0].Name != "a" || judged[1] != b[1] {
		t.Errorf("%v became %v", b, judged)
	}
}

// Only a proved bound is called proved.
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
