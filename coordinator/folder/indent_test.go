package folder

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/schemas"
)

// The manifest is written as json.MarshalIndent writes it, whatever stands in it.
func TestWriteManifest(t *testing.T) {
	for _, resolved := range []string{
		"null", "{}", "[]", "7", `""`, `[{}]`, `{"a":[]}`, `{"a":{"b":[1,[2,{}],"x"],"c":null},"d":-1e-9}`,
		`{"q\"\\":"a,b:{[]}","<&>":"\u2028\\","l":["\\\"",true]}`, `{"resolved":null}`,
	} {
		m := schemas.Manifest{Name: "n <\n  \"resolved\": null", Resolved: json.RawMessage(resolved)}
		m.Runs = []schemas.ManifestRun{{Notes: []string{"one", "two", "\n  \"second_looks\": {\n    \"cells\": null"}}}
		for cells := range 4 {
			if cells > 0 {
				m.Looks = &schemas.Looks{Notes: []string{"a \"cells\": null"}}
			}
			if cells > 1 {
				m.Looks.Cells = []schemas.CellLooks{{Cell: "0a", Due: 2, Why: "<\"b\\\">"}, {Cell: "0b"}}[: cells-1 : cells-1]
			}
			if cells == 3 {
				m.Looks.Contradictions = []schemas.Contradiction{{Cell: "0b", What: "x"}}
			}
			checkManifest(t, m, resolved)
		}
		dir := t.TempDir()
		if err := WriteManifest(dir, m, disk.Bytes([]byte(resolved))); err != nil {
			t.Fatal(err)
		}
		if read := ReadManifest(dir); !strings.HasPrefix(read.Name, "n <") || len(read.Runs) != 1 {
			t.Errorf("%s: read back as %+v", resolved, read)
		}
	}
}

// checkManifest fails the test unless the manifest is written as json.MarshalIndent writes it.
func checkManifest(t *testing.T, m schemas.Manifest, resolved string) {
	t.Helper()
	want, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := writeManifest(&got, m, disk.Bytes([]byte(resolved))); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want)+"\n", got.String()); diff != "" {
		t.Errorf("%s: %s", resolved, diff)
	}
}
