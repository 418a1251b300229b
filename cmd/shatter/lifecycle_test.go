package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/ledger"
)

const smallSweep = `
name: small
task: learn
problem: {class: thresholds, domain: 256, distribution: needle, mass: 0.1}
algorithms: [expmech/em]
privacy: {epsilon: [1, 2]}
goal: {alpha: 0.05, beta: 0.05}
n: [100, 200]
trials: 1000
`

// mustRun runs a sweep that has to end well.
func mustRun(t *testing.T, file, dir string, flags ...string) (stderr string) {
	t.Helper()
	_, stderr, code := shatter(t, append([]string{"run", file, "--out", dir, "--workers", "2"}, flags...)...)
	if code != 0 {
		t.Fatalf("%v: exit %d: %s", flags, code, stderr)
	}
	return stderr
}

// forge rewrites the ledger as an algorithm with other outcomes would have written it.
func forge(t *testing.T, dir string) {
	t.Helper()
	folder := filepath.Join(dir, "ledger")
	var state struct{ ID string }
	raw, err := os.ReadFile(filepath.Join(folder, "sweep.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &state); err != nil {
		t.Fatal(err)
	}
	old, _, err := ledger.Open(folder, state.ID)
	if err != nil {
		t.Fatal(err)
	}
	var messages [][]byte
	seen := map[[32]byte]bool{}
	for _, o := range old.Origins() {
		if seen[o.Cell] {
			continue
		}
		seen[o.Cell] = true
		err := old.Each(o.Cell, func(b *ledger.Batch) error {
			forged := *b
			forged.Error = slices.Clone(b.Error)
			forged.Digest = strings.Repeat("0", 64)
			for i := range forged.Error {
				forged.Error[i] = 0.5
			}
			msg, err := forged.Encode()
			messages = append(messages, msg)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	logs, _ := filepath.Glob(filepath.Join(folder, "*.log"))
	for _, f := range logs {
		os.Remove(f)
	}
	forged, _, err := ledger.Open(folder, state.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		b, err := ledger.Decode(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := forged.Add(b, m); err != nil {
			t.Fatal(err)
		}
	}
	if err := forged.Close(); err != nil {
		t.Fatal(err)
	}
}
