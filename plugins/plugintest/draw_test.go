package plugintest

import (
	"slices"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
)

// A class that only a plugin supports is drawn like the thresholds or the halfspaces.
func TestDrawUnknownClass(t *testing.T) {
	for _, c := range []struct {
		unknown, like algo.Problem
	}{
		{algo.Problem{Class: "mine", Domain: 64, Dim: 1}, algo.Problem{Class: concept.Thresholds, Domain: 64, Dim: 1}},
		{algo.Problem{Class: "mine", Dim: 3, Margin: 0.2}, algo.Problem{Class: concept.Halfspace, Dim: 3, Margin: 0.2}},
	} {
		x, likeX := make([]float64, 20*c.like.Dim), make([]float64, 20*c.like.Dim)
		y, likeY := make([]float64, 20), make([]float64, 20)
		draw(c.unknown, 3, x, y)
		draw(c.like, 3, likeX, likeY)
		if !slices.Equal(x, likeX) || !slices.Equal(y, likeY) {
			t.Errorf("%+v: %v %v, want %v %v", c.unknown, x, y, likeX, likeY)
		}
	}
}
