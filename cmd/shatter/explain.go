package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/pipeline/reference"
	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/result/query"
	"github.com/shatterlab/shatter/pipeline/result/render"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

// explainWidth is the number of characters of a line of explanations.
const explainWidth = 80

func explainCommand() *cobra.Command {
	var (
		files  []string
		format string
		class  classQuery
	)
	c := &cobra.Command{
		Use:   "explain [WORD]",
		Short: "Explain a key, name, column, status or term",
		Long: `Explain a word of sweep files, results and documents. Without a word it lists all keys and the kinds
of names. A word is a key (noise, problem.noise), a name (uniform, expmech/em, rounds), a column or
status (n_star, above_range), a term (bracket), a kind of names (distributions), or a file (.csv,
.parquet, .arrow) of a class with a row per hypothesis, a column per point, and cells 0 and 1.

With --domain and --d it also shows the size of a class, its Vapnik-Chervonenkis, Littlestone and
representation dimensions and its separator. A dimension that is neither proved nor found within a
few seconds is given between two bounds. The representation dimension is the cost of learning with
pure differential privacy. The separator is the default of follow-the-perturbed-leader: on its m
points any two hypotheses differ at h or more; rho is their least distance there.`,
		Example: `  shatter explain problem.noise
  shatter explain expmech/em
  shatter explain parities --d 8`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			out := c.OutOrStdout()
			list, err := described(c, files)
			if err != nil {
				return err
			}
			plugins := algorithmEntries(list)
			all := append(reference.Entries(), plugins...)
			switch {
			case len(args) == 0 && format == "json":
				return json.NewEncoder(out).Encode(all)
			case len(args) == 0:
				_, err := io.WriteString(out, overview(all))
				return err
			}
			found, err := explained(args[0], all)
			if err != nil && isMatrixFile(args[0]) {
				found = make([]reference.Entry, 1)
				found[0], err = class.matrixEntry(c, args[0])
			} else if err == nil {
				err = class.addNumbers(c, args[0], found)
			}
			switch {
			case err != nil:
				return err
			case format == "json":
				return json.NewEncoder(out).Encode(found)
			}
			var b strings.Builder
			for i, e := range found {
				if i > 0 {
					b.WriteByte('\n')
				}
				writeEntry(&b, e)
			}
			_, err = io.WriteString(out, b.String())
			return err
		},
	}
	c.Flags().StringArrayVar(&files, "plugin", nil, "plugin `FILE` whose names are explained too (repeatable)")
	class.register(c)
	addOutput(c, &format, listFormats, "")
	return c
}

// kindsOf returns the kinds of entries: the registries and the algorithms.
func kindsOf() []reference.Kind {
	return append(reference.Kinds(), reference.Kind{
		Name: "algorithm", Plural: "algorithms", Doc: "values of algorithms.use; shatter plugin list",
	})
}

