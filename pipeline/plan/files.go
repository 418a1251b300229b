package plan

import (
	"errors"
	"sync"

	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// Kept holds the rows of data that a plan has read until a worker of this process takes them, so that
// it need not read their file again. It keeps those of one problem, the first, and gives others back;
// a nil Kept keeps none.
type Kept struct {
	mu sync.Mutex
	id string           // of the first problem with rows
	p  *problem.Problem // nil: there was none, or it was taken
}

// Open resolves a problem and reads its file, whose path is absolute, or "" if the problem needs none. It keeps the
// rows of data. The error is a *problem.Error.
func (k *Kept) Open(written schemas.Problem, file string) (*problem.Problem, error) {
	p, err := problem.Open(written, file)
	if err != nil {
		return nil, err
	}
	return p, k.put(p.Detach())
}

// put keeps a problem, or closes it.
func (k *Kept) put(p *problem.Problem) error {
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

// Take returns an opened problem from which equal samples are drawn as from p, a resolved one, or nil.
// It is the caller's to close.
func (k *Kept) Take(p schemas.Problem) *problem.Problem {
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

// Close gives back what was not taken.
func (k *Kept) Close() error {
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

// fileOf returns the absolute path of a problem's file, "" where it needs none.
func (o Options) fileOf(written *schemas.Problem) (string, error) {
	path, _ := written.File()
	if path == "" {
		return "", nil
	}
	return sweep.Absolute(o.Dir, path)
}
