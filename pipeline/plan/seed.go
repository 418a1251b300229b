package plan

import (
	"fmt"

	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// seedOf returns the seed of a file.
func seedOf(f *sweep.File) trial.SweepSeed { return trial.SweepSeed{Seed: f.Seed()} }

// SetSeed gives the plan the seed that its output folder has: it computes all keys again that
// follow from the seed. A plan whose file calls the seed secret needs this before anything of it is
// run.
func (p *Plan) SetSeed(seed trial.SweepSeed) (err error) {
	type problem struct {
		sampled trial.Fragment
		key     trial.Key
		whole   map[int]trial.Fragment // by number of evaluation points
	}
	problems := map[trial.Key]*problem{} // by their key under the old seed
	for _, c := range p.Cells {
		of := problems[c.DataKey]
		if of == nil {
			of = &problem{whole: map[int]trial.Fragment{}}
			problems[c.DataKey] = of
			if of.sampled, err = trial.Canonical(c.Problem.Sampled()); err != nil {
				return err
			}
			if of.sampled, err = c.Sampled(of.sampled); err != nil {
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

// BlameSeed returns a mistake at the place of the seed in the sweep file.
func (p *Plan) BlameSeed(format string, args ...any) error {
	m := p.seedAt
	m.Path, m.Message = "seed", fmt.Sprintf(format, args...)
	return sweep.Mistakes{m}
}

// seedWords describes the seed for people.
func (p *Plan) seedWords() string {
	if !p.Seed.Drawn() {
		return "seed secret: drawn when the sweep is first run"
	}
	return fmt.Sprintf("seed %v", p.Seed)
}
