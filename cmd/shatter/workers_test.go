package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/fleet"
)

// A worker that says all that it may say, with what a terminal obeys, fills no screen.
func TestLoudWorker(t *testing.T) {
	loud := strings.Repeat("\x1b[2J\u202e!", 100)
	w := &fleet.Worker{Name: "loud", Slots: 1, Platform: loud, Profile: loud, Sandbox: loud, Build: loud}
	for range 1000 {
		w.Refusals = append(w.Refusals, fleet.Refusal{What: loud, Reason: loud})
		w.Held = append(w.Held, fleet.Held{Sweep: loud[:len(w.Held)/2], ID: loud})
	}
	var out bytes.Buffer
	c := &cobra.Command{}
	c.SetOut(&out)
	c.SetErr(&out)
	if err := writeWorkers([]*fleet.Worker{w, {Name: "calm", Slots: 1}}, c); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if len(line) > 3000 || strings.ContainsAny(line, "\x1b\u202e") {
			t.Errorf("%d bytes: %.200q", len(line), line)
		}
	}
}
