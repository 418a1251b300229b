package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// unary asks the built-in plugin about settings one by one, as one is asked that does not serve Ask.
type unary struct {
	plan.Algorithms
	process *host.Process
}

func (u unary) Ask(ctx context.Context, _ string, settings []*pluginv1.Setting) (all []*pluginv1.Answer, err error) {
	for _, s := range settings {
		a := &pluginv1.Answer{}
		if a.Check, err = u.process.Check(ctx, s); err != nil {
			return nil, err
		}
		if b := pluginv1.BoundSetting(s, a.Check); b != nil {
			if a.Bound, err = u.process.Bound(ctx, b); err != nil {
				return nil, err
			}
		}
		all = append(all, a)
	}
	return all, nil
}

// A plan is the same to the byte whether its algorithms are asked many questions at once or one.
func TestPlanByUnaryCalls(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	c, err := catalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	command, err := builtin()
	if err != nil {
		t.Fatal(err)
	}
	p, err := host.Start(t.Context(), command)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	known, err := builtinsDescribed()
	if d := cmp.Diff(known, p.Describe().Algorithms, protocmp.Transform()); d != "" || err != nil {
		t.Errorf("what a process says of the built-in algorithms is not what this binary knows of them: %v\n%s", err, d)
	}
	files, err := filepath.Glob("examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	planned := func(file string, algorithms plan.Algorithms) (resolved, cells string) {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Resolve(t.Context(), sweep.Read(file, src), algorithms, plan.Options{Dir: "examples"})
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.MarshalIndent(p.Cells, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Resolved()
		if err != nil {
			t.Fatal(err)
		}
		return string(r), string(b)
	}
	for _, file := range files {
		resolved, cells := planned(file, c)
		otherResolved, otherCells := planned(file, unary{c, p})
		if resolved != otherResolved {
			t.Errorf("%s: %s\n%s", file, resolved, otherResolved)
		}
		if d := cmp.Diff(cells, otherCells); d != "" {
			t.Errorf("%s: %s", file, d)
		}
	}
}
