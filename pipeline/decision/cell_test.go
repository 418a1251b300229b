package decision

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// needing is a decider that needs sizes.
type needing struct {
	estimate.Search
	sizes []int64
	told  []int64
}

func (d *needing) Needs() []int64               { return d.sizes }
func (d *needing) Done() bool                   { return false }
func (d *needing) Infeasible(n int64, _ string) { d.told = append(d.told, n) }

// A refusal counts once its size is needed, and an invalid size once all needed sizes were
// answered.
func TestApplyRefusals(t *testing.T) {
	no, bad := ledger.Refusal{Kind: ledger.Infeasible, Message: "no"}, ledger.Refusal{Kind: ledger.Invalid, Message: "bad"}
	type answers map[int64]ledger.Refusal
	for name, tt := range map[string]struct {
		needs    []int64
		answered []int64 // sizes with outcomes
		refusals answers
		told     []int64
		refused  string
	}{
		"nothing known":         {needs: []int64{4, 8}},
		"infeasible":            {needs: []int64{4, 8}, refusals: answers{4: no}, told: []int64{4}},
		"not needed":            {needs: []int64{4, 8}, refusals: answers{16: no, 32: bad}},
		"invalid, one open":     {needs: []int64{4, 8}, refusals: answers{8: bad}},
		"invalid, all answered": {needs: []int64{4, 8}, answered: []int64{4}, refusals: answers{8: bad}, refused: "n = 8: bad"},
		"both invalid":          {needs: []int64{4, 8}, refusals: answers{4: bad, 8: bad}, refused: "n = 8: bad"},
		"one of each":           {needs: []int64{4, 8}, refusals: answers{4: bad, 8: no}, told: []int64{8}, refused: "n = 4: bad"},
	} {
		d := &needing{sizes: tt.needs}
		c := Of(&trial.Cell{}, d)
		for _, n := range tt.answered {
			c.answer(n)
		}
		for n, r := range tt.refusals {
			c.Refuse(n, r)
		}
		c.ApplyRefusals()
		c.ApplyRefusals()
		if d := cmp.Diff(tt.told, d.told); d != "" || c.Refused != tt.refused {
			t.Errorf("%s: refused %q, told %s", name, c.Refused, d)
		}
	}
}

func TestSuccess(t *testing.T) {
	for _, c := range []struct {
		status                uint8
		err, reference, alpha float64
		want                  bool
	}{
		{ledger.OK, 0.1, 0, 0.1, true},
		{ledger.OK, 0.3, 0.2, 0.1, true}, // 0.3 - 0.2 < 0.1 in floating point too
		{ledger.OK, 0.8, 0.7, 0.1, true}, // 0.8 - 0.7 > 0.1 in floating point
		{ledger.OK, 0.1 + 1e-11, 0, 0.1, false},
		{ledger.Failed, math.NaN(), 0, 0.1, false},
		{ledger.Lost, math.NaN(), 0, 0.1, false},
	} {
		if got := Success(c.status, c.err, c.reference, c.alpha); got != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}
