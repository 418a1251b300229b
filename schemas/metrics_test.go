package schemas

import "testing"

func TestDeclaredMetric(t *testing.T) {
	for _, tt := range []struct {
		doc, meaning, unit string
		shown              string
	}{
		{"", "", "", "metric m"},
		{"the rate", "the rate", "", "the rate"},
		{"time of a round [seconds]", "time of a round", "seconds", "time of a round [seconds]"},
		{"loss (not private) [share of points] ", "loss (not private)", "share of points", "loss (not private) [share of points]"},
		{"lies in [0, 1]", "lies in [0, 1]", "", "lies in [0, 1]"},
		{"lies in [a, b]", "lies in [a, b]", "", "lies in [a, b]"},
		{"the weight w[i]", "the weight w[i]", "", "the weight w[i]"},
		{"[seconds]", "[seconds]", "", "[seconds]"},
	} {
		m := DeclaredMetric("m", tt.doc)
		if want := (Metric{"m", tt.meaning, tt.unit}); m != want || m.Meaning() != tt.shown {
			t.Errorf("%q: %+v, shown %q, want %+v, shown %q", tt.doc, m, m.Meaning(), want, tt.shown)
		}
	}
}
