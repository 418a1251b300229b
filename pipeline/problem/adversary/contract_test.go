package adversary

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem/blame"
	"github.com/shatterlab/shatter/pipeline/problem/distribution"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas"
)

// grounds returns problems of every class under every distribution that fits it, one with a
// listable number of hypotheses and a larger one, and problems over data.
func grounds(t *testing.T) (all []*opened) {
	t.Helper()
	for _, name := range concept.Names() {
		class, _ := concept.Lookup(name)
		if class.Shape == concept.InfiniteOrder {
			all = append(all, open(t, schemas.Problem{Class: name}))
		}
		for _, points := range distribution.NamesFor(name) {
			for _, size := range []int{4, 40} {
				p := schemas.Problem{Class: name, Distribution: points}
				switch {
				case class.Shape == concept.Column:
					p.Matrix = &schemas.Matrix{File: testkit.WriteFile(t, "class.csv", "a,b,c\n0,0,0\n0,1,1\n1,1,0\n")}
				case class.Shape.HasDomain():
					p.Domain = uint64(size)
				}
				if p.Dim = 0; class.Shape.HasDim() {
					p.Dim = size / 2
				}
				tooLarge := false
				for _, k := range distribution.Lookup(points).Keys {
					*k.Field(&p) = 0.125
					tooLarge = tooLarge || k.Outside(&p) != ""
				}
				if !tooLarge {
					all = append(all, open(t, p))
				}
			}
		}
	}
	return append(
		all,
		openCSV(t, "v,y\n3,p\n5,q\n7,p\n", overData("intervals", 8)),
		openCSV(t, testkit.CSV(30), overData("halfspace", 0)),
	)
}

// Every adversary is complete.
func TestAdversariesAreComplete(t *testing.T) {
	for _, k := range All() {
		if k.Name == "" || Lookup(k.Name) != k {
			t.Errorf("the name %q is not unique", k.Name)
		}
		if k.Doc == "" || strings.Contains(k.Doc, "\n") || strings.HasSuffix(k.Doc, ".") {
			t.Errorf("%s has no doc of one line without a full stop: %q", k.Name, k.Doc)
		}
		if k.Reveals == "" || strings.Contains(k.Reveals, "\n") || strings.HasSuffix(k.Reveals, ".") {
			t.Errorf("%s has no Reveals of one line without a full stop: %q", k.Name, k.Reveals)
		}
		if k.Predictable != strings.HasSuffix(k.Doc, "not a lower bound") {
			t.Errorf("%s has Predictable %v, and its doc contradicts it", k.Name, k.Predictable)
		}
		if k.Refuses == nil || (k.queries == nil) == (k.rounds == nil) {
			t.Errorf("%s needs Refuses and either queries or rounds", k.Name)
		}
		if k.Rate != nil && k.Rate.Outside == nil {
			t.Errorf("%s has a rate without a range", k.Name)
		}
	}
}

// Every adversary plays to the end on every problem that it does not refuse, refuses the others
// with a reason, and accepts exactly its declared keys and values.
func TestAdversaries(t *testing.T) {
	list := grounds(t)
	for _, k := range All() {
		t.Run(k.Name, func(t *testing.T) {
			played := 0
			for _, p := range list {
				if k.Refuses(&p.spec) != "" {
					checkRefused(t, p, schemas.Adversary{Kind: k.Name}, "kind")
					continue
				}
				checkOptions(t, k, p)
				for _, a := range variants(k, p) {
					checkGame(t, k, p, a)
					played++
				}
			}
			if played == 0 {
				t.Error("it fits no problem")
			}
		})
	}
}

// variants returns the adversaries of a kind with different values of sees and rate.
func variants(k *Adversary, p *opened) (all []schemas.Adversary) {
	a := schemas.Adversary{Kind: k.Name}
	if slices.Contains(k.From, p.spec.Class) {
		a.From = 5
	}
	all = append(all, a)
	for _, sees := range k.Sees {
		a.Sees = sees
		all = append(all, a)
	}
	if k.Rate != nil {
		a.Rate = 0.5
		all = append(all, a)
	}
	return all
}

// checkRefused checks that an adversary is refused because of a key.
func checkRefused(t *testing.T, p *opened, a schemas.Adversary, key string) {
	t.Helper()
	var wrong *blame.Error
	err := Resolve(Lookup(a.Kind).PlaysRounds(), &p.spec, &a)
	if !errors.As(err, &wrong) || wrong.Key != "adversary."+key {
		t.Errorf("%+v: %+v: the error is %v, want one of adversary.%s", p.spec, a, err, key)
	} else if strings.Contains(wrong.Reason, "%!") || key == "kind" && !strings.Contains(wrong.Reason, a.Kind) {
		t.Errorf("%+v: %+v: the reason is %q", p.spec, a, wrong.Reason)
	}
}

// checkOptions checks that keys that do not apply are refused, and applicable keys outside of
// their ranges.
func checkOptions(t *testing.T, k *Adversary, p *opened) {
	t.Helper()
	with := func(change func(a *schemas.Adversary)) schemas.Adversary {
		a := variants(k, p)[0]
		change(&a)
		return a
	}
	for _, sees := range append(SeesValues(), "everything") {
		if !slices.Contains(k.Sees, sees) {
			checkRefused(t, p, with(func(a *schemas.Adversary) { a.Sees = sees }), "sees")
		}
	}
	if k.PlaysRounds() || len(k.Sees) > 0 {
		checkRefused(t, p, with(func(a *schemas.Adversary) { a.Offline = true }), "offline")
	}
	width := uint64(1)
	if k.Width != nil && k.Width(&p.spec) {
		width = p.side()
	}
	checkRefused(t, p, with(func(a *schemas.Adversary) { a.Width = int(width) }), "width")
	for _, rate := range []float64{-0.1, 1.1, math.NaN()} {
		checkRefused(t, p, with(func(a *schemas.Adversary) { a.Rate = rate }), "rate")
	}
	from := uint64(1)
	if slices.Contains(k.From, p.spec.Class) {
		checkRefused(t, p, with(func(a *schemas.Adversary) { a.From = 0 }), "from")
		from = concept.MaxNatural + 1
	}
	checkRefused(t, p, with(func(a *schemas.Adversary) { a.From = from }), "from")
}

