package trial

import (
	"strings"
	"testing"
)

// A cell is trivial if its target is drawn and a learner without data succeeds with probability at
// least 1 - beta. The description states this probability, and that a fixed target is a
// calibration.
func TestTrivial(t *testing.T) {
	cell := func(success, alpha, beta float64, drawn bool) *Cell {
		return &Cell{Alpha: alpha, Beta: beta, Prior: &Prior{Success: success, Drawn: drawn}}
	}
	for _, c := range []struct {
		cell    *Cell
		trivial bool
		words   string
	}{
		{cell(0.9, 0.1, 0.1, true), true, "a learner without data succeeds in 90 % of trials at alpha 0.1"},
		{cell(0.89, 0.1, 0.1, true), false, "succeeds in 89 % of trials"},
		{cell(1, 0.1, 0.1, false), false, "a calibration"},
		{cell(1, 0.1, 0, true), false, "100 %"}, // no beta: no n* is requested
		{cell(1, 0, 0.1, true), false, "100 %"}, // task online
		{&Cell{Alpha: 0.1, Beta: 0.1}, false, ""},
	} {
		if got, words := c.cell.Trivial(), c.cell.DescribePrior(); got != c.trivial || !strings.Contains(words, c.words) {
			t.Errorf("%+v: %v, %q; want %v, %q", c.cell.Prior, got, words, c.trivial, c.words)
		}
	}
}
