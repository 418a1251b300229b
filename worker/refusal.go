package worker

import (
	"context"
	"fmt"
	"sync"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/host"
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

// A question asks about a sample size.
type question struct {
	about   asked
	setting *pluginv1.Setting
}

// mostTogether is the number of questions that are asked with one that is needed: one by one, each
// would cost as much as a short job.
const mostTogether = 31

// refusal asks the algorithm whether it takes samples of the job's size, and returns its refusal;
// nil if it does. It says nothing of trials that are looked at a second time.
func (s *slot) refusal(ctx context.Context, job *jobRun) (*ledger.Refusal, error) {
	if job.Look != "" {
		return nil, nil
	}
	about := asked{job.Plugin, job.Cell.Key, job.N}
	if r, ok := s.w.checks.get(about); ok {
		return r, nil
	}
	all := append([]question{{about, job.Cell.Setting(job.N)}}, s.questions(job.Job)...)
	err := s.ask(ctx, job, all)
	if err != nil && len(all) > 1 && ctx.Err() == nil { // it may be another one that the plugin cannot answer
		err = s.ask(ctx, job, all[:1])
	}
	r, _ := s.w.checks.get(about)
	return r, err
}

// questions returns what the jobs that wait will have to ask, as far as the process of the given one
// can answer it. Of games they ask nothing yet: with such an answer come bounds, which take time.
func (s *slot) questions(job *trial.Job) (all []question) {
	if job.Cell.Online() {
		return nil
	}
	for _, j := range s.w.shelf.alike(job, mostTogether, func(j *trial.Job) bool {
		_, known := s.w.checks.get(asked{j.Plugin, j.Cell.Key, j.N})
		return !known && !j.Cell.Online()
	}) {
		j.Cell.Public = job.Cell.Public // the one that travels has no class matrix
		all = append(all, question{asked{j.Plugin, j.Cell.Key, j.N}, j.Cell.Setting(j.N)})
	}
	return all
}

// ask asks the plugin and remembers its answers.
func (s *slot) ask(ctx context.Context, job *jobRun, all []question) error {
	p, err := s.process(ctx, job, 0)
	if err != nil {
		return err
	}
	answers, err := answersTo(ctx, p, all)
	if err != nil {
		s.discard(job.kind())
		return fmt.Errorf("check %q at n = %d: %w", job.Cell.As, job.N, err)
	}
	for i, q := range all {
		s.w.checks.put(q.about, refusalOf(answers[i].GetCheck(), q.setting))
	}
	return nil
}

// answersTo returns a plugin's answers to questions.
func answersTo(ctx context.Context, p *host.Process, all []question) ([]*pluginv1.Answer, error) {
	if len(all) == 1 {
		r, err := p.Check(ctx, all[0].setting)
		return []*pluginv1.Answer{{Check: r}}, err
	}
	settings := make([]*pluginv1.Setting, len(all))
	for i, q := range all {
		settings[i] = q.setting
	}
	return p.Ask(ctx, settings)
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
