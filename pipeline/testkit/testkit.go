// Package testkit holds what the tests of several packages need: golden files and folders.
// Only tests import it.
package testkit

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files with what the tests see")

// Golden compares got with the file testdata/<name> of the test's package, and rewrites that file
// where the flag -update is given.
func Golden(t testing.TB, name string, got []byte) {
	t.Helper()
	GoldenAt(t, filepath.Join("testdata", name), got)
}

// GoldenAt does what Golden does for a file anywhere, whose path is relative to the test's package.
func GoldenAt(t testing.TB, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s differs (rewrite it with -update, if it should):\n%s", path, cmp.Diff(string(want), string(got)))
	}
}

// ReadFile returns the text of a file, whose path is relative to the test's package.
func ReadFile(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// WriteFile writes a file into a folder of its own that ends with the test, and returns its path.
func WriteFile(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// CSV returns a table of n rows with two numeric columns, a and b, and the labels p and q in column
// y.
func CSV(n int) string {
	var b strings.Builder
	b.WriteString("a,b,y\n")
	for i := range n {
		fmt.Fprintf(&b, "%v,%v,%s\n", float64(i)/1000, float64(i%7)/10, []string{"p", "q"}[i%2])
	}
	return b.String()
}

// MemoryDir makes a folder for the test in memory, where the system has one, because a ledger syncs
// its files; otherwise it is t.TempDir.
func MemoryDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "shatter-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
