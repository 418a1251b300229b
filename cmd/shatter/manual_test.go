package main

import (
	"bytes"
	"cmp"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spf13/cobra/doc"
)

var manual = flag.String("manual", "", "folder for the manual pages; default: a temporary one")

// TestManual writes a manual page for each command, as a release has them.
func TestManual(t *testing.T) {
	dir := cmp.Or(*manual, t.TempDir())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	root := command(nil, nil)
	root.DisableAutoGenTag = true
	header := &doc.GenManHeader{Section: "1", Source: "Shatter", Manual: "Shatter"} // its date is SOURCE_DATE_EPOCH
	if err := doc.GenManTree(root, header, dir); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "shatter-run.1"))
	missing := slices.DeleteFunc([]string{`.TH "SHATTER-RUN" "1"`, `\fB--budget\fP`}, func(words string) bool {
		return bytes.Contains(page, []byte(words))
	})
	if err != nil || len(missing) > 0 {
		t.Errorf("the page of run, %v, lacks %q:\n%.500s", err, missing, page)
	}
}
