package folder

import (
	"bytes"
	"fmt"
	"path/filepath"

	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/trial"
)

func planPath(dir string) string { return filepath.Join(dir, "ledger", "plan") }

// KeepPlan saves an encoded plan (see [plan.Plan.Encode]). With it, the folder can be read on
// machines without the plugins and data files.
func (f *Folder) KeepPlan(data []byte) error {
	path := planPath(f.Dir)
	if kept, err := disk.ReadFile(path, maxRead); err == nil && bytes.Equal(kept, data) {
		return nil
	}
	if err := disk.WriteFile(path, disk.Bytes(data)); err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	return nil
}

// SavedPlan returns the plan that the last run has saved, with its path, and the identities of plugins
// and built-in algorithms, by [trial.Cell.Code].
func (r *Record) SavedPlan() (*plan.Plan, map[string]string, error) {
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

// earlierPlan returns the saved plan under the folder's seed, or nil if it cannot be read.
func (r *Record) earlierPlan() *plan.Plan {
	p, _, err := r.SavedPlan()
	if err != nil || p.Seed.Secret() && p.SetSeed(trial.SweepSeed{Seed: r.Seed}) != nil {
		return nil
	}
	return p
}
