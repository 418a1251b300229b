package problem

import (
	"cmp"
	"errors"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem/distribution"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

// MaxEach is the largest number of hypotheses that the target each lists.
const MaxEach = 4096

// resolveTarget checks the target of a problem with a distribution, and the number of its literals.
// It writes their defaults, and a hypothesis in its canonical text.
func resolveTarget(p *schemas.Problem, l *distribution.Distribution, class concept.Spec) error {
	p.Target = cmp.Or(p.Target, l.DefaultTarget())
	switch {
	case l.OneTarget != "" && p.Target != concept.MiddleTarget:
		return refuse("target", "%q does not apply to the distribution %s: %s; leave it out, or take another distribution",
			p.Target, l.Name, l.OneTarget)
	case p.Target == concept.EachTarget:
		return refuse("target", "%s means all hypotheses of a class, not a single one; state one",
			p.Target)
	}
	if err := resolveLiterals(p); err != nil {
		return err
	}
	if l.OneTarget != "" { // it has its own target
		return nil
	}
	canonical, _, err := concept.ParseTarget(class, p.Target, p.Literals)
	if err != nil {
		return refuse("target", "%v", err)
	}
	p.Target = canonical
	if l.RefuseTarget != nil {
		if why := l.RefuseTarget(p); why != "" {
			return refuse("target", "%q does not apply to %s under %s: %s; take another target, such as %s",
				p.Target, p.Class, l.Name, why, concept.RandomTarget)
		}
	}
	return nil
}

// resolveLiterals checks the number of literals of a random conjunction, and fills in its
// default: two, or one if there is one bit.
func resolveLiterals(p *schemas.Problem) error {
	class, _ := concept.Lookup(p.Class)
	most := min(p.Dim, concept.MaxLiterals)
	switch {
	case !class.Literals && p.Literals != 0:
		return refuse("literals", "%d does not apply to the class %s, only to %s; leave it out",
			p.Literals, p.Class, wording.Or(withLiterals()))
	case !class.Literals:
	case p.Target != concept.RandomTarget && p.Literals != 0:
		return refuse("literals", "%d does not apply to the target %s, only to %s; leave one of them out",
			p.Literals, p.Target, concept.RandomTarget)
	case p.Target != concept.RandomTarget:
	case p.Literals == 0:
		p.Literals = min(concept.DefaultLiterals, p.Dim)
	case p.Literals < 0 || p.Literals > most:
		return refuse("literals", "%d is outside [1, %d]: there are d = %d bits", p.Literals, most, p.Dim)
	}
	return nil
}

// withLiterals lists the classes whose random targets have a given number of literals.
func withLiterals() (names []string) {
	for _, name := range concept.Names() {
		if class, _ := concept.Lookup(name); class.Literals {
			names = append(names, name)
		}
	}
	return names
}

// refuseTarget rejects a target of a problem that has none; whence is the source of its labels.
func refuseTarget(p *schemas.Problem, whence string) error {
	switch {
	case p.Target != "":
		return refuse("target", "%q does not apply here: %s; leave it out", p.Target, whence)
	case p.Literals != 0:
		return refuse("literals", "%d does not apply here: %s; leave it out", p.Literals, whence)
	}
	return nil
}

// Hypotheses lists the targets of "target: each": the texts of all hypotheses of the class. The
// error is an *Error. It names the target if and only if the problem is valid with another one.
func Hypotheses(p schemas.Problem) ([]string, error) {
	p.Target = ""
	read, err := resolve(&p)
	if err != nil {
		return nil, err
	}
	if read.rows != nil {
		defer func() { _ = read.rows.Close() }() // nothing was written to a disk
	}
	if l := distribution.Lookup(p.Distribution); l == nil || l.OneTarget != "" {
		return nil, refuse("target", "%s does not apply here; leave it out", concept.EachTarget)
	}
	texts, err := concept.Hypotheses(distribution.Spec(&p, read.matrix), MaxEach)
	if errors.Is(err, concept.ErrTooMany) {
		return nil, refuse("target", "%s: %v; take a smaller class, or list some of them", concept.EachTarget, err)
	}
	return texts, err
}
