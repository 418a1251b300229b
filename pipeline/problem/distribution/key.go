package distribution

import (
	"slices"

	"github.com/shatterlab/shatter/pipeline/problem/blame"
	"github.com/shatterlab/shatter/schemas"
)

// Key is a numeric key of the problem that applies to some distributions only.
type Key struct {
	Name    string  // the key below "problem"
	Doc     string  // one-line description
	Default float64 // value of a missing key, 0; 0: the key is required
	Example string  // description and example for the message about a missing key: "the weight ..., for example 0.1"

	// Field returns the field of a problem that holds the number.
	Field func(p *schemas.Problem) *float64

	// Outside returns the reason why the number is invalid, "" if it is in its range. The key
	// must apply to the distribution of p, and the number must not be 0.
	Outside func(p *schemas.Problem) string
}

// Keys lists all keys that apply to some distribution.
func Keys() []*Key { return []*Key{&mass, &bestError, &minority, &margin} }

// Distributions lists the distributions to which the key applies.
func (k *Key) Distributions() []string {
	return names(slices.DeleteFunc(All(), func(l *Distribution) bool { return !slices.Contains(l.Keys, k) }))
}

// Resolve fills in the default of the key and checks its range, for a problem to whose
// distribution it applies. The error is a *blame.Error.
func (k *Key) Resolve(p *schemas.Problem) error {
	v := k.Field(p)
	switch {
	case *v == 0 && k.Default == 0:
		return blame.Key("problem."+k.Name, "missing; state %s", k.Example)
	case *v == 0:
		*v = k.Default
	}
	if wrong := k.Outside(p); wrong != "" {
		return blame.Key("problem."+k.Name, "%s", wrong)
	}
	return nil
}
