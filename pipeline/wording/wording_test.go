package wording

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestAmounts(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{Count(1, "cell"), "1 cell"},
		{Count(0, "cell"), "0 cells"},
		{CountOf(2, "query", "queries"), "2 queries"},
		{Few([]string{"a", "b", "c"}, 2), "a, b and 1 more"},
		{Few([]string{"a", "b"}, 2), "a, b"},
		{Or([]string{"a"}), "a"},
		{Or([]string{"a", "b", "c"}), "a, b or c"},
		{Or(nil), ""},
		{And([]string{"a", "b", "c"}), "a, b and c"},
		{Thousands(1234567.4), "1,234,567"},
		{Thousands(999), "999"},
		{Duration(10 * time.Minute), "10m"},
		{Duration(2 * time.Hour), "2h"},
		{Duration(90 * time.Second), "1m30s"},
		{RoughDuration(99700 * time.Millisecond), "1m40s"},
		{RoughDuration(90 * time.Minute), "1h30m"},
		{RoughDuration(26*time.Hour + 31*time.Minute), "27h"},
		{RoughDuration(1234 * time.Microsecond), "1ms"},
		{Bytes(2 << 30), "2 GiB"},
		{Bytes(5 << 28), "1.25 GiB"},
		{Bytes(95641), "93.4 KiB"},
		{Bytes(0), "0 bytes"},
	} {
		if tt.got != tt.want {
			t.Errorf("%q, want %q", tt.got, tt.want)
		}
	}
}

func TestPercent(t *testing.T) {
	for share, want := range map[float64]string{
		0: "0 %", 1: "100 %", 0.19: "19 %", 0.19997: "20 %", 0.9996: "99.96 %", 0.996: "99.6 %", 1. / 760: "0.13 %",
		1. / (1 << 40): "9.1e-11 %",
	} {
		if got := Percent(share); got != want {
			t.Errorf("%v is %q, want %q", share, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"thresholds", "points", "intervals"}
	for word, want := range map[string]string{
		"tresholds": "thresholds", "Points": "points", "pionts": "points", "wombats": "",
	} {
		if got, ok := Nearest(word, known); got != want || ok != (want != "") {
			t.Errorf("%q: nearest is %q, want %q", word, got, want)
		}
	}
	if got, ok := Nearest("x", []string{"a", "b"}); ok {
		t.Errorf("x: nearest is %q", got)
	}
	if got := DidYouMean("em", []string{"expmech/em", "a/b", "other/em"}); got != `, did you mean "expmech/em" or "other/em"?` {
		t.Errorf("%q", got)
	}
	if got := DidYouMean("wombats", known); got != "; there is thresholds, points, intervals" {
		t.Errorf("%q", got)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"margin", "margin", 0},
		{"margin", "magrin", 1},
	} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
	word := rapid.StringMatching("[abc]{0,6}")
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		if distance(a, b) != distance(b, a) || (distance(a, b) == 0) != (a == b) {
			t.Fatalf("distance(%q, %q) = %d, the other way %d", a, b, distance(a, b), distance(b, a))
		}
	})
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		line  string
		width int
		want  string
	}{
		{"privacy of em: exponential mechanism", 0, "privacy of em: exponential mechanism"},
		{"privacy of em: exponential mechanism", 20, "privacy of em:|  exponential|  mechanism"},
		{"exactly twenty chars", 20, "exactly twenty chars"},
		{strings.Repeat("x", 25), 12, "xxxxxxxxxxxx|  xxxxxxxxxx|  xxx"},
	} {
		if got := strings.Join(Wrap(c.line, c.width, "  "), "|"); got != c.want {
			t.Errorf("%q in %d: %q", c.line, c.width, got)
		}
	}
}
