package worker

import (
	"context"
	"fmt"
	"sync"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// checks remembers what algorithms said of sample sizes: a worker asks once about each. It is safe
// for concurrent use.
type checks struct {
	mu    sync.Mutex
	known map[asked]*ledger.Refusal // nil: it takes samples of that size
}

// asked is a sample size of a cell that a plugin file was asked about.
type asked struct {
	plugin string
	cell   trial.Key
	n      int64
}

// mostAsked is the number of answers that are remembered. After that the worker begins anew.
const mostAsked = 1 << 16

func (c *checks) get(a asked) (refusal *ledger.Refusal, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	refusal, ok = c.known[a]
	return refusal, ok
}

func (c *checks) put(a asked, refusal *ledger.Refusal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= mostAsked {
		c.known = map[asked]*ledger.Refusal{}
	}
	c.known[a] = refusal
}

// refusal asks the algorithm whether it takes samples of the job's size, and returns its refusal;
// nil if it does. It says nothing of trials that are rechecked.
func (s *slot) refusal(ctx context.Context, job *jobRun) (*ledger.Refusal, error) {
	if job.Recheck != "" {
		return nil, nil
	}
	about := asked{job.Plugin, job.Cell.Key, job.N}
	if r, ok := s.w.checks.get(about); ok {
		return r, nil
	}
	p, err := s.process(ctx, job, 0)
	if err != nil {
		return nil, err
	}
	setting := job.Cell.Setting(job.N)
	answer, err := p.Check(ctx, setting)
	if err != nil {
		s.discard(job.kind())
		return nil, fmt.Errorf("check %q at n = %d: %w", job.Cell.As, job.N, err)
	}
	r := refusalOf(answer, setting)
	s.w.checks.put(about, r)
	return r, nil
}

// refusalOf returns the refusal that an answer is; nil if it is none.
func refusalOf(res *pluginv1.CheckResponse, setting *pluginv1.Setting) *ledger.Refusal {
	refused := res.GetRefusal()
	switch {
	case refused.GetKind() == pluginv1.Refusal_KIND_INFEASIBLE:
		return ledger.NewRefusal(ledger.Infeasible, refused.GetMessage())
	case refused != nil:
		return ledger.NewRefusal(ledger.Invalid, refused.GetMessage())
	}
	if err := trial.CheckGuarantee(res.GetGuarantee(), setting); err != nil {
		return ledger.NewRefusal(ledger.Invalid, err.Error())
	}
	return nil
}

// refused returns the message that refuses the job's sample size.
func (o *outcomes) refused(w *worker, seconds float64) *ledger.Batch {
	return &ledger.Batch{
		Sweep: o.job.Sweep, Cell: o.job.Cell.Key, N: o.job.N, Digest: o.job.Plugin, Profile: w.profile, Worker: w.Name,
		Seconds: seconds, Notes: o.notes, Refusal: o.refusal,
	}
}