// The truths of a game of rounds depend on the target if and only if the adversary declares it.
func TestTargetsOfRounds(t *testing.T) {
	for _, k := range All() {
		played := !k.PlaysRounds()
		for class, targets := range map[string][2]string{"thresholds": {"0", "8"}, "points": {"0", "7"}, "thresholds-naturals": {}} {
			var games [2]string
			for i, target := range targets {
				p := schemas.Problem{Class: class}
				if target != "" {
					p.Domain, p.Distribution, p.Target = 8, "uniform", target
				}
				if o := open(t, p); k.PlaysRounds() && k.Refuses(&o.spec) == "" {
					_, truths := playOut(t, o, variants(k, o)[0])
					games[i] = fmt.Sprint(truths)
					played = true
				}
			}
			if depends := games[0] != games[1]; depends != (k.Target && games[0] != "") {
				t.Errorf("%s on %s: the truths depend on the target: %v", k.Name, class, depends)
			}
		}
		if !played {
			t.Errorf("%s was not played", k.Name)
		}
	}
}

// checkGame plays twice and checks that points lie in the domain, that truths are labels, that
// equal seeds and answers give equal games, and that the truths agree with a hypothesis if the
// adversary declares it.
func checkGame(t *testing.T, k *Adversary, p *opened, a schemas.Adversary) {
	t.Helper()
	if err := Resolve(k.PlaysRounds(), &p.spec, &a); err != nil {
		t.Fatalf("%+v: %v", p.spec, err)
	}
	if len(k.Sees) > 0 && a.Sees == "" || k.Rate != nil && k.Rate.Outside(a.Rate) != "" {
		t.Errorf("%+v: a default is missing or out of its range", a)
	}
	x, y := playOut(t, p, a)
	again, truths := playOut(t, p.fresh(), a)
	if !slices.Equal(x, again) || !slices.Equal(y, truths) {
		t.Errorf("%+v: %+v: two games of one seed differ", p.spec, a)
	}
	for i, truth := range y {
		checkPoint(t, p, x[i*p.Dim():(i+1)*p.Dim()])
		if truth != -1 && truth != 1 {
			t.Fatalf("%+v: %+v: the truth %v", p.spec, a, truth)
		}
	}
	inside := p.spec.Data == nil && distribution.LeastError(&p.spec) == 0
	if size := sizeOf(p); inside && size > 0 && size <= maxListed && Realizable(a) && !agrees(t, p, x, y) {
		t.Errorf("%+v: %+v: no hypothesis agrees with all truths", p.spec, a)
	}
}

// playOut plays a game of 40 queries or rounds against arbitrary answers.
func playOut(t *testing.T, p *opened, a schemas.Adversary) (points, truths []float64) {
	t.Helper()
	const length = 40
	r, own, trial := rand.New(rand.NewPCG(1, 2)), rand.NewPCG(3, 4), p.trial(5, 6)
	x := make([]float64, p.Dim())
	label := func() float64 { return 2*float64(r.IntN(2)) - 1 }
	if !Lookup(a.Kind).PlaysRounds() {
		q := p.view.Queries(a, trial, 10, own)
		for range length {
			truths = append(truths, q.Next(x))
			points = append(points, x...)
			q.Observe(label(), r.IntN(4) == 0)
		}
		return points, truths
	}
	g, err := p.view.Rounds(a, trial, length, own)
	if err != nil {
		t.Fatal(err)
	}
	for range length {
		g.Next(x)
		points, truths = append(points, x...), append(truths, g.Truth(float64(r.IntN(5)-2)/2))
		g.Observe(label())
	}
	return points, truths
}

func checkPoint(t *testing.T, p *opened, x []float64) {
	t.Helper()
	if concept.ShapeOf(p.spec.Class) == concept.InfiniteOrder {
		if _, err := concept.Rank(p.spec.Class, x[0]); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, v := range x {
		if s := p.side(); s > 0 && !(v >= 0 && v < float64(s) && v == math.Trunc(v)) {
			t.Fatalf("%+v: the point %v", p.spec, x)
		}
	}
	if p.side() == 0 && dotOf(x, nil) > 1+1e-9 {
		t.Fatalf("%+v: the point %v", p.spec, x)
	}
}

// sizeOf returns the number of hypotheses, or 0 if it is infinite or very large.
func sizeOf(p *opened) int64 {
	c, err := concept.New(p.view.class)
	if err != nil || c.Size() == nil || !c.Size().IsInt64() {
		return 0
	}
	return c.Size().Int64()
}

func agrees(t *testing.T, p *opened, x, y []float64) bool {
	t.Helper()
	c := finiteClass(t, p)
	labels := make([]float64, len(y))
	for i := range c.Size().Uint64() {
		if c.Member(i).Labels(x, labels); slices.Equal(labels, y) {
			return true
		}
	}
	return false
}

// The places of the adversaries of a task have no gaps.
func TestPlaces(t *testing.T) {
	for _, rounds := range []bool{false, true} {
		list := choices(rounds, func(*Adversary) bool { return true })
		for i, name := range list {
			if Lookup(name).Place != i+1 {
				t.Errorf("rounds %v: %v leaves the place %d out", rounds, list, i+1)
			}
		}
	}
}
