package schemas_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// checkPromised compares got with the file at path, which records a compatibility promise of
// CHANGELOG.md.
func checkPromised(t *testing.T, path string, got []byte) {
	t.Helper()
	testkit.GoldenAt(t, path, got)
	if t.Failed() {
		t.Error("Others build on this. Say in schemas/CHANGELOG.md, under \"Unreleased\", what changes for them, and " +
			"whether a version has to rise; then run: go test ./schemas -update")
	}
}

// The columns of result files keep their names and types.
func TestPromisedColumns(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, "version %s\n", schemas.ResultVersion)
	for _, k := range trial.KeyColumns() {
		fmt.Fprintf(&b, "key %s %s\n", k.Name, k.Type)
	}
	for _, file := range []string{"table", "games", "curve", "bounds", "fits", "trials", "timing"} {
		for _, c := range result.Columns(file) {
			fmt.Fprintf(&b, "%s %s %s\n", file, c.Name, c.Type)
		}
	}
	for _, c := range result.SearchColumns() {
		fmt.Fprintf(&b, "search %s %s\n", c.Name, c.Type)
	}
	checkPromised(t, "testdata/promised/columns.txt", []byte(b.String()))
}
