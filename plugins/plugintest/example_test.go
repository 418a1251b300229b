package plugintest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/plugins/plugintest"
)

// constant answers every point with 0, a tie.
type constant struct{}

func (constant) Predict(_ context.Context, _ *algo.Data, out []float64) error {
	clear(out)
	return nil
}

var undecided = algo.Algorithm[struct{}]{
	Name: "acme/undecided", Version: "1.0.0", Doc: "Learns nothing.",
	Learn: func(context.Context, *algo.Trial[struct{}], *algo.Data) (algo.Model, error) { return constant{}, nil },
}

// A test of an algorithm only calls Run. It may name settings that the algorithm accepts; without
// them the suite tries its own problems.
func ExampleRun() {
	_ = func(t *testing.T) { // TestUndecided in a real test file
		plugintest.Run(t, undecided, plugintest.Setting{
			Problem: algo.Problem{Class: "halfspace", Dim: 5, Margin: 0.1, Noise: "none", Realizable: true},
			N:       200,
		})
	}
}

// Test tests a plugin file in any language. A file that cannot be started fails the check "start".
func ExampleTest() {
	for _, r := range plugintest.Test(context.Background(), host.Command{Path: "/no/such/plugin"}) {
		fmt.Printf("%s passed: %v\n", r.Check, r.Err == nil)
	}
	// Output: start passed: false
}
