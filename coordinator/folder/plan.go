package folder

import (
	"bytes"
	"path/filepath"

	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

func planPath(dir string) string { return filepath.Join(dir, "ledger", "plan") }

// KeepPlan saves an encoded plan (see [plan.Plan.Encode]). With it, the folder can be read on
// machines without the plugins and data files.
func (f *Folder) KeepPlan(data []byte) error {
	path := planPath(f.Dir)
	if kept, err := disk.ReadFile(path, maxRead); err == nil && bytes.Equal(kept, data) {
		return nil
	}
	return writeFile(path, data)
}

// Plan returns the plan that the last run has saved, with its path, and the identities of plugins
// and built-in algorithms, by [trial.Cell.Code].
func (r *Record) Plan() (*plan.Plan, map[string]string, error) {
	data, err := disk.ReadFile(planPath(r.Dir), maxRead)
	if err != nil {
		return nil, nil, err
	}
	p, digests, err := plan.Decode(data)
	if err != nil {
		return nil, nil, err
	}
	p.File = r.File
	return p, digests, nil
}

// savedPlan returns the saved plan of a folder under the folder's seed, or nil if it cannot be read.
func savedPlan(dir string, seed schemas.Seed) *plan.Plan {
	data, err := disk.ReadFile(planPath(dir), maxRead)
	if err != nil {
		return nil
	}
	p, _, err := plan.Decode(data)
	if err != nil || p.Seed.Secret() && p.SetSeed(trial.SweepSeed{Seed: seed}) != nil {
		return nil
	}
	return p
}
