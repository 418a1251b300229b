package worker

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// An algorithm is asked once about a sample size, before its first trial; a refusal is the result
// of each of its jobs. Rechecks are not affected.
func TestRefusal(t *testing.T) {
	s := testSlot(t)
	thresholds := schemas.Problem{Class: "thresholds", Domain: 64, Distribution: "uniform"}
	for _, tt := range []struct {
		name    string
		n       int64
		recheck trial.Recheck
		want    *ledger.Refusal
	}{
		{"infeasible", 7, "", &ledger.Refusal{Kind: ledger.Infeasible, Message: "only from 8 on, asked 1 times"}},
		{"the same again", 7, "", &ledger.Refusal{Kind: ledger.Infeasible, Message: "only from 8 on, asked 1 times"}},
		{"another one", 6, "", &ledger.Refusal{Kind: ledger.Infeasible, Message: "only from 8 on, asked 2 times"}},
		{"invalid", 13, "", &ledger.Refusal{Kind: ledger.Invalid, Message: "13 is unlucky"}},
		{"taken", 8, "", nil},
		{"recheck", 7, trial.RecheckShuffled, nil},
	} {
		job := jobOf(t, s, "test/least", thresholds, tt.n, 3)
		job.Recheck = tt.recheck
		out, err := s.run(t.Context(), job)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		all := out.batches(s.w, 0.5)
		msg, err := all[0].Encode()
		if err != nil || len(all) != 1 || len(msg) > queue.MaxResult {
			t.Fatalf("%s: %d messages, %v", tt.name, len(all), err)
		}
		b, err := ledger.Decode(msg)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		rows := 3
		if tt.want != nil {
			rows = 0
		}
		if d := cmp.Diff(tt.want, b.Refusal); d != "" || len(b.Repetition) != rows || b.N != tt.n || b.Digest != "d" {
			t.Errorf("%s: %+v %s", tt.name, b, d)
		}
	}
}

func TestRefusalOf(t *testing.T) {
	refused := func(kind pluginv1.Refusal_Kind) *pluginv1.CheckResponse {
		return &pluginv1.CheckResponse{Refusal: &pluginv1.Refusal{Kind: kind, Message: "no"}}
	}
	guarantee := func(epsilon float64) *pluginv1.CheckResponse {
		return &pluginv1.CheckResponse{Guarantee: &pluginv1.Guarantee{Pure: true, Epsilon: epsilon, Source: "a table"}}
	}
	for name, tt := range map[string]struct {
		answer *pluginv1.CheckResponse
		want   string // kind of the refusal
	}{
		"taken":             {&pluginv1.CheckResponse{}, ""},
		"infeasible":        {refused(pluginv1.Refusal_KIND_INFEASIBLE), ledger.Infeasible},
		"invalid":           {refused(pluginv1.Refusal_KIND_INVALID), ledger.Invalid},
		"fault":             {refused(pluginv1.Refusal_KIND_ERROR), ledger.Invalid},
		"within the budget": {guarantee(1), ""},
		"above the budget":  {guarantee(2), ledger.Invalid},
	} {
		got := refusalOf(tt.answer, &pluginv1.Setting{Epsilon: 1})
		if (got == nil) != (tt.want == "") || got != nil && got.Kind != tt.want {
			t.Errorf("%s: %v, want %q", name, got, tt.want)
		}
	}
}
