package task_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/task"
)

// Every task keeps the rules of its fields.
func TestTasks(t *testing.T) {
	for _, k := range task.All() {
		t.Run(k.Name, func(t *testing.T) {
			names := k.MetricNames(true)
			switch {
			case task.Lookup(k.Name) != k || task.Of(k.Name) != k:
				t.Error("another task is found by its name")
			case k.Wire == 0 || k.Play == nil || (k.Success == "") != (k.Decide != nil):
				t.Error("what a plugin plays, how, or what success is, is missing")
			case k.Doc == "" || strings.ContainsAny(k.Doc, "\n") || strings.HasSuffix(k.Doc, "."):
				t.Errorf("the doc is not one line without a full stop: %q", k.Doc)
			case k.Rounds() && !k.Adversary || k.Adversary != k.Takes("adversary"):
				t.Error("an adversary has a key")
			case (k.Adversary || k.Takes("queries")) != (k.Trips != nil):
				t.Error("games have round trips")
			case k.Judged != "" && !slices.Contains(k.MetricNames(false), k.Judged):
				t.Errorf("%s is not measured in every trial", k.Judged)
			case len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names):
				t.Errorf("two metrics of a name: %v", names)
			}
			for _, m := range k.Measured(true) {
				if m.Name == "" || m.Doc == "" {
					t.Errorf("metric %+v lacks a name or a doc", m)
				}
			}
			for path := range k.Instead {
				if k.Takes(path) {
					t.Errorf("it takes %s, and states what to do instead", path)
				}
			}
		})
	}
	if k := task.Of(""); k.Name != task.Default {
		t.Errorf("the default is %s", k.Name)
	}
	if k := task.Of("lern"); k.Name != "lern" || k.Wire != 0 || task.Lookup("lern") != nil {
		t.Errorf("an unknown task is %+v", k)
	}
}
