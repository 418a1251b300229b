package coordinator

import (
	"testing"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// A row shows bounds that hold, and none that is an order of magnitude alone.
func TestTableRowBounds(t *testing.T) {
	proved := func(n float64) *pluginv1.Bound { return &pluginv1.Bound{Name: "p", Value: n, Proved: true} }
	printed := func(n float64) *pluginv1.Bound { return &pluginv1.Bound{Name: "q", Value: n} }
	failing := func(b *pluginv1.Bound) *pluginv1.Bound {
		b.Fails = "labels are noisy"
		return b
	}
	order := &pluginv1.Bound{Name: "o", Value: 5, Order: true}
	for _, c := range []struct {
		bounds        []*pluginv1.Bound
		theory, paper float64
	}{
		{[]*pluginv1.Bound{proved(30), proved(20), printed(50), printed(40)}, 20, 50},
		{[]*pluginv1.Bound{failing(proved(10)), proved(20), failing(printed(30)), printed(40)}, 20, 40},
		{[]*pluginv1.Bound{proved(20), order, printed(40)}, 20, 40},
		{[]*pluginv1.Bound{proved(20), order}, 20, 0},
	} {
		x := &cell{Cell: &trial.Cell{Bounds: trial.NewBounds(c.bounds)}}
		row := tableRow(x, estimate.Result{Status: estimate.StatusFailed}, nil)
		if row.Theory.Value != c.theory || row.PaperN != c.paper || (row.PaperSource != "") != (c.paper > 0) {
			t.Errorf("%v: theory_n %v, paper_n %v %q", c.bounds, row.Theory.Value, row.PaperN, row.PaperSource)
		}
	}
}
