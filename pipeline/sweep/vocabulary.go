package sweep

import (
	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/pipeline/problem/adversary"
	"github.com/shatterlab/shatter/pipeline/problem/distribution"
	"github.com/shatterlab/shatter/pipeline/problem/noise"
	"github.com/shatterlab/shatter/pipeline/task"
)

// A Word is an allowed value of a key of the sweep file, with a description if there is one.
type Word struct{ Name, Doc string }

// Vocabulary returns the names in a registry with their descriptions, in display order. The rule registry=... of a
// jsonschema tag names the registry. Vocabulary panics if there is no such registry.
func Vocabulary(registry string) (words []Word) {
	switch registry {
	case "adversary":
		for _, a := range adversary.All() {
			words = append(words, Word{a.Name, a.Doc})
		}
	case "class":
		for _, name := range concept.Names() {
			d, _ := concept.Lookup(name)
			words = append(words, Word{name, d.Doc})
		}
	case "distribution":
		for _, l := range distribution.All() {
			words = append(words, Word{l.Name, l.Doc})
		}
	case "noise":
		for _, n := range noise.All() {
			words = append(words, Word{n.Name, n.Doc})
		}
	case "model":
		for _, f := range estimate.Forms() {
			words = append(words, Word{f.Name, f.Doc})
		}
	case "sees":
		for _, name := range adversary.SeesValues() {
			words = append(words, Word{Name: name})
		}
	case "task":
		for _, t := range task.All() {
			words = append(words, Word{t.Name, t.Doc})
		}
	default:
		panic("sweep: no registry " + registry)
	}
	return words
}
