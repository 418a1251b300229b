package main

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Each command has an example and each command of the root has a group.
func TestHelp(t *testing.T) {
	root := command(io.Discard, io.Discard)
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, below := range c.Commands() {
			switch {
			case !below.IsAvailableCommand() || below.Name() == "help" || below.Name() == "completion":
				continue
			case c == root && below.GroupID == "":
				t.Errorf("%s has no group", below.CommandPath())
			case below.Runnable() && !below.HasSubCommands() && below.Example == "":
				t.Errorf("%s has no example", below.CommandPath())
			}
			walk(below)
		}
	}
	walk(root)
	for path := range examples {
		args := strings.Fields(path)
		if found, _, err := root.Find(args); err != nil || found.CommandPath() != "shatter "+path {
			t.Errorf("an example of %q, which is no command", path)
		}
	}
}
