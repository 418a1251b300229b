package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/result/render"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// blameArguments turns wrong numbers of arguments and unknown commands, of c and of all commands
// below it, into usage errors.
func blameArguments(c *cobra.Command) {
	if args := c.Args; args != nil {
		c.Args = func(c *cobra.Command, given []string) error {
			if err := args(c, given); err != nil {
				return usageError{fmt.Errorf("wrong number of arguments (%d); usage: %s", len(given), c.UseLine())}
			}
			return nil
		}
	} else if !c.Runnable() {
		c.Args = cobra.ArbitraryArgs
		c.RunE = func(c *cobra.Command, given []string) error {
			if len(given) == 0 {
				return c.Help()
			}
			return unknownCommand(c, given[0])
		}
	}
	for _, below := range c.Commands() {
		blameArguments(below)
	}
}

// unknownCommand returns the error for a word that is no command below c.
func unknownCommand(c *cobra.Command, word string) error {
	var names []string
	for _, below := range c.Commands() {
		if below.IsAvailableCommand() {
			names = append(names, below.Name())
		}
	}
	hint := cmp.Or(wording.DidYouMean(word, names), fmt.Sprintf("; `%s --help` lists them", c.CommandPath()))
	return usageError{fmt.Errorf("unknown command %q for %q%s", word, c.CommandPath(), hint)}
}

var (
	flagNames = regexp.MustCompile(`--[a-z-]+`)
	parsing   = regexp.MustCompile(`: strconv\.\w+: parsing ".*": `)
)

// wrongFlag says what is wrong with a flag, and which flag was perhaps meant.
func wrongFlag(c *cobra.Command, err error) error {
	text := parsing.ReplaceAllString(err.Error(), ": ")
	var unknown interface{ GetSpecifiedName() string }
	if errors.As(err, &unknown) {
		names := flagNames.FindAllString(c.Flags().FlagUsages(), -1)
		text += wording.DidYouMean("--"+unknown.GetSpecifiedName(), names)
	}
	return usageError{fmt.Errorf("%s; see %s --help", strings.TrimSuffix(text, "?"), c.CommandPath())}
}

// listFormats are the formats of commands that print one thing or a short list.
var listFormats = []string{"table", "json"}

// addOutput adds the flag -o with its formats, of which the first is the default.
func addOutput(c *cobra.Command, format *string, formats []string, further string) {
	c.Flags().StringVarP(format, "output", "o", formats[0], "format: "+strings.Join(formats, ", ")+further)
}

// checkOutput refuses a format that is not among formats, and one that a terminal cannot show.
func checkOutput(w io.Writer, format string, formats []string) error {
	f, _ := render.Find(format)
	switch {
	case !slices.Contains(formats, format):
		return usageError{fmt.Errorf("-o %q: one of %s is needed", format, strings.Join(formats, ", "))}
	case f.Binary && isTerminal(w):
		return usageError{fmt.Errorf("-o %s is not for terminals: send it to a file with > FILE.%s", format, format)}
	}
	return nil
}

// maxWorkers keeps a slip of the finger from filling the machine with processes.
const maxWorkers = 1024

// checkWorkers refuses a value of --workers below least or above maxWorkers.
func checkWorkers(workers, least int) error {
	switch {
	case workers < least:
		return usageError{fmt.Errorf("--workers %d: a number from %d on is needed", workers, least)}
	case workers > maxWorkers:
		return usageError{fmt.Errorf("--workers %d: each is a process of its own; at most %d are allowed",
			workers, maxWorkers)}
	}
	return nil
}

// writeJSON writes a value for people and programs.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