// explained returns the meanings of a word: entries, and a kind with the names of all its entries.
func explained(word string, all []reference.Entry) ([]reference.Entry, error) {
	found, suggestion := reference.Find(word, all)
	for prefix, kind := range map[string]string{schemas.ParamPrefix: "parameter", schemas.MetricPrefix: "metric"} {
		if name, column := strings.CutPrefix(word, prefix); column && len(found) == 0 {
			found, _ = reference.Find(name, all)
			found = slices.DeleteFunc(found, func(e reference.Entry) bool { return e.Kind != kind })
		}
	}
	var plurals []string
	for _, k := range kindsOf() {
		plurals = append(plurals, k.Plural)
		if strings.EqualFold(word, k.Plural) {
			kind := reference.Entry{Kind: "kind", Name: k.Plural, Doc: k.Doc, Values: valuesOf(k.Name, all)}
			return append(found, kind), nil
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	if near, ok := wording.Nearest(word, plurals); ok && suggestion == "" {
		suggestion = fmt.Sprintf(", did you mean %q?", near)
	}
	return nil, wrong("explain %q: no key and no name%s", word, cmp.Or(suggestion, "; shatter explain lists all"))
}

// valuesOf lists the names of a kind.
func valuesOf(kind string, all []reference.Entry) (values []reference.Value) {
	for _, e := range all {
		if e.Kind == kind {
			values = append(values, reference.Value{Name: e.Name, Doc: e.Doc})
		}
	}
	return values
}

// algorithmEntries returns the algorithms with their parameters and metrics. Equal names with equal meanings are
// merged.
func algorithmEntries(list []algorithmOf) (all []reference.Entry) {
	var inner []reference.Entry
	add := func(kind, name, doc, of string, facts ...reference.Fact) {
		for i, e := range inner {
			if e.Kind == kind && e.Name == name && e.Doc == doc && slices.Equal(e.Facts[1:], facts) {
				inner[i].Facts[0].Text += ", " + of
				return
			}
		}
		facts = append([]reference.Fact{{What: "of", Text: of}}, facts...)
		inner = append(inner, reference.Entry{Kind: kind, Name: name, Doc: doc, Facts: facts})
	}
	for _, d := range list {
		e := reference.Entry{Kind: "algorithm", Name: d.Name, Doc: d.Doc, Example: "algorithms: [{use: " + d.Name + "}]"}
		var tasks []string
		for _, t := range d.GetTasks() {
			tasks = append(tasks, t.Name())
		}
		e.Facts = []reference.Fact{
			{What: "task", Text: strings.Join(tasks, ", ")}, {What: "private", Text: yesOrNo(d.Private)},
		}
		if d.Plugin != "" {
			e.Facts = append(e.Facts, reference.Fact{What: "served by", Text: d.Plugin})
		}
		for _, p := range d.Parameters {
			kind, value := valueText(p.Default)
			about := kind
			switch limits := allowed(p); {
			case len(p.Choices) > 0:
				about = "one of " + limits
			case limits != "":
				about += ", " + limits
			}
			about += ", default " + value
			e.Values = append(e.Values, reference.Value{Name: p.Name, Doc: about + ": " + p.Doc})
			add("parameter", p.Name, p.Doc, d.Name, reference.Fact{What: "value", Text: about},
				reference.Fact{What: "column", Text: schemas.ParamPrefix + p.Name})
		}
		for _, m := range d.Metrics {
			add("metric", m.Name, m.Doc, d.Name,
				reference.Fact{What: "column", Text: schemas.MetricPrefix + m.Name + " of curve and trials"})
		}
		all = append(all, e)
	}
	return append(all, inner...)
}

// overview shows all keys in a line each, and what else may be asked for.
func overview(all []reference.Entry) string {
	var b strings.Builder
	b.WriteString("A sweep file states what to vary and what to measure. Its keys:\n\n")
	var keys []reference.Value
	for _, e := range all {
		if e.Kind == "key" {
			depth := strings.Count(e.Name, ".")
			name := strings.Repeat("  ", depth) + e.Name[strings.LastIndexByte(e.Name, '.')+1:]
			if e.Name == "range.from" {
				keys = append(keys, reference.Value{Name: "{range}", Doc: "in the place of a list of numbers"})
			}
			keys = append(keys, reference.Value{Name: name, Doc: e.Doc})
		}
	}
	writeList(&b, keys)
	b.WriteString("\nNames in sweep files, results and documents:\n\n")
	for _, k := range kindsOf() {
		var names []string
		for _, v := range valuesOf(k.Name, all) {
			names = append(names, v.Name)
		}
		few := k.Doc
		if len(names) < 20 {
			few += ": " + strings.Join(names, ", ")
		}
		writeWrapped(&b, fmt.Sprintf("  %-15s", k.Plural), few)
	}
	b.WriteString("\nshatter explain WORD explains one: problem.noise, n_star, above_range, bracket\n" +
		"shatter init writes a first sweep; shatter schema helps an editor\n")
	return b.String()
}

// writeEntry writes an entry for people.
func writeEntry(b *strings.Builder, e reference.Entry) {
	kind := e.Kind
	if kind == "key" {
		kind = "key of the sweep file"
	}
	fmt.Fprintf(b, "%s (%s)\n", e.Name, kind)
	writeWrapped(b, "  ", e.Doc)
	for _, f := range e.Facts {
		writeWrapped(b, fmt.Sprintf("  %-16s", f.What), f.Text)
	}
	switch example := strings.TrimSpace(e.Example); {
	case len(example) > explainWidth-18:
		b.WriteString("  example\n")
		writeWrapped(b, "    ", example)
	case example != "":
		fmt.Fprintf(b, "  %-16s%s\n", "example", example)
	}
	if len(e.Values) > 0 {
		heading := map[string]string{"algorithm": "parameters", "kind": "names"}[e.Kind]
		if e.Kind == "key" {
			heading = "values"
			if strings.Contains(e.Facts[0].Text, "mapping") {
				heading = "keys"
			}
		}
		fmt.Fprintf(b, "  %s\n", heading)
		var values []reference.Value
		for _, v := range e.Values {
			values = append(values, reference.Value{Name: "  " + v.Name, Doc: v.Doc})
		}
		writeList(b, values)
	}
}

// writeList writes a line for each name: as much of its meaning as there is room for.
func writeList(b *strings.Builder, values []reference.Value) {
	width := 0
	for _, v := range values {
		width = max(width, len(v.Name))
	}
	for _, v := range values {
		head := fmt.Sprintf("  %-*s  ", width, v.Name)
		b.WriteString(strings.TrimRight(head+shorten(v.Doc, explainWidth-len(head)), " ") + "\n")
	}
}

// shorten returns the first sentence of a text, or as many of its words as fit.
func shorten(text string, width int) string {
	first := text
	if end := sentenceEnd.FindStringIndex(text); end != nil {
		first = text[:end[0]+2]
	}
	if runes := []rune(first); len(runes) > width {
		words := string(runes[:width-len(" ...")])
		return strings.TrimRight(words[:max(strings.LastIndexByte(words, ' '), 1)], " .,;:(") + " ..."
	}
	return first
}

// sentenceEnd matches the last letter of a sentence, its full stop and the space behind it.
var sentenceEnd = regexp.MustCompile(`[^.][.] `)

// writeWrapped writes a text behind a head, in lines of explainWidth, the later ones indented as the
// first.
func writeWrapped(b *strings.Builder, head, text string) {
	text = strings.Join(strings.Fields(text), " ")
	for _, line := range wording.Wrap(head+text, explainWidth, strings.Repeat(" ", len(head))) {
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

func schemaCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "schema [sweep|result]",
		Short: "Print the schema of sweep files or columns of results",
		Long: `Print the JSON Schema of sweep files, with which an editor completes and checks them:

  shatter schema > sweep.schema.json

and, as the first line of a sweep file in the same folder,

  # yaml-language-server: $schema=sweep.schema.json

schema result prints the columns of the result files; shatter query DIR --schema those of one
result.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			out := c.OutOrStdout()
			what := "sweep"
			if len(args) > 0 {
				what = args[0]
			}
			switch what {
			case "sweep":
				if c.Flags().Changed("output") {
					return wrong("-o does not apply to the schema of sweep files, which is JSON; leave it out")
				}
				_, err := out.Write(schemas.SweepSchema)
				return err
			case "result":
				return render.Render(query.Describe(resultViews()), out, format)
			}
			return wrong("schema of %q%s", what, wording.DidYouMean(what, []string{"sweep", "result"}))
		},
	}
	addOutput(c, &format, query.Formats(), ", for schema result")
	return c
}

// resultViews returns the files of a result with all columns that they may have.
func resultViews() (views []query.View) {
	for _, file := range result.Files() {
		views = append(views, query.View{Name: file, Columns: result.Columns(file)})
	}
	return views
}
