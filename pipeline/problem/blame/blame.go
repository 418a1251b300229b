// Package blame holds the error of all packages below problem: a key of the sweep file, and the reason why its value
// is invalid. Package plan adds the line of the key.
package blame

import (
	"errors"
	"fmt"

	"github.com/shatterlab/shatter/pipeline/wording"
)

// Error reports a value of a sweep file that cannot be used.
type Error struct {
	Key    string // the path of the key in the file, as in "problem.margin"
	Reason string // what is wrong with the value, and the remedy
}

// Error joins the key and the reason.
func (e *Error) Error() string { return e.Key + ": " + e.Reason }

// All returns the errors of this package that were joined to err, in order.
func All(err error) (all []*Error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			all = append(all, All(e)...)
		}
	} else if e, ok := errors.AsType[*Error](err); ok {
		all = append(all, e)
	}
	return all
}

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
