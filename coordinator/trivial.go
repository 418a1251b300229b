package coordinator

import "github.com/shatterlab/shatter/pipeline/estimate"

// trivial is the decider of a search whose cell a learner without data passes: it wants no trial,
// and reads none that the ledger may have.
type trivial struct{ reason string }

func (trivial) Needs() []int64                    { return nil }
func (trivial) Want() []estimate.Block            { return nil }
func (trivial) Left() []estimate.Block            { return nil }
func (trivial) Add(int64, int, estimate.Outcome)  {}
func (trivial) Lost(int64, int, string)           {}
func (trivial) Infeasible(n int64, reason string) {}
func (trivial) Done() bool                        { return true }
func (t trivial) Result() estimate.Result {
	return estimate.Result{Status: estimate.StatusTrivial, Reason: t.reason}
}
