package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas"
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

// A changed plugin file is checked against what was recorded: equal bits go on, others are refused
// until --redo.
func TestCodeIdentity(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	tmp := t.TempDir()
	dir, plugin := filepath.Join(tmp, "out"), filepath.Join(tmp, "plugin")
	text := strings.Replace(fmt.Sprintf(thirdSweep, plugin, "third/plus", 40, 1), "n: [5]", "n: [5, 6]", 1)
	file := write(t, filepath.Join(tmp, "third.yaml"), text)
	install := func(suffix string) {
		raw, err := os.ReadFile(thirdparty(t))
		if err != nil {
			t.Fatal(err)
		}
		os.Remove(plugin)
		if err := os.WriteFile(plugin, append(bytes.Clone(raw), suffix...), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	install("")
	want := digest(t, mustRun(t, file, dir))
	if err := os.RemoveAll(filepath.Join(dir, "table.parquet")); err != nil {
		t.Fatal(err)
	}
	install("another file with the same behaviour")
	if got := digest(t, mustRun(t, file, dir)); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	m := readManifest(t, dir)
	if len(m.Plugins) != 2 {
		t.Errorf("manifest lists %+v, want both digests", m.Plugins)
	}
	versions := folder.ReadManifest(dir).Plugins
	stated := func(p schemas.ManifestPlugin) bool { return p.Algorithms["third/plus"] == "1.0.0" }
	if !slices.ContainsFunc(versions, stated) {
		t.Errorf("manifest lists %+v, want the version of third/plus", versions)
	}

	forge(t, dir)
	install("a third file")
	_, errs, code := shatter(t, "run", file, "--out", dir)
	if code != exitChanged || !strings.Contains(errs, "--redo") {
		t.Fatalf("other outcomes: exit %d: %s", code, errs)
	}
	if got := digest(t, mustRun(t, file, dir, "--redo")); got != want {
		t.Errorf("digest %s after --redo, want %s", got, want)
	}
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
		if _, err := forged.Add(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := forged.Close(); err != nil {
		t.Fatal(err)
	}
}
