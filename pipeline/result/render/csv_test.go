package render

import (
	"bytes"
	"encoding/csv"
	"testing"

	"pgregory.net/rapid"
)

// A field is written as encoding/csv writes it.
func TestField(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.SampledFrom([]rune("ab ,\"\r\n\t\\.é\u00a0"))).Draw(t, "s")
		var want bytes.Buffer
		w := csv.NewWriter(&want)
		if err := w.Write([]string{s, "x"}); err != nil {
			t.Fatal(err)
		}
		w.Flush()
		if got := string(appendField(nil, s)) + ",x\n"; got != want.String() {
			t.Errorf("%q: %q, want %q", s, got, want.String())
		}
	})
}
