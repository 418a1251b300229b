package query

import "testing"

func TestPlain(t *testing.T) {
	for message, want := range map[string]string{
		"Parser Error: syntax error at or near \"selct\"\n\nLINE 1: selct 1\n        ^": `syntax error at or near "selct" (line 1, column 1)`,
		"Binder Error: Referenced column \"x\" not found!\nCandidate bindings: \"n\"\n\nLINE 12:  select x\n               " +
			"   ^": `referenced column "x" not found; Candidate bindings: "n" (line 12, column 10)`,
		"Out of Memory Error: failed to allocate.\nPossible solutions:\n* x": "failed to allocate",
		"INTERNAL Error: it broke\n\nStack Trace:\n\n0 x":                    "it broke",
		"": "",
	} {
		if got := plain(message); got != want {
			t.Errorf("%q\n%q, want\n%q", message, got, want)
		}
	}
}
