package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// auditProblems are the problems that an audit without a sweep file tries for each algorithm, in this
// order.
var auditProblems = []string{
	"{class: thresholds, domain: 64, distribution: uniform}",
	"{class: halfspace, d: 4, margin: 0.1, distribution: iso}",
	"{class: conjunctions, d: 6, distribution: uniform}",
	"{class: parities, d: 6, distribution: uniform}",
	"{class: points, domain: 64, distribution: uniform}",
	"{class: rectangles, domain: 16, d: 2, distribution: uniform}",
}

func auditCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "audit PLUGIN [KEY=VALUE...]",
		Short: "Audit the privacy that a plugin claims",
		Long: `Audit each algorithm of a plugin that claims privacy, on one problem that it accepts: epsilon 1,
delta 1e-6, n = 10 and 100, at most 4000 trials each. KEY=VALUE changes the sweep, as in
privacy.epsilon=0.5 or n=[1000]; the output folder keeps its file. If the trials refute a claim, the
exit code is 6. If no such algorithm has the task learn, those of the task predict are audited, with
20 queries. For other problems write a sweep with task: audit: "shatter init audit" makes one.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			text, err := auditSweep(c.Context(), args[0])
			if err != nil {
				return err
			}
			c.SetIn(strings.NewReader(text))
			return f.run(c, append([]string{"-"}, args[1:]...))
		},
	}
	f.register(c)
	return c
}

// auditSweep returns the text of a sweep that audits the algorithms of a plugin file.
func auditSweep(ctx context.Context, file string) (string, error) {
	all, paths, err := catalogOf(ctx, []string{file})
	if err != nil {
		return "", err
	}
	defer all.Close()
	described, err := all.Describe(ctx, paths[0])
	if err != nil {
		return "", err
	}
	keys, algorithms := auditable(described.GetAlgorithms())
	if algorithms == nil {
		return "", wrong("audit: %q has no algorithm of task learn or predict that claims privacy, so there is nothing "+
			"to audit", file)
	}
	head := fmt.Sprintf(`name: audit-%s
%splugins: [%q]
privacy: {epsilon: 1, delta: 1e-6}
goal: {alpha: 0.1, beta: 0.1}
n: [10, 100]
trials: 4000
grids:
`, cmp.Or(wording.Slug(filepath.Base(file)), "plugin"), keys, file)
	text := head
	for _, a := range algorithms {
		grid, err := auditGrid(ctx, all, head, a.GetName())
		if err != nil {
			return "", err
		}
		text += grid
	}
	return text, nil
}

// auditable returns the algorithms that claim privacy and play the task learn or, if there is none, the
// task predict, and the keys of a sweep that audits them; nil: there is none.
func auditable(all []*pluginv1.Algorithm) (keys string, algorithms []*pluginv1.Algorithm) {
	for _, t := range []struct {
		audited pluginv1.Task
		keys    string
	}{
		{pluginv1.Task_TASK_LEARN, "task: audit\n"},
		{pluginv1.Task_TASK_PREDICT, "task: audit-predict\nqueries: 20\n"},
	} {
		for _, a := range all {
			if a.GetPrivate() && slices.Contains(a.GetTasks(), t.audited) {
				algorithms = append(algorithms, a)
			}
		}
		if algorithms != nil {
			return t.keys, algorithms
		}
	}
	return "", nil
}

// auditGrid returns the grid of an algorithm on the first problem that it accepts.
func auditGrid(ctx context.Context, all *host.Catalog, head, algorithm string) (string, error) {
	var refusals []error
	for _, problem := range auditProblems {
		grid := fmt.Sprintf("  - {algorithms: [%q], problem: %s}\n", algorithm, problem)
		_, err := plan.Resolve(ctx, sweep.Read("audit", []byte(head+grid)), all, plan.Options{})
		if err == nil {
			return grid, nil
		}
		if _, ok := errors.AsType[sweep.Mistakes](err); !ok {
			return "", err
		}
		refusals = append(refusals, err)
	}
	return "", wrong("audit: %s accepts none of the usual problems; `shatter init audit` makes a sweep to change:\n%w",
		algorithm, errors.Join(refusals...))
}
