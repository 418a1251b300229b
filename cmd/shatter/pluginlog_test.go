package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/shatterlab/shatter/plugins/host"
)

// A log holds what its plugin prints up to a limit, and is made when there is something to hold.
func TestPluginLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	commands := map[string]host.Command{"0123456789abcdef": {Path: "/x/loud"}, "fedcba9876543210": {Path: "/x/silent"}}
	s := &session{commands: commands}
	if err := s.logPlugins(dir); err != nil {
		t.Fatal(err)
	}
	half := bytes.Repeat([]byte("x"), maxPluginLog/2)
	for range 5 {
		if n, err := commands["0123456789abcdef"].Output.Write(half); n != len(half) || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 || files[0].Name() != "loud-0123456789ab.log" {
		t.Fatalf("the folder has %v, %v", files, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, files[0].Name()))
	if err != nil || len(text) > maxPluginLog+100 ||
		!bytes.HasSuffix(text, []byte("the limit of 16 MiB is reached]\n")) {
		t.Errorf("%v: %d bytes that end with %q", err, len(text), text[max(0, len(text)-80):])
	}
}
