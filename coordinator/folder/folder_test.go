package folder

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/schemas"
)

// A folder in which a run works is neither claimed nor set aside.
func TestFolderInUse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	p := &plan.Plan{Name: "test", Seed: 5, Source: []byte("name: test\n"), Resolved: []byte(`{"name":"test"}`)}
	f, err := Claim(dir, p, Mode{})
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []Mode{{}, {Fresh: true}} {
		if _, err := Claim(dir, p, mode); err == nil {
			t.Errorf("claimed twice with %+v", mode)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if f, err = Claim(dir, p, Mode{Fresh: true}); err != nil || f.Resumed() {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := os.Stat(dir + ".1"); err != nil {
		t.Error(err)
	}
}

// Damage that a manifest tells of is repaired, whether in fields or in the words of older releases.
func TestRepaired(t *testing.T) {
	damaged := ledger.Damage{File: "/out/ledger/0002.log", Offset: 120, Bytes: 77, Reason: "checksum differs"}
	other := damaged
	other.Offset = 121
	torn := damaged
	report := &ledger.Report{Torn: &torn, Damaged: []ledger.Damage{damaged}}
	for name, run := range map[string]schemas.ManifestRun{
		"fields": {Damage: Damage(report)},
		"words":  {Ledger: Lines(report)},
		"both":   {Damage: Damage(report), Ledger: Lines(report)},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			runs := []schemas.ManifestRun{{}, run, {}}
			if err := WriteManifest(dir, schemas.Manifest{Resolved: []byte("{}"), Runs: runs}); err != nil {
				t.Fatal(err)
			}
			m := ReadManifest(dir)
			moved := damaged
			moved.File = "/elsewhere/0002.log"
			if !Repaired(m, damaged) || !Repaired(m, moved) {
				t.Error("not known to be repaired")
			}
			if Repaired(m, other) || Repaired(schemas.Manifest{}, damaged) {
				t.Error("repaired without a word")
			}
		})
	}
}
