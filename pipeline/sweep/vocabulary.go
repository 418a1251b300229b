package sweep

import (
	"github.com/shatterlab/shatter/pipeline/concept"
)

// Word is one of the names that a key of the sweep file takes.
type Word struct{ Name, Doc string }

// vocabularies are the registries that the rule registry=... of a jsonschema tag can name.
var vocabularies = map[string]func() []Word{
	"class": classes,
}

// Vocabulary returns the names that a registry knows, in the order in which people see them, with a
// line about each. It panics if there is no such registry.
func Vocabulary(registry string) []Word { return vocabularies[registry]() }

func classes() (words []Word) {
	for _, name := range concept.Names() {
		d, _ := concept.Lookup(name)
		words = append(words, Word{d.Name, d.Doc})
	}
	return words
}

// names returns the names alone.
func names(words []Word) (list []string) {
	for _, w := range words {
		list = append(list, w.Name)
	}
	return list
}
