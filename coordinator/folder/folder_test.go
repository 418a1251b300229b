package folder

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

func planUnder(t *testing.T, stated string) *plan.Plan {
	t.Helper()
	var seed schemas.Seed
	if err := seed.UnmarshalText([]byte(stated)); err != nil {
		t.Fatal(err)
	}
	c := &trial.Cell{
		Task: "learn", Algorithm: "a", As: "a", Problem: &schemas.Problem{Class: "thresholds", Domain: 256},
		Params: trial.Params{"rounds": int64(3)}, N: []int64{10}, Trials: 5, Evaluation: &problem.Evaluation{},
	}
	p := &plan.Plan{Name: "test", Source: []byte("name: test\n"), Cells: []*trial.Cell{c}}
	if err := p.SetSeed(trial.SweepSeed{Seed: seed}); err != nil {
		t.Fatal(err)
	}
	return p
}

// A secret seed is drawn once for each folder. A run, a run of a changed file, and a reader find
// the same seed.
func TestSecretSeed(t *testing.T) {
	dir := t.TempDir()
	claimed := func(name string, mode Mode) *plan.Plan {
		p := planUnder(t, "secret")
		if p.Seed.Drawn() {
			t.Fatal("a plan without a folder has a seed")
		}
		f, err := Claim(filepath.Join(dir, name), p, mode)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		return p
	}
	first := claimed("a", Mode{})
	if _, stated := first.Seed.Number(); stated || !first.Seed.Drawn() || len(first.Seed.Digits()) != 32 {
		t.Fatalf("seed %q", first.Seed.Digits())
	}
	sample := first.Cells[0].DataKey
	for name, mode := range map[string]Mode{"resumed": {}, "extended": {Extend: true}} {
		if p := claimed("a", mode); p.Cells[0].DataKey != sample || p.Seed != first.Seed {
			t.Errorf("%s: another seed", name)
		}
	}
	if claimed("b", Mode{}).Cells[0].DataKey == sample {
		t.Error("two folders share a seed")
	}
	record, err := ReadRecord(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	read := planUnder(t, "secret")
	f, err := record.Open(read)
	if err != nil || read.Cells[0].NoiseKey != first.Cells[0].NoiseKey {
		t.Fatalf("read with another seed: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if p := claimed("a", Mode{Fresh: true}); p.Cells[0].DataKey == sample {
		t.Error("begun anew with the old seed")
	}
}

// A sweep file with another seed is refused, with or without Extend, and the error names the line.
func TestOtherSeed(t *testing.T) {
	for _, tt := range []struct{ made, stated, want string }{
		{"5", "6", "drawn under seed 5, none of them applies to seed 6: write seed: 5"},
		{"5", "secret", "drawn under seed 5, none of them applies to a secret one: write seed: 5"},
		{"secret", "5", "drawn under a secret seed of that folder, none of them applies to seed 5: write seed: secret"},
	} {
		dir := filepath.Join(t.TempDir(), "out")
		f, err := Claim(dir, planUnder(t, tt.made), Mode{})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		for _, mode := range []Mode{{}, {Extend: true}} {
			_, err := Claim(dir, planUnder(t, tt.stated), mode)
			var mistakes sweep.Mistakes
			if !errors.As(err, &mistakes) || mistakes[0].Path != "seed" || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("made with %s, claimed with %s: %v", tt.made, tt.stated, err)
			}
		}
	}
}

// A folder in which a run works is neither claimed nor renamed.
func TestFolderInUse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	p := planUnder(t, "5")
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
	if f, err = Claim(dir, p, Mode{Fresh: true}); err != nil || f.Runs > 1 {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := os.Stat(dir + ".1"); err != nil {
		t.Error(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir+".1", "ledger", "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir+".1", "ledger", "pipe"), filepath.Join(dir+".1", "ledger", "lock")); err != nil {
		t.Fatal(err)
	}
	if err := setAside(dir + ".1"); err != nil {
		t.Errorf("a folder with a pipe for its lock: %v", err)
	}
}

// Damage that a manifest records counts as repaired.
func TestRepaired(t *testing.T) {
	damaged := ledger.Damage{File: "/out/ledger/0002.log", Offset: 120, Bytes: 77, Reason: "checksum differs"}
	other := damaged
	other.Offset = 121
	torn := damaged
	report := &ledger.Report{Torn: &torn, Damaged: []ledger.Damage{damaged}}
	for name, run := range map[string]schemas.ManifestRun{
		"fields": {Damage: Damage(report)},
		"both":   {Damage: Damage(report), Ledger: DescribeDamage(report)},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			runs := []schemas.ManifestRun{{}, run, {}}
			if err := WriteManifest(dir, schemas.Manifest{Runs: runs}); err != nil {
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

// A fetched folder describes itself as fetched, and its record of the sweep does not change.
func TestMarkFetched(t *testing.T) {
	dir, p := t.TempDir(), planUnder(t, "7")
	f, err := Claim(dir, p, Mode{})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := MarkFetched(dir, "running"); err != nil {
		t.Fatal(err)
	}
	r, err := ReadRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	if f, err = r.Open(p); err != nil {
		t.Fatal(err)
	}
	if f.DescribeFetched() == "" {
		t.Error("it does not say so")
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if f, err = Claim(dir, planUnder(t, "7"), Mode{}); err != nil { // the same sweep
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// Result files of an earlier run are marked until the present run has written its own.
func TestOutdated(t *testing.T) {
	dir := t.TempDir()
	for _, x := range []struct{ digest, want string }{{"", ""}, {"", "Run 2 has begun"}, {"ab", ""}} {
		f, err := Claim(dir, planUnder(t, "5"), Mode{})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(WriteManifest(dir, schemas.Manifest{Digest: x.digest}), f.Close()); err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(filepath.Join(dir, outdatedName))
		if !strings.Contains(string(text), x.want) || (len(text) > 0) != (x.want != "") {
			t.Errorf("%+v: %q", x, text)
		}
		if err := os.WriteFile(filepath.Join(dir, "table.parquet"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Merged folders hold the outcomes of all. A trial with two different outcomes is a conflict.
func TestMerge(t *testing.T) {
	claim := func(seed string, errors ...float64) *Folder {
		f, err := Claim(t.TempDir(), planUnder(t, seed), Mode{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		b := &ledger.Batch{
			Sweep: f.ID, Cell: f.Plan.Cells[0].Key, N: 10, Digest: "d", Profile: "p", Worker: "w",
			Metrics: []string{"m"}, Values: [][]float64{make([]float64, len(errors))},
		}
		for i, e := range errors {
			b.Repetition, b.Status, b.Error = append(b.Repetition, int64(i)), append(b.Status, ledger.OK), append(b.Error, e)
		}
		message, err := b.Encode()
		if err == nil {
			_, err = f.Ledger.Add(b, message)
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Plan.Cells[0].Metrics = b.Metrics
		return f
	}
	f := claim("5", 0.1, 0.2)
	key := f.Plan.Cells[0].Key
	for _, x := range []struct {
		errors           []float64
		added, conflicts int
	}{{[]float64{0.1, 0.2, 0.3}, 1, 0}, {[]float64{0.1, 0.25, 0.3, 0.4}, 1, 1}} {
		other := claim("5", x.errors...)
		added, err := f.Merge(other)
		conflicts, _ := f.Ledger.Contradictions(key)
		if err != nil || added != x.added || len(conflicts) != x.conflicts {
			t.Errorf("%v: %d added, %v, conflicts %v", x.errors, added, err, conflicts)
		}
	}
	err := f.CheckMerge(claim("6", 0.1))
	if err == nil || !strings.Contains(err.Error(), "different sweep files or seeds") {
		t.Errorf("another seed: %v", err)
	}
}
