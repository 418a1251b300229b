package plan

import (
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/sweep"
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
type Files struct{}

// Open resolves a problem and reads its file. The rows of data are given back: a plan draws nothing.
func (Files) Open(written schemas.Problem, file string) (*problem.Problem, error) {
	p, err := problem.OpenShared(written, file, nil)
	if err != nil {
		return nil, err
	}
	return p, p.Close()
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
