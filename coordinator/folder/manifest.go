package folder

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// maxRead is the maximum size in bytes of a manifest or record that is read.
const maxRead = 256 << 20

// ReadManifest reads the manifest of a folder. A missing or damaged manifest reads as empty,
// because the result does not depend on it.
func ReadManifest(dir string) schemas.Manifest {
	var m schemas.Manifest
	if raw, err := disk.ReadFile(manifestPath(dir), maxRead); err != nil || json.Unmarshal(raw, &m) != nil {
		return schemas.Manifest{}
	}
	return m
}

// WriteManifest replaces the manifest of a folder. If it records result files, they are no longer marked as outdated.
func WriteManifest(dir string, m schemas.Manifest) error {
	raw, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = disk.WriteFile(manifestPath(dir), disk.Bytes(append(raw, '\n')))
	}
	if err == nil && m.Digest != "" {
		if err = os.Remove(filepath.Join(dir, outdatedName)); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	return nil
}

func manifestPath(dir string) string { return filepath.Join(dir, "manifest.json") }

// DescribeDamage describes the faults that were found when the ledger was opened, one sentence
// each.
func DescribeDamage(r *ledger.Report) (lines []string) {
	if r.Torn != nil {
		lines = append(lines, fmt.Sprintf("a torn tail was cut off: %s; its trials are run again", r.Torn))
	}
	for _, d := range r.Damaged {
		lines = append(lines, fmt.Sprintf("a damaged part was skipped: %s; its trials are run again", d))
	}
	return lines
}

// Damage returns the faults that were found when the ledger was opened, in the form of a manifest.
func Damage(r *ledger.Report) (list []schemas.Damage) {
	if r.Torn != nil {
		torn := damage(*r.Torn)
		torn.Torn = true
		list = append(list, torn)
	}
	for _, d := range r.Damaged {
		list = append(list, damage(d))
	}
	return list
}

func damage(d ledger.Damage) schemas.Damage {
	return schemas.Damage{File: filepath.Base(d.File), Offset: d.Offset, Bytes: d.Bytes, Reason: d.Reason}
}

// Repaired reports whether one of the manifest's runs has found the damaged part d of the ledger,
// and therefore has repeated its trials.
func Repaired(m schemas.Manifest, d ledger.Damage) bool {
	return slices.ContainsFunc(m.Runs, func(run schemas.ManifestRun) bool {
		return slices.Contains(run.Damage, damage(d))
	})
}

// cells returns the cells of the plan by key.
func (f *Folder) cells() map[trial.Key]*trial.Cell {
	cells := make(map[trial.Key]*trial.Cell, len(f.Plan.Cells))
	for _, c := range f.Plan.Cells {
		cells[c.Key] = c
	}
	return cells
}

// Profile returns the float profile of the recorded outcomes and refusals, which they all share; ""
// if there are none.
func (f *Folder) Profile() (profile string) {
	for _, c := range f.Plan.Cells {
		for _, x := range f.Ledger.Refusals(c.Key) {
			profile = x.Profile
		}
	}
	cells := f.cells()
	for _, o := range f.Ledger.Origins() {
		if cells[o.Cell] != nil {
			profile = o.Profile
		}
	}
	return profile
}

// Describe returns the manifest of a result with its algorithms and the runs of the manifest
// before. digests holds the identities of plugins and built-in algorithms, by [trial.Cell.Code].
func (f *Folder) Describe(digests map[string]string, before schemas.Manifest) schemas.Manifest {
	p := f.Plan
	return schemas.Manifest{
		Name: p.Name, Seed: p.Seed.Seed,
		Note:    "the noise of these experiments is seeded: nothing here is a private release",
		Profile: f.Profile(), Plugins: f.plugins(digests), Metrics: p.Metrics, Runs: before.Runs,
	}
}

// plugins lists every plugin and built-in algorithm that has made outcomes or that the plan uses.
func (f *Folder) plugins(digests map[string]string) (list []schemas.ManifestPlugin) {
	known, counts := map[string]schemas.ManifestPlugin{}, map[string]int64{} // plugins by name, counts by identity
	recorded := map[string]bool{}                                            // names of plugins with outcomes
	for _, o := range f.Ledger.Origins() {
		counts[o.Digest] += o.Outcomes
		recorded[schemas.ProgramOf(o.Digest)] = true
	}
	for _, c := range f.Plan.Cells {
		identity := digests[c.Code()]
		program := schemas.ProgramOf(identity)
		p, seen := known[program]
		if !seen {
			p = schemas.ManifestPlugin{File: c.Plugin, Algorithms: map[string]string{}}
			if c.Plugin == "" {
				p.BuiltIn = c.Algorithm
			}
			known[program] = p
			if identity != program || !recorded[program] {
				counts[identity] += 0
			}
		}
		p.Algorithms[c.Algorithm] = c.Version
	}
	for identity, n := range counts {
		p := known[schemas.ProgramOf(identity)]
		p.Digest, p.Outcomes, p.Environment = identity, n, f.Ledger.Environment(identity)
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b schemas.ManifestPlugin) int {
		return cmp.Or(cmp.Compare(b.Outcomes, a.Outcomes), cmp.Compare(a.Digest, b.Digest))
	})
	return list
}
