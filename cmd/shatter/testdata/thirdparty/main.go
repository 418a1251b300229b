// Command thirdparty is a plugin as an author outside of Shatter writes it, with algorithms that
// behave and some that do not. A file with the name plus or sparse serves only that one, and a file with
// the name cheats serves the algorithms of that package.
package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/shatterlab/shatter/plugins/algo"

	"example.com/thirdparty/cheats"
)

type constant float64

func (c constant) Predict(_ context.Context, _ *algo.Data, out []float64) error {
	for i := range out {
		out[i] = float64(c)
	}
	return nil
}

type params struct {
	OneIn int `doc:"share of the trials that misbehave" min:"1"`
}

func learner(name string, misbehave func() (algo.Model, error)) algo.Algorithm[params] {
	return algo.Algorithm[params]{
		Name: "third/" + name, Version: "1.0.0", Doc: "Always answers +1, but for what its name says.",
		Defaults: params{OneIn: 5000},
		Learn: func(_ context.Context, t *algo.Trial[params], sample *algo.Data) (algo.Model, error) {
			if misbehave != nil && t.Rand.IntN(t.Params.OneIn) == 17%t.Params.OneIn {
				return misbehave()
			}
			return constant(1), nil
		},
	}
}

type loudParams struct {
	From int `doc:"the least sample size that it refuses; 0: all" min:"0"`
}

// loud refuses with a long reason that would clear a screen, as would its description.
var loud = algo.Algorithm[loudParams]{
	Name: "third/loud", Version: "1.0.0", Doc: "Refuses in ninety kilobytes.\x1b[2J",
	Metrics: map[string]string{"noise": "how loud it is\x1b[2J [dB]"},
	Check: func(s *algo.Setting[loudParams]) error {
		if s.Params.From == 0 || s.N >= s.Params.From {
			return algo.Invalid("%s", "\x1b[2Jno,\r\n"+strings.Repeat("no \u202e\x07", 10_000))
		}
		return nil
	},
	Bound: func(*algo.Setting[loudParams]) ([]algo.Bound, error) {
		return []algo.Bound{{Name: "echo\x1b[2J", Source: "nobody\x1b[2J\a", Value: 10}}, nil
	},
	Learn: func(_ context.Context, t *algo.Trial[loudParams], _ *algo.Data) (algo.Model, error) {
		if t.Params.From > 99 {
			return nil, errors.New("no\x1b[2J\a")
		}
		return constant(1), nil
	},
}

// erm is the middle threshold of a sample without label noise. As a sleeper it answers -1 to every
// query, and shows what it has learned between them.
type erm struct {
	cut    float64
	sleeps bool
}

func (m *erm) Predict(_ context.Context, x *algo.Data, out []float64) error {
	for i := range out {
		out[i] = math.Copysign(1, x.X(i)[0]-m.cut)
	}
	return nil
}

func (m *erm) Answer(_ context.Context, x []float64) (float64, bool, error) {
	if m.sleeps {
		return -1, false, nil
	}
	return math.Copysign(1, x[0]-m.cut), false, nil
}

// predictor returns an algorithm for the task predict on thresholds.
func predictor(name string, sleeps bool) algo.Algorithm[struct{}] {
	return algo.Algorithm[struct{}]{
		Name: "third/" + name, Version: "1.0.0", Doc: "The middle threshold of its sample.",
		Predict: func(_ context.Context, t *algo.Trial[struct{}], sample *algo.Data) (algo.Answerer, error) {
			low, high := -1.0, float64(t.Problem.Domain)
			for i := range sample.Len() {
				if sample.Y(i) > 0 {
					high = min(high, sample.X(i)[0])
				} else {
					low = max(low, sample.X(i)[0])
				}
			}
			return &erm{cut: (low + high) / 2, sleeps: sleeps}, nil
		},
	}
}

func main() {
	plus := learner("plus", nil)
	switch filepath.Base(os.Args[0]) {
	case "plus":
		algo.Serve(plus)
		return
	case "sparse":
		algo.Serve(sparse)
		return
	case "cheats":
		algo.Serve(cheats.Plugins()...)
		return
	}
	algo.Serve(
		loud,
		segments,
		plus,
		boasts,
		memo,
		elimination,
		onelabel,
		planted,
		predictor("erm", false),
		predictor("sleeper", true),
		learner("exit", func() (algo.Model, error) { os.Exit(3); return nil, nil }),
		learner("panic", func() (algo.Model, error) { panic("the author's mistake") }),
		learner("print", func() (algo.Model, error) { fmt.Println("debugging"); return constant(1), nil }),
		learner("nan", func() (algo.Model, error) { return constant(math.NaN()), nil }),
		learner("error", func() (algo.Model, error) { return nil, fmt.Errorf("no luck") }),
		learner("warn", func() (algo.Model, error) { algo.Warn("no\x1b[2J %d", 5); return constant(1), nil }),
		learner("hang", func() (algo.Model, error) { select {} }),
	)
}
