package cheats

import (
	"context"

	"github.com/shatterlab/shatter/plugins/algo"
)

// rowOrder labels the rows of a file that is sorted by its label: the sample tells the share of -1,
// which come first, and the place of a row among all rows its label.
var rowOrder = learner("row-order", "Labels the rows of a sorted file by their places.",
	func(_ *algo.Trial[struct{}], sample *algo.Data) (algo.Model, error) {
		negative := 0.0
		for _, y := range sample.Ys() {
			negative += (1 - y) / 2
		}
		return sortedRows(negative / float64(sample.Len())), nil
	})

// sortedRows is the share of the rows labelled -1.
type sortedRows float64

// Predict implements algo.Model.
func (s sortedRows) Predict(_ context.Context, _ *algo.Data, out []float64) error {
	for i := range out {
		out[i] = positive(float64(i) >= float64(s)*float64(len(out)))
	}
	return nil
}
