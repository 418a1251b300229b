// Package blame holds the error of everything below package problem: which key of the sweep file is
// wrong, and why. Whoever shows it to people finds the line of that key in the file.
package blame

import (
	"fmt"

	"github.com/shatterlab/shatter/pipeline/wording"
)

// Error says that a value of a sweep file cannot be used.
type Error struct {
	Key    string // the path of the key in the file, as in "problem.margin"
	Reason string // what is wrong with the value, and the remedy
}

// Error joins the key and the reason.
func (e *Error) Error() string { return e.Key + ": " + e.Reason }

// Key returns an *Error that blames a key, with a formatted reason.
func Key(key, format string, a ...any) error {
	return &Error{Key: key, Reason: fmt.Sprintf(format, a...)}
}

// Name returns an *Error that blames a name which is not among those known. It suggests the nearest
// of them, or lists all where none is near.
func Name(key, name string, known []string) error {
	if name == "" {
		return Key(key, "missing; choose %s", wording.Or(known))
	}
	if nearest, ok := wording.Nearest(name, known); ok {
		return Key(key, "unknown %q, did you mean %q?", name, nearest)
	}
	return Key(key, "unknown %q; choose %s", name, wording.Or(known))
}
