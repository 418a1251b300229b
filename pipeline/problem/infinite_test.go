package problem

import (
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem/adversary"
	"github.com/shatterlab/shatter/schemas"
)

// These classes have no distribution, data or domain.
func TestInfiniteOrdersRefuse(t *testing.T) {
	for _, class := range []string{concept.Naturals, concept.Dyadics} {
		p := schemas.Problem{Class: class}
		for range 2 {
			if err := Resolve(&p); err != nil || p != (schemas.Problem{Class: class, Noise: schemas.Noise{Kind: "none"}}) {
				t.Errorf("%+v, %v", p, err)
			}
		}
		for want, p := range map[string]schemas.Problem{
			`problem.domain: 64 does not apply to the class ` + class + `, only to thresholds, points`: {Domain: 64},
			`problem.d: 2 does not apply to the class ` + class:                                        {Dim: 2},
			`problem.mass: 0.1 does not apply to the class ` + class:                                   {Mass: 0.1},
			`problem.test: 5 does not apply to the class ` + class:                                     {Test: 5},
			`problem.distribution: "uniform" does not apply to the class ` + class:                     {Distribution: "uniform"},
			`problem.data: does not apply to the class ` + class:                                       {Data: &schemas.Data{File: "x.csv"}},
		} {
			p.Class = class
			checkError(t, Resolve(&p), want)
		}
	}
	public := open(t, schemas.Problem{Class: concept.Naturals}).Public()
	if public.Class != concept.Naturals || public.Domain != 0 || public.Dim != 1 || !public.Realizable {
		t.Errorf("%+v", public)
	}
	for _, c := range []struct {
		class string
		a     schemas.Adversary
		want  string
	}{
		{concept.Naturals, schemas.Adversary{Kind: "bisecting"},
			"adversary.from: missing; state the first point x, for example 2^20"},
		{concept.Naturals, schemas.Adversary{Kind: "bisecting", From: concept.MaxNatural/2 + 1},
			"adversary.from: 4503599627370497 is above 2^52"},
		{concept.Naturals, schemas.Adversary{Kind: "tree"},
			`adversary.kind: "tree" does not play on the class thresholds-naturals, which has neither a ` +
				`distribution nor a finite Littlestone dimension; choose bisecting`},
		{concept.Dyadics, schemas.Adversary{Kind: "random"},
			`adversary.kind: "random" does not play on the class thresholds-dyadics`},
		{concept.Dyadics, schemas.Adversary{Kind: "planted"},
			`adversary.kind: "planted" does not play on the class thresholds-dyadics`},
		{concept.Dyadics, schemas.Adversary{Kind: "bisecting", From: 1},
			"adversary.from: 1 applies to the kind bisecting on the class thresholds-naturals only; leave it out"},
		{"thresholds", schemas.Adversary{Kind: "bisecting", From: 1},
			"adversary.from: 1 applies to the kind bisecting on the class thresholds-naturals only; leave it out"},
	} {
		err := adversary.Resolve(true, &schemas.Problem{Class: c.class, Domain: 64}, &c.a)
		if checkError(t, err, c.want); err != nil && strings.Contains(err.Error(), "%!") {
			t.Error(err)
		}
	}
}
