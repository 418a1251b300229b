package plan

import (
	"errors"
	"sync"

	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// Problems opens problems for the planner. Where their files are not at hand, a transcript can.
// written is a problem as the sweep file has it, file the absolute path of its data or class
// matrix, "" where it has neither.
type Problems interface {
	// Open resolves and opens a problem. The error is a *problem.Error.
	Open(written schemas.Problem, file string) (*problem.Problem, error)
	// Least returns the least error of the class on a problem that Open has returned.
	Least(p *problem.Problem) (float64, error)
	// Hypotheses does the work of problem.Hypotheses.
	Hypotheses(written schemas.Problem, file string) ([]string, error)
}

// Files is the Problems that reads the files.
type Files struct {
	Kept *Kept // gets the rows of data, which a plan does not draw from; nil: they are given back
}

// Open resolves a problem and reads its file.
func (f Files) Open(written schemas.Problem, file string) (*problem.Problem, error) {
	p, err := problem.Open(written, file)
	if err != nil {
		return nil, err
	}
	return p, f.Kept.put(p.Detach())
}

// Kept holds the rows of data that a plan has read until a worker of this process takes them, so that
// it need not read their file again. It keeps those of one problem, the first, and gives others back;
// a nil Kept keeps none.
type Kept struct {
	mu sync.Mutex
	id string           // of the first problem with rows
	p  *problem.Problem // nil: there was none, or it was taken
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

// Least computes the least error of the class.
func (Files) Least(p *problem.Problem) (float64, error) { return p.Best() }

// Hypotheses lists the hypotheses of the problem's class.
func (Files) Hypotheses(written schemas.Problem, file string) ([]string, error) {
	return problem.Hypotheses(written.At(file))
}

func (o Options) problems() Problems {
	if o.Problems == nil {
		return Files{}
	}
	return o.Problems
}

// fileOf returns the absolute path of a problem's file, "" where it needs none.
func (o Options) fileOf(written *schemas.Problem) (string, error) {
	path, _ := written.File()
	if path == "" {
		return "", nil
	}
	return sweep.Absolute(o.Dir, path)
}
