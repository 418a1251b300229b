package prediction

import "testing"

// TestWithoutAVX2 runs what counts votes with the Go code alone.
func TestWithoutAVX2(t *testing.T) {
	defer func(had bool) { vector = had }(vector)
	vector = false
	t.Run("count", TestCount)
	t.Run("votes", TestVotesAreThoseOfThePresentHypotheses)
}
