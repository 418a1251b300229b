package schemas

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// An Environment lists the software that a plugin runs with in addition to its own file: an
// interpreter, imported packages, libraries. Its components are in the order of their names.
type Environment []Component

// A Component is one part of an environment. Names are arbitrary; packages have the names that a
// program imports.
type Component struct {
	Name    string            `json:"name"`
	Version string            `json:"version,omitempty"`
	Digest  string            `json:"digest,omitempty"` // digest of its content, in hex, of any length
	Files   map[string]string `json:"files,omitempty"`  // digests by file name; empty: the digest covers all files
}

// environmentMark separates the two parts of an identity.
const environmentMark = "+"

// Identify returns the identity of a plugin with the given digest in the environment: the digest itself if the
// environment is empty.
func (e Environment) Identify(program string) string {
	if len(e) == 0 {
		return program
	}
	text, _ := json.Marshal(e) // never fails, because it contains only strings
	sum := sha256.Sum256(text)
	return program + environmentMark + hex.EncodeToString(sum[:8])
}

// ProgramOf returns the digest of the plugin that has an identity.
func ProgramOf(identity string) string {
	program, _, _ := strings.Cut(identity, environmentMark)
	return program
}

// SameCode reports whether two identities may belong to the same code: an identity without an
// environment, which is unknown then, matches the identities of its plugin in all environments.
func SameCode(a, b string) bool {
	return a == b || ProgramOf(a) == ProgramOf(b) && (a == ProgramOf(a) || b == ProgramOf(b))
}

// String returns the components and their versions on one line.
func (e Environment) String() string {
	var parts []string
	for _, c := range e {
		parts = append(parts, strings.TrimSpace(c.Name+" "+c.Version))
	}
	return strings.Join(parts, ", ")
}

// MaxChanges is the number of changes of an environment that a message lists.
const MaxChanges = 5

// Changes describes how the environment differs from an earlier one, with one text for each component.
func (e Environment) Changes(old Environment) (changes []string) {
	was := map[string]Component{}
	for _, c := range old {
		was[c.Name] = c
	}
	for _, c := range e {
		o, found := was[c.Name]
		delete(was, c.Name)
		switch {
		case !found:
			changes = append(changes, strings.TrimSpace(c.Name+" "+c.Version)+" is new")
		case c.Version != o.Version:
			changes = append(changes, fmt.Sprintf("%s %s -> %s", c.Name, cmp.Or(o.Version, "?"), cmp.Or(c.Version, "?")))
		case c.Digest != o.Digest:
			changes = append(changes, c.Name+": "+c.fileChange(o))
		}
	}
	for name := range was {
		changes = append(changes, name+" is gone")
	}
	slices.Sort(changes)
	return changes
}

// fileChange names the first file that differs between two contents of a component.
func (c Component) fileChange(old Component) string {
	var names []string
	for name, digest := range c.Files {
		if old.Files[name] != digest {
			names = append(names, name)
		}
	}
	for name := range old.Files {
		if _, found := c.Files[name]; !found {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	switch len(names) {
	case 0:
		return "its content changed"
	case 1:
		return "file " + names[0] + " changed"
	}
	return fmt.Sprintf("file %s and %d more changed", names[0], len(names)-1)
}
