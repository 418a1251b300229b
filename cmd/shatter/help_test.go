package main

import (
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Each command has a group, a short help in at most 60 characters and an example; help is at most 100 columns wide, and
// flags have a value with a name of its own and a noun phrase.
func TestHelp(t *testing.T) {
	root := command(io.Discard, io.Discard)
	goTypes := []string{"string", "strings", "stringArray", "int", "float", "duration"}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, below := range c.Commands() {
			wrong := func(format string, args ...any) { t.Errorf(below.CommandPath()+": "+format, args...) }
			switch short := below.Short; {
			case !below.IsAvailableCommand() || slices.Contains([]string{"help", "completion"}, below.Name()):
				continue
			case c == root && below.GroupID == "" && !slices.Contains([]string{"doctor", "version"}, below.Name()):
				wrong("no group")
			case !below.HasSubCommands() && below.Example == "":
				wrong("no example")
			case len(short) > 60 || short == "" || short[0] < 'A' || short[0] > 'Z' || strings.HasSuffix(short, "."):
				wrong("short help %q", short)
			}
			for line := range strings.Lines(below.Long + "\n" + below.UsageString()) {
				if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > 100 {
					wrong("a line of help has more than 100 characters: %s", line)
				}
			}
			below.LocalFlags().VisitAll(func(f *pflag.Flag) {
				value, usage := pflag.UnquoteUsage(f)
				switch {
				case f.Name == "help":
				case slices.Contains(goTypes, value):
					wrong("--%s: name its value in backquotes", f.Name)
				case len(usage) > 170 || usage == "" || strings.ToLower(usage[:1]) != usage[:1] && usage[1] != '`' &&
					!strings.HasPrefix(usage, strings.ToUpper(value)) || strings.HasSuffix(usage, "."):
					wrong("--%s: help %q", f.Name, usage)
				}
			})
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
