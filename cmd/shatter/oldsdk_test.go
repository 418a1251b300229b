package main

import (
	"archive/zip"
	"os"
	"path/filepath"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

const oldSweep = `
name: old
task: learn
plugins: [./third]
problem: {class: halfspace, d: 5, margin: 0.1, distribution: iso}
algorithms: [{use: third/mean, noise: [0, 0.1]}]
goal: {alpha: 0.1, beta: 0.1}
n: [20, 80]
trials: 50
`

// A plugin that was built with an older SDK passes the acceptance suite, and its sweep has the digest that it
// has with the SDK of today. The archive has the SDK as it was in commit ceb9fb15, the last one without Ask
// and the mailbox; it is never to be changed. An SDK of a further version of the protocol gets another one.
func TestOlderSDK(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	root, tmp := filepath.Join("..", ".."), t.TempDir()
	old := filepath.Join(tmp, "sdk")
	archive, err := zip.OpenReader("testdata/sdk-2026-11-23.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if err := os.CopyFS(old, archive); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "go.sum"} { // libraries of today, which are here
		write(t, filepath.Join(old, name), testkit.ReadFile(t, filepath.Join(root, name)))
	}
	today, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	source, digests := filepath.Join(root, "plugins", "host", "testdata", "third"), map[string]string{}
	for name, sdk := range map[string]string{"old": old, "today": today} {
		dir := filepath.Join(tmp, name)
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := buildWith(sdk, source, filepath.Join(dir, "module"), filepath.Join(dir, "third")); err != nil {
			t.Fatal(err)
		}
		stderr := mustRun(t, write(t, filepath.Join(dir, "sweep.yaml"), oldSweep), filepath.Join(dir, "out"))
		m := digestLine.FindStringSubmatch(stderr)
		if m == nil {
			t.Fatalf("no digest: %s", stderr)
		}
		digests[name] = m[1]
	}
	if digests["old"] != digests["today"] {
		t.Errorf("digests differ: %v", digests)
	}
	stdout, stderr, code := shatter(t, "plugin", "test", filepath.Join(tmp, "old", "third"),
		"--setting", "class=halfspace,dim=5,margin=0.1")
	if code != 0 {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
}
