package folder

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// The files next to a ledger may hold anything, because a folder may come from another machine.
func FuzzReadRecord(f *testing.F) {
	f.Add([]byte(`{"format":2,"id":"a","seed":1,"source":"bmFtZTogeA==","runs":1}`), []byte(`{"digest":"d","runs":[{}]}`))
	dir := testkit.MemoryDir(f)
	if err := os.Mkdir(filepath.Join(dir, "ledger"), 0o700); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, owner, manifest []byte) {
		for path, content := range map[string][]byte{recordPath(dir): owner, manifestPath(dir): manifest} {
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if r, err := ReadRecord(dir); err == nil && (r.ID == "" || len(r.Source) == 0) {
			t.Errorf("%+v", r)
		}
		HasFinalResult(dir)
	})
}

// The record of rechecks may hold anything; it reads as a record to which entries can be added.
func FuzzRechecks(f *testing.F) {
	key := strings.Repeat("0a", 32)
	for _, text := range []string{
		"", "null", `{"format":1}`, `{"format":2,"equal":{"` + key + `":{"1":{"2":3}}}}`,
		`{"format":1,"equal":{"` + key + `":{"1":{"2":3}}},"contradictions":{"` + key + `":{"n":1,"repetition":2}}}`,
		`{"format":1,"equal":{"` + key + `":null}}`, `{"format":1,"equal":{"` + key + `":{"1":null}}}`,
		`{"format":1,"equal":{"` + key + `":{"-9223372036854775808":{"1e3":-1}}}}`, `{"format":1,"equal":{"x":{}}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		l := decodeRechecks(raw)
		for cell := range l.Equal {
			l.Add(cell, 1, 2, 3)
		}
		l.Add(trial.Key{}, 1, 2, 3)
		delete(l.Contradictions, trial.Key{})
		if f, ok := l.Equal[trial.Key{}][1][2]; l.Format != rechecksFormat || !ok || f != 3 {
			t.Errorf("%+v", l)
		}
		again, err := json.Marshal(l)
		if err != nil {
			t.Errorf("it cannot be written again: %v", err)
		}
		if diff := cmp.Diff(l.Equal, decodeRechecks(again).Equal, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("written again it is another one: %s", diff)
		}
	})
}
