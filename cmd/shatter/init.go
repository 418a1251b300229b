package main

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// templates are the sweep files that init writes, each with the question that it answers as its
// first line, and the data files that some of them name.
//
//go:embed templates examples/breast_cancer.csv
var templates embed.FS

// dataFiles are the data files of the templates.
var dataFiles = []string{"templates/hypotheses.csv", "examples/breast_cancer.csv"}

func initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init [TEMPLATE] [FILE]",
		Short: "Write a commented sweep file or list the templates",
		Long: `Write a commented sweep file for a usual question, with the data file that it needs. The default
name is TEMPLATE.yaml; existing files are not overwritten. Without a template, list all with their
questions.`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			switch len(args) {
			case 0:
				return listTemplates(c)
			case 1:
				return writeTemplate(c, args[0], args[0]+".yaml")
			}
			return writeTemplate(c, args[0], args[1])
		},
	}
}

// templateNames lists the templates.
func templateNames() (names []string) {
	files, err := fs.Glob(templates, "templates/*.yaml")
	if err != nil {
		panic(err)
	}
	for _, file := range files {
		names = append(names, strings.TrimSuffix(path.Base(file), ".yaml"))
	}
	return names
}

// template returns the text of a template.
func template(name string) (string, bool) {
	raw, err := templates.ReadFile("templates/" + name + ".yaml")
	return string(raw), err == nil
}

// listTemplates prints the templates with their questions.
func listTemplates(c *cobra.Command) error {
	var b strings.Builder
	for _, name := range templateNames() {
		text, _ := template(name)
		question, _, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
		fmt.Fprintf(&b, "%-9s %s\n", name, question)
	}
	b.WriteString("\nshatter init TEMPLATE writes TEMPLATE.yaml, a commented sweep; begin with quick\n")
	_, err := io.WriteString(c.OutOrStdout(), b.String())
	return err
}

// writeTemplate writes a template as file, named after it, and the data file that it names next to
// it.
func writeTemplate(c *cobra.Command, name, file string) error {
	text, ok := template(name)
	if !ok {
		return wrong("init: no template %q%s", name, wording.DidYouMean(name, templateNames()))
	}
	stem := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	named := strings.NewReplacer("name: "+name+"\n", "name: "+stem+"\n", "shatter-out/"+name, "shatter-out/"+stem,
		" "+name+".yaml", " "+wording.ShellWord(file)).Replace(text)
	if _, err := sweep.Parse(file, []byte(named)); err == nil { // the file's name may be none for a sweep
		text = named
	}
	if err := create(file, []byte(text)); err != nil {
		return wrong("init: %w; to choose another name: shatter init %s FILE", err, name)
	}
	fmt.Fprintln(c.OutOrStdout(), file)
	for _, data := range dataFiles {
		if !strings.Contains(text, path.Base(data)) {
			continue
		}
		beside := filepath.Join(filepath.Dir(file), path.Base(data))
		raw, err := templates.ReadFile(data)
		if err != nil {
			return err
		}
		if err := create(beside, raw); err != nil {
			fmt.Fprintf(c.ErrOrStderr(), "shatter: %v: the sweep will read the one that is there\n", err)
			continue
		}
		fmt.Fprintln(c.OutOrStdout(), beside)
	}
	fmt.Fprintf(c.ErrOrStderr(), "next: shatter check %s, then the commands at its top\n", wording.ShellWord(file))
	return nil
}

// create writes a file that does not exist yet.
func create(file string, text []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%q exists, and is not overwritten", file)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
