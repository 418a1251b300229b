package reference

import (
	"cmp"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline"
	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem/adversary"
	"github.com/shatterlab/shatter/pipeline/problem/distribution"
	"github.com/shatterlab/shatter/pipeline/problem/noise"
	"github.com/shatterlab/shatter/pipeline/result"
	"github.com/shatterlab/shatter/pipeline/result/render"
	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/task"
	"github.com/shatterlab/shatter/pipeline/theory"
	"github.com/shatterlab/shatter/schemas"
)

// PointsOf describes the points of a class, with the keys of their number formatted as code.
func PointsOf(class string) string {
	words := map[concept.Shape]string{
		concept.Scalar: "one whole number, 0..X-1 (`domain`)",
		concept.Grid:   "`d` whole numbers, 0..X-1 each (`domain`)",
		concept.Bits:   "`d` bits",
		concept.Column: "the columns of the 0/1 table in `file`",
		concept.Ball:   "`d` numbers, a vector of norm at most 1",
	}
	d, ok := concept.Lookup(class)
	if !ok {
		return ""
	}
	return cmp.Or(words[d.Shape], d.PointsDoc)
}

// plain removes the code markup from a text.
func plain(text string) string { return strings.ReplaceAll(text, "`", "") }

func classes() (all []Entry) {
	for _, name := range concept.Names() {
		d, _ := concept.Lookup(name)
		e := Entry{Name: name, Doc: d.Doc}
		e.add("points", plain(PointsOf(name)))
		e.add("distributions", strings.Join(distribution.NamesFor(name), ", "))
		e.add("target random", plain(d.RandomDoc))
		e.add("target middle", d.MiddleDoc)
		e.add("target as text", d.Notation)
		e.Example = "problem: {class: " + name + ", ...}"
		all = append(all, e)
	}
	return all
}

func distributions() (all []Entry) {
	for _, l := range distribution.All() {
		e := Entry{Name: l.Name, Doc: l.Doc}
		e.add("classes", strings.Join(slices.DeleteFunc(concept.Names(), func(c string) bool { return !l.Fits(c) }), ", "))
		e.Example = "problem: {distribution: " + l.Name
		for _, k := range l.Keys {
			doc := k.Doc
			if k.Default != 0 {
				doc += fmt.Sprintf(" (default %v)", k.Default)
			} else {
				e.Example += ", " + k.Name + ": 0.1"
			}
			e.add("key "+k.Name, doc)
		}
		e.add("target", l.OneTarget)
		e.Example += ", ...}"
		all = append(all, e)
	}
	return all
}

func noises() (all []Entry) {
	for _, n := range noise.All() {
		e := Entry{Name: n.Name, Doc: n.Doc, Example: "problem: {noise: {kind: " + n.Name + "}, ...}"}
		if n.Rate {
			e.add("keys", "rate")
			e.Example = "problem: {noise: {kind: " + n.Name + ", rate: 0.1}, ...}"
		}
		all = append(all, e)
	}
	return all
}

func tasks() (all []Entry) {
	for _, t := range task.All() {
		e := Entry{Name: t.Name, Doc: t.Doc, Example: "task: " + t.Name}
		var keys []string
		for _, k := range t.Keys {
			keys = append(keys, k.Path)
		}
		e.add("keys", strings.Join(keys, ", "))
		e.add("metrics", strings.Join(t.MetricNames(false), ", "))
		if t.Success != "" {
			e.add("success", t.Success+" is at most alpha")
		}
		all = append(all, e)
	}
	return all
}

