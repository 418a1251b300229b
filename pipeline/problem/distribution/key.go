package distribution

import (
	"slices"

	"github.com/shatterlab/shatter/pipeline/problem/blame"
	"github.com/shatterlab/shatter/schemas"
)

// Key is a number of the problem that only some distributions take.
type Key struct {
	Name    string  // the key below "problem"
	Doc     string  // one line for people
	Default float64 // what a missing key, 0, stands for; 0: the key must be stated
	Example string  // what to state, for the message where the key is missing: "the weight ..., for example 0.1"

	// Field returns where a problem holds the number.
	Field func(p *schemas.Problem) *float64

	// Outside returns what is wrong with the number, "" where it is in its range. The distribution
	// of p takes the key, and the number is not 0.
	Outside func(p *schemas.Problem) string
}

// Keys lists all keys that some distribution takes.
func Keys() []*Key { return []*Key{&mass, &minority, &margin} }

// Distributions lists the distributions that take the key.
func (k *Key) Distributions() []string {
	return names(slices.DeleteFunc(All(), func(l *Distribution) bool { return !slices.Contains(l.Keys, k) }))
}

// Resolve fills in the default of the key and checks its range, for a problem whose distribution
// takes it. The error is a *blame.Error.
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
