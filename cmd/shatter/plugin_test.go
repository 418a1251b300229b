package main

import (
	"testing"

	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/schemas"
)

// Each metric of a built-in algorithm has a unit, for the axes of figures and for describe.
func TestBuiltInMetricsHaveUnits(t *testing.T) {
	for _, p := range builtins() {
		a, err := algo.Describe(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range a.Metrics {
			if schemas.DeclaredMetric(m.Name, m.Doc).Unit == "" {
				t.Errorf("%s: the meaning of metric %q ends in no [unit]: %s", a.Name, m.Name, m.Doc)
			}
		}
	}
}