func adversaries() (all []Entry) {
	for _, a := range adversary.All() {
		e := Entry{Name: a.Name, Doc: a.Doc, Example: "adversary: {kind: " + a.Name + "}"}
		for _, t := range task.All() {
			if t.Adversary && t.Rounds() == a.PlaysRounds() {
				e.add("task", t.Name)
			}
		}
		e.add("reveals", a.Reveals)
		e.add("keys", strings.Join(a.Keys(), ", "))
		if len(a.Sees) > 0 {
			e.add("sees", fmt.Sprintf("%s (default %s)", strings.Join(a.Sees, " or "), a.Sees[0]))
		}
		if a.Rate != nil {
			e.add("rate", fmt.Sprintf("default %v", a.Rate.Default))
		}
		all = append(all, e)
	}
	return all
}

func models() (all []Entry) {
	for _, w := range sweep.Vocabulary("model") {
		all = append(all, Entry{Name: w.Name, Doc: w.Doc, Example: "fits: [{model: " + w.Name + ", in: [d]}]"})
	}
	return all
}

// columnValues holds a line for each column: its name and a value, for example.
//
//go:embed columns.txt
var columnValues string

// columns returns the columns of all result files, merging those with the same name and meaning.
func columns() (all []Entry) {
	values := map[string]string{}
	for line := range strings.Lines(columnValues) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		values[name] = value
	}
	for _, file := range result.Files() {
		of := result.Columns(file)
		if file == "table" {
			of = slices.Concat(of, result.SearchColumns(), result.AuditColumns())
		}
		for _, c := range of {
			name := file
			if file == "games" {
				name = "table of task online"
			}
			same := func(e Entry) bool { return e.Name == c.Name && e.Doc == c.Doc }
			if i := slices.IndexFunc(all, same); i >= 0 {
				all[i].Facts[1].Text += ", " + name
				continue
			}
			all = append(all, Entry{
				Name: c.Name, Doc: c.Doc, Facts: []Fact{{"type", string(c.Type)}, {"files", name}}, Example: values[c.Name],
			})
		}
	}
	return all
}

func metrics() (all []Entry) {
	for _, t := range task.All() {
		for _, m := range t.Measured(true) {
			all = append(all, Entry{Name: m.Name, Doc: m.Doc, Facts: []Fact{
				{"task", t.Name}, {"column", schemas.MetricPrefix + m.Name + " of curve and trials"},
			}})
		}
	}
	return all
}

func premises() (all []Entry) {
	for _, p := range theory.Premises() {
		all = append(all, Entry{Name: p.Name, Doc: p.Doc})
	}
	return all
}

func statuses() (all []Entry) {
	for _, s := range result.Statuses {
		all = append(all, Entry{Name: s.Name, Doc: s.Doc, Example: "shatter table DIR --where status=" + s.Name})
	}
	return all
}

var (
	glossaryRow  = regexp.MustCompile(`(?m)^\| (\*\*.+?) \| (.+) \|$`)
	glossaryTerm = regexp.MustCompile(`\*\*(.+?)\*\*([^,]*)`)
	codeLink     = regexp.MustCompile(" \\(\\[`[^`]+`\\]\\([^)]+\\)\\)")
)

// terms returns the words of the glossary, a section of the README of package pipeline. A term with several meanings
// has several entries.
func terms() (all []Entry) {
	_, glossary, _ := strings.Cut(pipeline.Readme, "\n## Words\n")
	for _, row := range glossaryRow.FindAllStringSubmatch(strings.ReplaceAll(glossary, `\*`, "∗"), -1) {
		doc := plain(codeLink.ReplaceAllString(row[2], ""))
		for _, term := range glossaryTerm.FindAllStringSubmatch(row[1], -1) {
			if context := strings.TrimSpace(term[2]); context != "" {
				doc = context + ": " + doc
			}
			all = append(all, Entry{Name: strings.ReplaceAll(term[1], "∗", "*"), Doc: strings.ReplaceAll(doc, "∗", "*")})
		}
	}
	return all
}

func formats() (all []Entry) {
	for _, f := range render.Formats() {
		all = append(all, Entry{Name: f.Name, Doc: plain(f.Doc), Example: "shatter table DIR -o " + f.Name})
	}
	return all
}
