package adversary

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem/blame"
	"github.com/shatterlab/shatter/pipeline/problem/distribution"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/schemas"
)

// refuse returns an error about one key below "adversary".
func refuse(key, format string, a ...any) error { return blame.Key("adversary."+key, format, a...) }

// Resolve checks an adversary of rounds, or of queries, on a resolved problem, and fills in the
// defaults of sees and rate. The error is a *blame.Error whose key starts with "adversary".
// CheckRounds may still reject the number of rounds.
func Resolve(rounds bool, p *schemas.Problem, a *schemas.Adversary) error {
	k, err := resolveKind(rounds, p, a.Kind)
	if err != nil {
		return err
	}
	for _, check := range []func(*schemas.Problem, *schemas.Adversary) error{
		k.resolveSees, k.checkOffline, k.checkWidth, k.resolveRate, k.checkFrom,
	} {
		if err := check(p, a); err != nil {
			return err
		}
	}
	return nil
}

// resolveKind returns the adversary of a kind, unless it cannot act on the problem.
func resolveKind(rounds bool, p *schemas.Problem, kind string) (*Adversary, error) {
	k, wrong := Lookup(kind), ""
	switch {
	case kind == "":
		wrong = "missing"
	case k != nil && k.PlaysRounds() == rounds:
		if why := k.Refuses(p); why != "" {
			wrong = fmt.Sprintf("%q %s", kind, why)
		}
	case rounds:
		wrong = fmt.Sprintf("%q does not play rounds", kind)
	default:
		wrong = fmt.Sprintf("%q does not ask queries", kind)
	}
	if wrong != "" {
		return nil, refuse("kind", "%s; choose %s", wrong, cmp.Or(wording.Or(Fitting(rounds, p)), "another class"))
	}
	return k, nil
}

// resolveSees checks the key sees, and fills in its default.
func (k *Adversary) resolveSees(_ *schemas.Problem, a *schemas.Adversary) error {
	switch {
	case len(k.Sees) == 0 && a.Sees == "":
	case len(k.Sees) == 0 && !k.PlaysRounds():
		return refuse("sees", "%q does not apply to the kind %s, which looks at no answer; leave it out", a.Sees, a.Kind)
	case len(k.Sees) == 0:
		looking := choices(k.PlaysRounds(), func(k *Adversary) bool { return len(k.Sees) > 0 })
		return refuse("sees", "%q does not apply to the kind %s, only to %s; leave it out",
			a.Sees, a.Kind, wording.Or(looking))
	case a.Sees == "":
		a.Sees = k.Sees[0]
	case !slices.Contains(k.Sees, a.Sees):
		return refuse("sees", "unknown %q; choose %s", a.Sees, wording.Or(k.Sees))
	}
	return nil
}

// checkOffline checks the key offline.
func (k *Adversary) checkOffline(_ *schemas.Problem, a *schemas.Adversary) error {
	switch {
	case a.Offline && k.PlaysRounds():
		return refuse("offline", "does not apply to rounds, whose points come one by one; leave it out")
	case a.Offline && len(k.Sees) > 0:
		return refuse("offline", "an adaptive adversary has no list of queries beforehand; leave it out, or choose another "+
			"kind")
	}
	return nil
}

// checkWidth checks the key width.
func (k *Adversary) checkWidth(p *schemas.Problem, a *schemas.Adversary) error {
	applies, side := k.Width != nil && k.Width(p), concept.Side(distribution.ClassOf(p))
	switch {
	case a.Width != 0 && k.PlaysRounds():
		return refuse("width", "%d does not apply to rounds; leave it out", a.Width)
	case a.Width != 0 && !applies:
		wide := choices(k.PlaysRounds(), func(k *Adversary) bool { return k.Width != nil })
		return refuse("width", "%d applies to the kind %s on whole numbers only; leave it out", a.Width, wording.Or(wide))
	case applies && (a.Width < 0 || float64(a.Width) >= float64(side)):
		return refuse("width", "%d is outside [0, %d)", a.Width, side)
	}
	return nil
}

// resolveRate checks the key rate, and fills in its default.
func (k *Adversary) resolveRate(_ *schemas.Problem, a *schemas.Adversary) error {
	switch {
	case k.Rate == nil && a.Rate == 0:
		return nil
	case k.Rate == nil && !k.PlaysRounds():
		return refuse("rate", "%v does not apply to queries, only to the rounds of task online; leave it out", a.Rate)
	case k.Rate == nil:
		rated := choices(k.PlaysRounds(), func(k *Adversary) bool { return k.Rate != nil })
		return refuse("rate", "%v does not apply to the kind %s, only to %s; leave it out", a.Rate, a.Kind, wording.Or(rated))
	case a.Rate == 0:
		a.Rate = k.Rate.Default
	}
	if wrong := k.Rate.Outside(a.Rate); wrong != "" {
		return refuse("rate", "%s", wrong)
	}
	return nil
}

// checkFrom checks the key from.
func (k *Adversary) checkFrom(p *schemas.Problem, a *schemas.Adversary) error {
	applies := slices.Contains(k.From, p.Class)
	switch {
	case !applies && a.From == 0:
		return nil
	case !applies && !k.PlaysRounds():
		return refuse("from", "%d does not apply to queries, only to the rounds of task online; leave it out", a.From)
	case !applies:
		return refuse("from", "%d applies to the kind %s on the class %s only; leave it out",
			a.From, bisecting.Name, wording.And(bisecting.From))
	case a.From == 0:
		return refuse("from", "missing; state the first point x, for example 2^20: "+
			"the best that a learner can promise is 1 + floor(log2 x) mistakes")
	case a.From > concept.MaxNatural/2:
		return refuse("from", "%d is above 2^52: the adversary could not go up from there, because float64 holds every "+
			"whole number only up to 2^53", a.From)
	}
	return nil
}
