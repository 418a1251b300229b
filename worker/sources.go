package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// openSources connects the job's drawer to processes of the plugin whose problem it is, which no algorithm shares. A
// recheck compares the examples of two processes. The caller must call release after the job.
func (s *slot) openSources(ctx context.Context, job *jobRun) (release func(), err error) {
	drawn := job.Cell.Problem.Plugin
	command, err := s.w.plugins.get(ctx, trial.NeedOfProblem(drawn))
	if err != nil {
		return nil, err
	}
	setting := trial.ProblemSetting(drawn)
	var taken []*process
	release = func() {
		for _, p := range taken {
			if job.drawer.Err() != nil {
				p.Stop()
			} else {
				s.w.processes.put(p)
			}
		}
	}
	kinds := []trial.Recheck{""}
	if job.Recheck != "" {
		kinds = append(kinds, job.Recheck)
	}
	var sources []problem.Source
	for _, recheck := range kinds {
		key := processKey{plugin: nameOf(command), problem: true, limits: job.Cell.Limits, recheck: recheck}
		p := s.w.processes.take(key)
		if p == nil {
			if p, err = s.start(ctx, command, key, drawn.Digest, nil); err != nil {
				release()
				return nil, &problemError{drawn.Name, err.Error()}
			}
		}
		taken = append(taken, p)
		sources = append(sources, func(draws []problem.Draw) error { return p.Draw(ctx, setting, draws) })
	}
	job.drawer.From(sources...)
	return release, nil
}

// A problemError reports that a plugin did not draw examples of its problem. It wraps no error: if the plugin's process
// has ended, that is not an outcome of the algorithm, whose process may run on.
type problemError struct{ problem, reason string }

func (e *problemError) Error() string {
	return fmt.Sprintf("draw examples of %s: %s", e.problem, e.reason)
}

// checkSources returns the error of a session whose trials ended with err. If examples were not drawn, the trials had
// none, and the failure to draw them is the error. If the problem is not deterministic, the trials fail.
func (x *session) checkSources(err error) error {
	failed := x.job.drawer.Err()
	if failed == nil {
		return err
	}
	var differ *problem.NondeterminismError
	if err != nil || !errors.As(failed, &differ) {
		return &problemError{x.job.Cell.Problem.Plugin.Name, failed.Error()}
	}
	for j := range x.trials() {
		x.scores.fail(j, string(schemas.CauseProblem), failed.Error())
	}
	return nil
}
