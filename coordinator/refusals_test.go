package coordinator

import (
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// Refusals that arrive twice, late, never, or from a worker with another float profile change
// nothing.
func TestRefusals(t *testing.T) {
	t.Parallel()
	want := reference(t)
	for name, do := range map[string]script{
		"doubled": func(f *fake, _ *trial.Job, b *ledger.Batch) { f.publish(b); f.publish(b) },
		"late":    func(f *fake, _ *trial.Job, b *ledger.Batch) { f.held[f.job.ID] = &heldBack{f.job, b} },
		"dropped": func(f *fake, job *trial.Job, b *ledger.Batch) {
			if !f.first("%s %d", job.Cell.As, job.N) {
				f.publish(b)
			}
		},
		"another sweep": func(f *fake, _ *trial.Job, b *ledger.Batch) {
			other := *b
			other.Sweep, other.Refusal = "other", ledger.NewRefusal(ledger.Invalid, "no")
			f.publish(&other)
			f.publish(b)
		},
		"unknown size": func(f *fake, _ *trial.Job, b *ledger.Batch) {
			other := *b
			other.N = 100_000
			f.publish(&other)
			f.publish(b)
		},
		"size that nobody needs": func(f *fake, job *trial.Job, b *ledger.Batch) {
			if job.Cell.Find != nil {
				other := *b
				other.N, other.Refusal = 999, ledger.NewRefusal(ledger.Invalid, "no")
				f.publish(&other)
			}
			f.publish(b)
		},
		"another plugin file": func(f *fake, _ *trial.Job, b *ledger.Batch) {
			other := *b
			other.Digest, other.Refusal = "old", ledger.NewRefusal(ledger.Invalid, "no")
			f.publish(&other)
			f.publish(b)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for range 2 { // the second run has them in its ledger
				s, _, err := setup{dir: dir, script: honest, refuse: do}.run(t, t.Context())
				if err != nil || s.Digest != want || len(s.Alarms) > 0 {
					t.Fatalf("digest %s, want %s; %+v, %v", s.Digest, want, s, err)
				}
			}
			x, err := reading(t, dir).Folder.CheckTables(madeBy("one"))
			if err != nil || !x.Equal() {
				t.Errorf("%+v, %v", x, err)
			}
		})
	}
}

// Two different refusals of a size, or a refusal and outcomes, raise an alarm in this run and in
// later runs.
func TestClash(t *testing.T) {
	t.Parallel()
	const small, far = "infeasible: the budget is too small", "infeasible: the budget is far too small"
	for name, c := range map[string]struct {
		do            script
		first, second string
	}{
		"two refusals": {func(f *fake, job *trial.Job, b *ledger.Batch) {
			f.publish(b)
			if b.Refusal != nil && job.Cell.As == "picky-4" && job.N == 4 {
				lie := *b
				lie.Refusal = ledger.NewRefusal(ledger.Infeasible, "the budget is far too small")
				f.publish(&lie)
			}
		}, small, far},
		"refusal, then outcomes": {func(f *fake, job *trial.Job, b *ledger.Batch) {
			f.publish(b)
			if b.Refusal != nil && job.Cell.As == "picky-2" && job.N == 10 {
				f.publish(outcomes(job))
			}
		}, small, "outcomes"},
		"outcomes, then refusal": {func(f *fake, job *trial.Job, b *ledger.Batch) {
			f.publish(b)
			if job.Cell.As == "plain-0" && job.N == 20 {
				lie := *refusal(job)
				lie.Refusal = ledger.NewRefusal(ledger.Infeasible, "the budget is too small")
				f.publish(&lie)
			}
		}, "outcomes", small},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for i := range 2 {
				s, _, err := setup{dir: dir, script: c.do, refuse: c.do}.run(t, t.Context())
				if err != nil || len(s.Alarms) != 1 ||
					!strings.Contains(s.Alarms[0], "first "+c.first+", then "+c.second+"; both are in the ledger") {
					t.Fatalf("run %d: %q, %v", i, s.Alarms, err)
				}
			}
			x, err := reading(t, dir).Folder.CheckTables(madeBy("one"))
			if err != nil || x.Equal() || len(x.Clashes) != 1 {
				t.Errorf("%+v, %v", x, err)
			}
		})
	}
}
