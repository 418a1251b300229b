package plan

import (
	"errors"
	"sync"

	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// A ProblemCache holds the data of a problem that a plan has read, until a worker of this process takes it. So the
// worker does not read the file again. It keeps the first problem only. A nil cache keeps none.
type ProblemCache struct {
	mu sync.Mutex
	id string           // canonical form of the first problem with rows
	p  *problem.Problem // nil: none, or taken
}

// Open resolves a problem and reads its file, which has an absolute path ("" if the problem needs none). It keeps the
// data for Take. The error is a *problem.Error.
func (k *ProblemCache) Open(written schemas.Problem, file string) (*problem.Problem, error) {
	p, err := problem.Open(written, file)
	if err != nil {
		return nil, err
	}
	return p, k.keep(p.Detach())
}

// keep stores a problem, or closes it.
func (k *ProblemCache) keep(p *problem.Problem) error {
	if k == nil {
		return p.Close()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.id != "" || p.Labels() == nil {
		return p.Close()
	}
	id, err := trial.Canonical(p.Resolved().Sampled())
	if err != nil {
		return errors.Join(err, p.Close())
	}
	k.id, k.p = string(id), p
	return nil
}

// Take returns an open problem that draws the same samples as the resolved problem p, or nil. The caller must close it.
func (k *ProblemCache) Take(p schemas.Problem) *problem.Problem {
	id, err := trial.Canonical(p.Sampled())
	if err != nil || k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if string(id) != k.id {
		return nil
	}
	taken := k.p
	k.p = nil
	return taken
}

// Close closes the problem unless it was taken.
func (k *ProblemCache) Close() error {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.p == nil {
		return nil
	}
	p := k.p
	k.p = nil
	return p.Close()
}

// fileOf returns the absolute path of a problem's file or plugin; "" if it needs none.
func (o Options) fileOf(written *schemas.Problem) (string, error) {
	path := written.Path()
	if path == "" {
		return "", nil
	}
	return sweep.Absolute(o.Dir, path)
}
