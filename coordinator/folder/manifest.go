package folder

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/schemas"
)

// maxRead is the size in bytes of the largest manifest or record that is read.
const maxRead = 256 << 20

// ReadManifest reads the manifest of a folder. One that is missing or damaged reads as empty: it is
// no part of the result.
//
// What it says of the cells, Resolved, is left out: of many cells that is nearly all of it.
func ReadManifest(dir string) schemas.Manifest {
	var m struct {
		schemas.Manifest
		Resolved skipped `json:"resolved"`
	}
	if raw, err := disk.ReadFile(manifestPath(dir), maxRead); err != nil || json.Unmarshal(raw, &m) != nil {
		return schemas.Manifest{}
	}
	return m.Manifest
}

// skipped is a value that is not read.
type skipped struct{}

// UnmarshalJSON reads nothing.
func (*skipped) UnmarshalJSON([]byte) error { return nil }

// WriteManifest replaces the manifest of a folder.
func WriteManifest(dir string, m schemas.Manifest) error {
	raw, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = disk.WriteFile(manifestPath(dir), disk.Bytes(append(raw, '\n')))
	}
	if err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	return nil
}

func manifestPath(dir string) string { return filepath.Join(dir, "manifest.json") }

// Lines describes in words what opening the ledger found wrong.
func Lines(r *ledger.Report) (lines []string) {
	if r.Torn != nil {
		lines = append(lines, fmt.Sprintf("a torn tail was cut off: %s; its trials are run again", r.Torn))
	}
	for _, d := range r.Damaged {
		lines = append(lines, fmt.Sprintf("a damaged part was skipped: %s; its trials are run again", d))
	}
	return lines
}

// Damage gives what opening the ledger found wrong in the form of a manifest.
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
// and so has run its trials again.
func Repaired(m schemas.Manifest, d ledger.Damage) bool {
	return slices.ContainsFunc(m.Runs, func(run schemas.ManifestRun) bool {
		return slices.Contains(run.Damage, damage(d))
	})
}
