// Package reference explains the vocabulary of sweep files and results: the keys of the sweep
// file with their values, and the names in the registries. It contains no list of its own. The
// values of a key are defined by the types of schemas.Sweep, its meaning by the JSON Schema
// generated from their comments, and everything else by the registries.
//
// Start with Entries and Find.
package reference

import (
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/wording"
)

// Entry is one meaning of a name.
type Entry struct {
	Kind    string  `json:"kind"`
	Name    string  `json:"name"`
	Doc     string  `json:"doc,omitempty"`
	Facts   []Fact  `json:"facts,omitempty"`
	Values  []Value `json:"values,omitempty"` // permitted values of a key, or members of the entry
	Example string  `json:"example,omitempty"`

	words []string // values of a key without their own entries
}

// Fact is a labeled property of an entry.
type Fact struct {
	What string `json:"what"`
	Text string `json:"text"`
}

// Value is a name with its meaning.
type Value struct {
	Name string `json:"name"`
	Doc  string `json:"doc,omitempty"`
}

// add adds a fact whose text is not empty.
func (e *Entry) add(what, text string) {
	if text != "" {
		e.Facts = append(e.Facts, Fact{what, text})
	}
}

// Kind is a category of entries.
type Kind struct {
	Name, Plural string
	Doc          string // contexts in which their names occur
	list         func() []Entry
}

// Kinds lists the kinds, except the keys of the sweep file, and except algorithms and their
// parameters, which plugins describe.
func Kinds() []Kind {
	return []Kind{
		{"class", "classes", "values of problem.class", classes},
		{"distribution", "distributions", "values of problem.distribution", distributions},
		{"noise", "noises", "values of problem.noise.kind", noises},
		{"task", "tasks", "values of task", tasks},
		{"adversary", "adversaries", "values of adversary.kind", adversaries},
		{"model", "models", "values of fits.model", models},
		{"column", "columns", "of result files", columns},
		{"metric", "metrics", "of trials, measured by workers; columns m_NAME", metrics},
		{"premise", "premises", "of theorems, as theory_reason names them", premises},
		{"format", "formats", "of tables, values of -o", formats},
		{"status", "statuses", "of cells, values of the column status", statuses},
		{"term", "terms", "of documents and messages", terms},
	}
}

// Entries returns the entries of a kind.
func (k Kind) Entries() []Entry {
	all := k.list()
	for i := range all {
		all[i].Kind = k.Name
	}
	return all
}

// Entries returns all entries: first the keys of the sweep file, then the kinds.
func Entries() []Entry {
	all := keys()
	for _, k := range Kinds() {
		all = append(all, k.Entries()...)
	}
	return all
}

// Find returns the entries that a word refers to. These are the entries with that name or last
// part of the name, and the keys with that value. If there are none, Find returns the entries
// below that name. If the result is empty, suggestion is the end of a message with similar names.
func Find(word string, all []Entry) (found []Entry, suggestion string) {
	word = strings.Trim(strings.ToLower(word), "{}")
	var names []string
	for _, e := range all {
		if e.means(word) || slices.Contains(e.words, word) {
			found = append(found, e)
		}
		names = append(append(append(names, e.Name), lastPart(e.Name)), e.words...)
	}
	if len(found) == 0 {
		outside := func(e Entry) bool { return !strings.HasPrefix(e.Name, word+".") }
		found = slices.DeleteFunc(slices.Clone(all), outside)
	}
	if len(found) > 0 {
		return found, ""
	}
	return nil, wording.DidYouMean(word, names)
}

// means reports whether a lower-case word is the entry's name, or the end of it.
func (e *Entry) means(word string) bool {
	name := strings.ToLower(e.Name)
	return name == word || strings.HasSuffix(name, "."+word) || strings.HasSuffix(name, "/"+word)
}

// lastPart returns the part of a name after the last dot or slash.
func lastPart(name string) string { return name[strings.LastIndexAny(name, "./")+1:] }
