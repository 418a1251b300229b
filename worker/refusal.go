package worker

import (
	"context"
	"fmt"
	"sync"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// A refusalCache records which sample sizes algorithms accept or refuse, so that a worker asks once about each.
// It is safe for concurrent use.
type refusalCache struct {
	mu       sync.Mutex
	refusals map[checkedSize]*ledger.Refusal // nil: the algorithm accepts the size
}

// A checkedSize is a sample size of a cell, for one plugin file.
type checkedSize struct {
	plugin string
	cell   trial.Key
	n      int64
}

// maxCachedSizes limits the cache. A full cache is cleared.
const maxCachedSizes = 1 << 16

func (c *refusalCache) get(a checkedSize) (refusal *ledger.Refusal, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	refusal, ok = c.refusals[a]
	return refusal, ok
}

func (c *refusalCache) put(a checkedSize, refusal *ledger.Refusal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refusals == nil || len(c.refusals) >= maxCachedSizes {
		c.refusals = map[checkedSize]*ledger.Refusal{}
	}
	c.refusals[a] = refusal
}

// checkSampleSize asks the algorithm whether it accepts the job's sample size. It returns nil if the algorithm does,
// and for rechecks.
func (s *slot) checkSampleSize(ctx context.Context, job *jobRun) (*ledger.Refusal, error) {
	if job.Recheck != "" {
		return nil, nil
	}
	about := checkedSize{job.Plugin, job.Cell.Key, job.N}
	if r, ok := s.w.refusals.get(about); ok {
		return r, nil
	}
	p, err := s.process(ctx, job, 0)
	if err != nil {
		return nil, err
	}
	setting := job.Cell.Setting(job.N)
	answer, err := p.Check(ctx, setting)
	if err != nil {
		s.stopKind(job.kind())
		return nil, fmt.Errorf("check %q at n = %d: %w", job.Cell.As, job.N, err)
	}
	r := refusalOf(answer, setting)
	s.w.refusals.put(about, r)
	return r, nil
}

// refusalOf converts the answer of a plugin; nil if the plugin accepts the setting.
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

// refusalBatch returns the result message for a refused sample size.
func (o *outcomes) refusalBatch(w *worker, seconds float64) *ledger.Batch {
	return &ledger.Batch{
		Sweep: o.job.Sweep, Cell: o.job.Cell.Key, N: o.job.N, Digest: o.identity, Profile: w.profile, Worker: w.Name,
		Seconds: seconds, Notes: o.notes, Environment: o.environment, Refusal: o.refusal,
	}
}
