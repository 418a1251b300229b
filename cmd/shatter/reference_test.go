package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/shatterlab/shatter/pipeline/reference"
	"github.com/shatterlab/shatter/pipeline/testkit"
)

//go:generate go test -run TestReference -update .

// TestReference compares the pages in schemas/reference with the registries.
func TestReference(t *testing.T) {
	out, stderr, code := shatter(t, "explain", "-o", "json")
	var all []reference.Entry
	if err := json.Unmarshal([]byte(out), &all); err != nil || code != 0 {
		t.Fatalf("exit %d: %v %s", code, err, stderr)
	}
	for _, page := range []struct {
		file, title, text string
		kinds             []string
	}{
		{"keys", "Keys of the sweep file", "An *axis* takes a list: the sweep is the product of all axes.",
			[]string{"key"}},
		{"names", "Values of keys", "Each name belongs to a registry, such as the distributions.",
			[]string{"task", "class", "distribution", "noise", "adversary", "premise", "scale", "status", "format"}},
		{"columns", "Columns of result files", "`shatter query DIR --schema` lists those of one result.",
			[]string{"column"}},
		{"algorithms", "Built-in algorithms", "`shatter explain NAME` describes the parameters.",
			[]string{"algorithm"}},
	} {
		var b strings.Builder
		fmt.Fprintf(&b, "# %s\n\n%s\n", page.title, page.text)
		for _, kind := range page.kinds {
			writeReference(&b, kind, all, len(page.kinds) > 1)
		}
		checkReference(t, page.file, b.String())
	}
	var b strings.Builder
	b.WriteString("# Commands\n\n`shatter COMMAND --help` explains the flags.\n")
	root := command(nil, nil)
	for _, c := range root.Commands() {
		writeCommand(&b, c)
	}
	checkReference(t, "commands", b.String())
}

func checkReference(t *testing.T, name, text string) {
	t.Helper()
	testkit.GoldenAt(t, filepath.Join("..", "..", "schemas", "reference", name+".md"), []byte(text))
}

// writeReference writes a section for each name of a kind, with all of its meanings.
func writeReference(b *strings.Builder, kind string, all []reference.Entry, several bool) {
	level := "##"
	if several {
		for _, k := range kindsOf() {
			if k.Name == kind {
				fmt.Fprintf(b, "\n## %s%s\n\n%s.\n", strings.ToUpper(k.Plural[:1]), k.Plural[1:], markdown(k.Doc))
			}
		}
		level = "###"
	}
	var written []string
	for _, e := range all {
		if e.Kind != kind || slices.Contains(written, e.Name) {
			continue
		}
		written = append(written, e.Name)
		fmt.Fprintf(b, "\n%s %s\n", level, e.Name)
		for _, meaning := range all {
			if meaning.Kind == kind && meaning.Name == e.Name {
				writeMeaning(b, meaning)
			}
		}
	}
}

// writeMeaning writes an entry without its heading.
func writeMeaning(b *strings.Builder, e reference.Entry) {
	fmt.Fprintf(b, "\n%s\n", markdown(e.Doc))
	if len(e.Facts)+len(e.Values) > 0 {
		b.WriteByte('\n')
	}
	for _, f := range e.Facts {
		fmt.Fprintf(b, "- %s: %s\n", f.What, markdown(f.Text))
	}
	if len(e.Values) > 0 && e.Facts[0].Text != strings.Join(namesOf(e), ", ") {
		what := map[string]string{"algorithm": "parameters", "key": "values"}[e.Kind]
		if strings.Contains(e.Facts[0].Text, "mapping") {
			what = "keys"
		}
		fmt.Fprintf(b, "- %s: `%s`\n", what, strings.Join(namesOf(e), "`, `"))
	}
	if (e.Kind == "key" || e.Kind == "column") && e.Example != "" {
		fmt.Fprintf(b, "- example: `%s`\n", e.Example)
	}
}

// namesOf returns the names of an entry's values.
func namesOf(e reference.Entry) (names []string) {
	for _, v := range e.Values {
		names = append(names, v.Name)
	}
	return names
}

// markdown escapes what Markdown would take for a tag or an emphasis.
func markdown(text string) string { return strings.NewReplacer("<", "&lt;", "*", `\*`).Replace(text) }

// writeCommand writes a section for a command and those below it.
func writeCommand(b *strings.Builder, c *cobra.Command) {
	if c.Hidden || c.Name() == "help" {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n%s.\n\n", c.CommandPath(), markdown(c.Short))
	fmt.Fprintf(b, "```\n%s\n```\n", strings.TrimRight(c.UseLine()+"\n"+c.Example, "\n"))
	var flags []string
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			flags = append(flags, "`--"+f.Name+"`")
		}
	})
	if len(flags) > 0 {
		fmt.Fprintf(b, "\n%s\n", strings.Join(flags, ", "))
	}
	for _, sub := range c.Commands() {
		writeCommand(b, sub)
	}
}
