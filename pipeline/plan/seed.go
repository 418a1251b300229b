package plan

import (
	"fmt"

	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

func seedOf(f *sweep.File) trial.SweepSeed { return trial.SweepSeed{Seed: f.Seed()} }

// SetSeed sets the seed, which the output folder stores, and recomputes all keys. It must be called before a plan
// with a secret seed runs.
func (p *Plan) SetSeed(seed trial.SweepSeed) error {
	type fragments struct{ whole, sampled trial.Fragment }
	problems := map[*schemas.Problem]fragments{}
	for _, c := range p.Cells {
		of, known := problems[c.Problem]
		params, err := trial.CanonicalParams(c.Params)
		if !known && err == nil {
			if of.whole, err = trial.Canonical(c.Problem); err == nil {
				of.sampled, err = trial.Canonical(c.Problem.Sampled())
			}
			problems[c.Problem] = of
		}
		if err == nil {
			err = c.SetKeys(seed, of.whole, of.sampled, params)
		}
		if err != nil {
			return fmt.Errorf("compute the key of a cell of %q: %w", c.As, err)
		}
	}
	p.Seed = seed
	return nil
}

// SeedMistake returns a mistake at the position of the seed in the sweep file.
func (p *Plan) SeedMistake(format string, args ...any) error {
	m := p.seedAt
	m.Path, m.Message = "seed", fmt.Sprintf(format, args...)
	return sweep.Mistakes{m}
}

func (p *Plan) describeSeed() string {
	if !p.Seed.Drawn() {
		return "seed secret: drawn when the sweep is first run"
	}
	return fmt.Sprintf("seed %v", p.Seed)
}
