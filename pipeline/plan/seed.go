package plan

import (
	"fmt"

	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/trial"
)

func seedOf(f *sweep.File) trial.SweepSeed { return trial.SweepSeed{Seed: f.Seed()} }

// SetSeed sets the seed, which the output folder stores, and recomputes all keys. It must be called before a plan
// with a secret seed runs.
func (p *Plan) SetSeed(seed trial.SweepSeed) (err error) {
	type problem struct {
		sampled trial.Fragment
		key     trial.Key
		whole   map[int]trial.Fragment // by number of evaluation points
	}
	problems := map[trial.Key]*problem{} // by their old data key
	for _, c := range p.Cells {
		of := problems[c.DataKey]
		if of == nil {
			of = &problem{whole: map[int]trial.Fragment{}}
			problems[c.DataKey] = of
			if of.sampled, err = trial.Canonical(c.Problem.Sampled()); err != nil {
				return err
			}
			if of.sampled, err = c.Rung.Sampled(of.sampled); err != nil {
				return err
			}
			if of.key, err = seed.DataKey(of.sampled); err != nil {
				return err
			}
		}
		whole, ok := of.whole[c.Problem.Test]
		if !ok {
			if whole, err = trial.Canonical(c.Problem); err != nil {
				return err
			}
			of.whole[c.Problem.Test] = whole
		}
		params, err := trial.Canonical(c.Params)
		if err != nil {
			return err
		}
		c.DataKey = of.key
		if err := c.SetKeys(seed, whole, of.sampled, params); err != nil {
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
