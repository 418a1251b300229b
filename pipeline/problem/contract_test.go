package problem

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem/distribution"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas"
)

// problemOf returns a problem of a class under a distribution, with all required keys.
func problemOf(t *testing.T, class string, l *distribution.Distribution) schemas.Problem {
	t.Helper()
	p := schemas.Problem{Class: class, Distribution: l.Name}
	if d, _ := concept.Lookup(class); d.Shape == concept.Column {
		p.Matrix = &schemas.Matrix{File: testkit.WriteFile(t, "class.csv", "a,b,c\n0,0,0\n0,1,1\n1,1,0\n")}
	} else {
		p.Domain, p.Dim = d.Examples[0].Domain, d.Examples[0].Dim
	}
	for _, k := range l.Keys {
		*k.Field(&p) = 1. / 32
	}
	return p
}

// Every distribution resolves on every class that it fits, and is rejected with the key
// distribution on the others. Its keys are rejected under other distributions, by their own
// names.
func TestEveryDistributionOnEveryClass(t *testing.T) {
	for _, class := range concept.Names() {
		for _, l := range distribution.All() {
			p := problemOf(t, class, l)
			if !l.Fits(class) {
				checkBlamed(t, p, "problem.distribution", l.Name)
				continue
			}
			if err := Resolve(&p); err != nil {
				t.Errorf("%s under %s: %v", class, l.Name, err)
				continue
			}
			for _, k := range distribution.Keys() {
				if q := p; !slices.Contains(l.Keys, k) {
					*k.Field(&q) = 0.25
					checkBlamed(t, q, "problem."+k.Name, strings.Join(k.Distributions()[:1], ""))
				}
			}
			if l.LeastDim > 1 {
				q := p
				q.Dim = l.LeastDim - 1
				checkBlamed(t, q, "problem.d", "")
			}
			if l.LeastDomain != nil {
				q := p
				q.Domain = l.LeastDomain(class) - 1
				checkBlamed(t, q, "problem.domain", "")
			}
		}
	}
}

// checkBlamed checks that a problem is rejected because of a key, with a reason that contains a
// word.
func checkBlamed(t *testing.T, p schemas.Problem, key, word string) {
	t.Helper()
	var wrong *Error
	if err := Resolve(&p); !errors.As(err, &wrong) || wrong.Key != key || !strings.Contains(wrong.Reason, word) {
		t.Errorf("%+v: the error is %v, want one of %s that mentions %q", p, err, key, word)
	}
}
