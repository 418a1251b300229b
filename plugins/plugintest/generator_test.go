package plugintest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/host"
)

type sizeParams struct {
	Size int `min:"0"`
}

// A sampler draws an example of a faulty problem, whose target is a number in [0, size).
type sampler func(target, size int, r *rand.Rand, x []float64) float64

func side(x float64, target int) float64 {
	if x >= float64(target) {
		return 1
	}
	return -1
}

// posing returns a problem of thresholds that draws its examples with d.
func posing(d sampler) algo.Generator[sizeParams] {
	return algo.Generator[sizeParams]{
		Name: "test/problem", Version: "1", Doc: "Thresholds.", Defaults: sizeParams{Size: 64},
		Pose: func(p *sizeParams) (algo.Posed, error) {
			return algo.Posed{Class: "thresholds", Domain: uint64(p.Size), Dim: 1}, nil
		},
		Target: func(p sizeParams, r *rand.Rand) (algo.Example, error) {
			target := 1 + r.IntN(p.Size-1)
			return func(r *rand.Rand, x []float64) float64 { return d(target, p.Size, r, x) }, nil
		},
	}
}

func honest(target, size int, r *rand.Rand, x []float64) float64 {
	x[0] = float64(r.IntN(size))
	return side(x[0], target)
}

var calls int

// generatorFaults lists planted bugs of problems in the order of the checks.
var generatorFaults = []struct {
	check, bug string
	problem    algo.Generator[sizeParams]
}{
	{"facts", "resolves a parameter again", func() algo.Generator[sizeParams] {
		g := posing(honest)
		pose := g.Pose
		g.Pose = func(p *sizeParams) (algo.Posed, error) {
			p.Size++
			return pose(p)
		}
		return g
	}()},
	{"examples", "draws a point outside of its domain", posing(func(target, size int, r *rand.Rand, x []float64) float64 {
		x[0] = float64(r.IntN(size + 1))
		return side(x[0], target)
	})},
	{"examples", "gives the label 0", posing(func(int, int, *rand.Rand, []float64) float64 { return 0 })},
	{"same-numbers-same-examples", "draws points from another generator", posing(
		func(target, size int, _ *rand.Rand, x []float64) float64 {
			x[0] = float64(rand.IntN(size))
			return side(x[0], target)
		})},
	{"same-numbers-same-examples", "counts its examples", posing(
		func(target, size int, r *rand.Rand, x []float64) float64 {
			calls++
			x[0] = float64((r.IntN(size) + calls) % size)
			return side(x[0], target)
		})},
	{"independent-examples", "begins with one label", func() algo.Generator[sizeParams] {
		g := posing(honest)
		g.Target = func(p sizeParams, r *rand.Rand) (algo.Example, error) {
			target, drawn := 1+r.IntN(p.Size-1), 0
			return func(r *rand.Rand, x []float64) float64 {
				if drawn++; drawn <= 100 {
					x[0] = float64(target)
					return 1
				}
				return honest(target, p.Size, r, x)
			}, nil
		}
		return g
	}()},
	{"targets", "has one target", posing(func(_, size int, r *rand.Rand, x []float64) float64 {
		return honest(7, size, r, x)
	})},
	{"targets", "has one sample", posing(func(target, _ int, _ *rand.Rand, x []float64) float64 {
		x[0] = 7
		return side(x[0], target)
	})},
	{"targets", "has one label", posing(func(_, size int, r *rand.Rand, x []float64) float64 {
		return honest(0, size, r, x)
	})},
}

// generators returns the faulty problems, the i-th under the name test/problem-i, and an honest one.
func generators() (plugins []algo.Plugin) {
	for i, f := range generatorFaults {
		f.problem.Name = fmt.Sprintf("test/problem-%d", i)
		plugins = append(plugins, f.problem)
	}
	return append(plugins, posing(honest), between, onlyBetween)
}

// between is a problem with a class of its own, whose points are in [2, 3].
var between = algo.Generator[struct{}]{
	Name: "test/between", Version: "1", Doc: "Points in [2, 3].",
	Pose: func(*struct{}) (algo.Posed, error) { return algo.Posed{Dim: 1}, nil },
	Target: func(_ struct{}, r *rand.Rand) (algo.Example, error) {
		target := 2 + r.Float64()
		return func(r *rand.Rand, x []float64) float64 {
			if x[0] = 2 + r.Float64(); x[0] < target {
				return -1
			}
			return 1
		}, nil
	},
}

// onlyBetween is an algorithm for the problem between alone.
var onlyBetween = algo.Algorithm[struct{}]{
	Name: "test/only-between", Version: "1", Doc: "Answers -1, and accepts points in [2, 3] only.",
	Check: func(s *algo.Setting[struct{}]) error {
		if s.Problem.Class != between.Name {
			return algo.Invalid("class %q", s.Problem.Class)
		}
		return nil
	},
	Learn: func(context.Context, *algo.Trial[struct{}], *algo.Data) (algo.Model, error) {
		return answer(func(x []float64) float64 {
			if x[0] < 2 || x[0] > 3 {
				return math.NaN()
			}
			return -1
		}), nil
	},
}

// TestFindsFaultsOfProblems checks that each faulty problem fails its check, and that the honest one
// fails none. An algorithm for a problem of its own plugin is tested on that.
func TestFindsFaultsOfProblems(t *testing.T) {
	t.Parallel()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	failed, passed, tested := map[string]string{}, 0, 0
	o := Options{Only: regexp.MustCompile("^test/(problem|only)")}
	for _, r := range o.Test(t.Context(), host.Command{Path: path, Env: []string{roleVariable + "=problems"}}) {
		switch {
		case r.Err != nil:
			failed[r.Algorithm+"/"+r.Check] = r.Err.Error()
		case r.Algorithm == "test/problem":
			passed++
		case r.Algorithm == onlyBetween.Name && r.Setting == "test/between" && r.Skipped == "":
			tested++
		}
	}
	for i, f := range generatorFaults {
		if failed[fmt.Sprintf("test/problem-%d/%s", i, f.check)] == "" {
			t.Errorf("%s: the check %s does not fail", f.bug, f.check)
		}
	}
	for check, reason := range failed {
		if !strings.HasPrefix(check, "test/problem-") {
			t.Errorf("fails %s: %s", check, reason)
		}
	}
	if tested < 10 {
		t.Errorf("the algorithm of the plugin's problem passes %d checks", tested)
	}
	if want := 1 + len(generatorChecks); passed != want {
		t.Errorf("the honest problem passes %d checks, want %d", passed, want)
	}
}
