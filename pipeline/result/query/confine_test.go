//go:build cgo

package query

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/sandbox"
)

// unlockedArg starts a child that is not the real one: its DuckDB is free to do what its user may do.
const unlockedArg = "unlocked-engine"

// actUnlocked executes each line of stdin as SQL, without any lock, and prints whether that was possible.
func actUnlocked() {
	e := &engine{}
	if err := e.start(); err != nil {
		panic(err)
	}
	c, err := e.connect()
	if err != nil {
		panic(err)
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		err := c.exec(lines.Text())
		fmt.Println(err == nil)
	}
}

// What DuckDB's own locks refuse, the sandbox refuses too, should they be open.
func TestConfined(t *testing.T) {
	layers, err := sandbox.Probe(sandbox.Policy{})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range layers {
		if l.Name == sandbox.Files && !l.Held {
			t.Skip("NOT RUN: ", l.How)
		}
	}
	dir := t.TempDir()
	copyResult(t, dir)
	secret := filepath.Join(dir, "secret.txt")
	if err := os.WriteFile(secret, []byte("seed"), 0o600); err != nil {
		t.Fatal(err)
	}
	acts := []struct {
		sql     string
		allowed bool // in the sandbox
	}{
		{"from 'curve.parquet'", true},
		{"select 42", true},
		{"from read_text('" + secret + "')", false},
		{"from read_text('secret.txt')", false},
		{"from read_text('/etc/passwd')", false},
		{fmt.Sprintf("from read_blob('/proc/%d/environ')", os.Getpid()), false},
		{"copy (select 1) to '" + dir + "/new.csv'", false},
		{"attach '" + dir + "/new.db'", false},
	}
	for _, mode := range []sandbox.Mode{sandbox.Prefer, sandbox.Off} {
		d := &DB{dir: dir, options: Options{Sandbox: sandbox.Policy{Mode: mode}}}
		program, _, err := d.program()
		if err != nil {
			t.Fatal(err)
		}
		program.Args = []string{unlockedArg}
		p := &process{ended: make(chan struct{})}
		if err := p.launch(program); err != nil {
			t.Fatal(err)
		}
		for _, act := range acts {
			fmt.Fprintln(p.in, act.sql)
			possible, err := p.out.ReadString('\n')
			if err != nil {
				t.Fatalf("%s, %s: %v, %s", mode, act.sql, err, &p.says)
			}
			if want := fmt.Sprintln(act.allowed || mode == sandbox.Off); possible != want {
				t.Errorf("%s, %s: possible is %s, want %s", mode, act.sql, strings.TrimSpace(possible), want)
			}
		}
		p.close()
	}
}

// A file that was written anew since the engine started is read as it is now.
func TestWrittenAnew(t *testing.T) {
	d, dir := opened(t, Options{})
	const count = "select count(*) from trials"
	before := answer(t, d, count)
	path := filepath.Join(dir, "trials.parquet")
	if err := os.WriteFile(path+".new", files["trials"], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	if got := answer(t, d, count); got != before {
		t.Errorf("%s, and %s before", got, before)
	}
}

// BenchmarkStart starts an engine and ends it, in the sandbox and out of it.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	copyResult(b, dir)
	for _, mode := range []sandbox.Mode{sandbox.Prefer, sandbox.Off} {
		b.Run(string(mode), func(b *testing.B) {
			for b.Loop() {
				d, err := Open(dir, Options{Sandbox: sandbox.Policy{Mode: mode}})
				if err != nil {
					b.Fatal(err)
				}
				d.Close()
			}
		})
	}
}
