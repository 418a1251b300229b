package worker

import (
	"context"
	"fmt"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// A checkedSize is a sample size of a cell, for one plugin file.
type checkedSize struct {
	plugin string
	cell   trial.Key
	n      int64
}

// maxChecked limits the answers that are kept of a process.
const maxChecked = 1 << 14

// checkSampleSize asks the algorithm whether it accepts the job's sample size, once for each process. It returns nil if
// the algorithm does, and for rechecks.
func (s *slot) checkSampleSize(ctx context.Context, job *jobRun) (refusal *ledger.Refusal, err error) {
	if job.Recheck != "" {
		return nil, nil
	}
	err = s.withProcess(ctx, job, 0, false, func(p *process) error {
		about := checkedSize{job.Plugin, job.Cell.Key, job.N}
		if known, ok := p.checked[about]; ok {
			refusal = known
			return nil
		}
		setting := job.Cell.Setting(job.N)
		answer, err := p.Check(ctx, setting)
		if err != nil {
			return fmt.Errorf("check %q at n = %d: %w", job.Cell.As, job.N, err)
		}
		if len(p.checked) >= maxChecked {
			clear(p.checked)
		}
		refusal = refusalOf(answer, setting)
		p.checked[about] = refusal
		return nil
	})
	return refusal, err
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
