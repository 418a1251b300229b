package adversary

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas"
)

// round is the record of one round.
type round struct {
	x      []float64
	answer float64
	y      float64
}

// played plays a game against a learner with answers -1 or +1.
func played(t testing.TB, p *opened, a schemas.Adversary, rounds int, seed uint64, l learner) (list []round) {
	t.Helper()
	o, err := p.view.Rounds(a, p.trial(seed, 1), int64(rounds), rand.NewPCG(seed, 3))
	if err != nil {
		t.Fatal(err)
	}
	for range rounds {
		now := round{x: make([]float64, p.Dim())}
		o.Next(now.x)
		now.answer = l.answer(now.x)
		now.y = o.Truth(now.answer)
		o.Observe(now.answer)
		l.learn(now.x, now.y)
		list = append(list, now)
	}
	return list
}

func mistakes(list []round) (n int) {
	for _, r := range list {
		if r.answer != r.y {
			n++
		}
	}
	return n
}

// learner is the opponent of an adversary.
type learner interface {
	answer(x []float64) float64
	learn(x []float64, y float64)
}

// stubborn answers independently of the truths.
type stubborn func(x []float64) float64

func (l stubborn) answer(x []float64) float64 { return l(x) }
func (l stubborn) learn([]float64, float64)   {}

func constant(label float64) stubborn { return func([]float64) float64 { return label } }

// eliminator stores the version space, and answers by the remaining hypotheses on either side.
type eliminator struct {
	split  func(x []float64) (minus, plus space)
	prefer func(s space) int // returns -1 on a tie
}

type space interface {
	size() int
	ldim() int
	eliminator(prefer func(s space) int) *eliminator
}

func (l *eliminator) answer(x []float64) float64 {
	if minus, plus := l.split(x); l.prefer(plus) > l.prefer(minus) {
		return 1
	}
	return -1
}

func (l *eliminator) learn(x []float64, y float64) {
	minus, plus := l.split(x)
	if y > 0 {
		minus = plus
	}
	*l = *minus.eliminator(l.prefer)
}

// between is the set of thresholds low..high, empty if low is above high.
type between struct{ low, high float64 }

func (s between) size() int { return max(0, int(s.high-s.low)+1) }
func (s between) ldim() int { return log2(s.size()) }
func (s between) eliminator(prefer func(s space) int) *eliminator {
	return &eliminator{func(x []float64) (minus, plus space) {
		return between{max(s.low, x[0]+1), s.high}, between{s.low, min(s.high, x[0])}
	}, prefer}
}

// log2 returns the whole part of the binary logarithm of n, or -1 for 0.
func log2(n int) int { return max(-1, math.Ilogb(float64(n))) }

// listedSpace is a version space of any class.
type listedSpace struct {
	table *concept.LabelTable
	concept.VersionSpace
}

func (s listedSpace) size() int { return s.Size() }
func (s listedSpace) ldim() int { return s.Ldim().Low }
func (s listedSpace) eliminator(prefer func(s space) int) *eliminator {
	return &eliminator{func(x []float64) (minus, plus space) {
		v := 0
		for !slices.Equal(s.table.Point(v), x) {
			v++
		}
		return listedSpace{s.table, s.Restrict(v, -1)}, listedSpace{s.table, s.Restrict(v, 1)}
	}, prefer}
}

// whole returns the space of all hypotheses of a problem's class.
func whole(t testing.TB, p *opened) space {
	t.Helper()
	if p.spec.Class == concept.Thresholds {
		top := float64(p.spec.Domain)
		if p.view.class.NoConstant {
			top--
		}
		return between{0, top}
	}
	return newListedSpace(t, finiteClass(t, p), p)
}

func newListedSpace(t testing.TB, c concept.Finite, p *opened) space {
	t.Helper()
	table, err := concept.NewLabelTable(c, p.view.class)
	if err != nil {
		t.Fatal(err)
	}
	return listedSpace{table, table.Versions()}
}

func finiteClass(t testing.TB, p *opened) concept.Finite {
	t.Helper()
	c, err := concept.New(p.view.class)
	if err != nil {
		t.Fatal(err)
	}
	return c.(concept.Finite)
}

// realizable checks that some hypothesis agrees with all truths.
func realizable(t testing.TB, p *opened, list []round) bool {
	t.Helper()
	if p.spec.Class == concept.Thresholds {
		low, high := 0.0, float64(p.spec.Domain)
		if p.view.class.NoConstant {
			high--
		}
		for _, r := range list {
			if r.y > 0 {
				high = min(high, r.x[0])
			} else {
				low = max(low, r.x[0]+1)
			}
		}
		return low <= high
	}
	c := finiteClass(t, p)
	for i := range c.Size().Uint64() {
		h, label := c.Member(i), make([]float64, 1)
		if !slices.ContainsFunc(list, func(r round) bool { h.Labels(r.x, label); return label[0] != r.y }) {
			return true
		}
	}
	return false
}

// solvable returns problems with their Littlestone dimensions.
func solvable(t testing.TB) (list []solved) {
	for x, ldim := range map[uint64]int{2: 1, 3: 2, 1 << 3: 3, 1<<10 - 1: 10, 1 << 20: 20, 1<<40 - 1: 40, 1 << 40: 40} {
		list = append(
			list,
			solved{open(t, schemas.Problem{Class: concept.Thresholds, Distribution: "uniform", Domain: x}), ldim},
		)
	}
	for x, ldim := range map[uint64]int{1: 0, 2: 1, 100: 1} {
		list = append(list, solved{open(t, schemas.Problem{Class: concept.Points, Distribution: "uniform", Domain: x}), ldim})
	}
	for x, ldim := range map[uint64]int{2: 2, 3: 2, 4: 3, 8: 4, 16: 6} {
		list = append(list, solved{open(t, schemas.Problem{Class: "intervals", Distribution: "uniform", Domain: x}), ldim})
	}
	for _, d := range []int{1, 4, 7} {
		list = append(list, solved{open(t, schemas.Problem{Class: "parities", Distribution: "uniform", Dim: d}), d},
			solved{open(t, schemas.Problem{Class: concept.MonotoneConjunctions, Distribution: "uniform", Dim: d}), d})
	}
	// Majority makes up to three mistakes on these, an optimal learner two.
	gap := "a,b,c,d,e,f,g\n0,0,0,0,0,0,0\n0,0,0,0,1,0,0\n0,0,0,0,1,1,1\n0,0,0,1,0,0,0\n" +
		"0,0,1,0,0,0,1\n0,0,1,1,1,1,0\n0,1,1,0,1,0,0\n1,0,0,0,0,0,0\n"
	file := testkit.WriteFile(t, "gap.csv", gap)
	return append(list,
		solved{open(t, schemas.Problem{Class: concept.Thresholds, Distribution: "needle", Mass: 0.1, Domain: 64}), 6},
		solved{open(t, schemas.Problem{Class: "conjunctions", Distribution: "uniform", Dim: 3}), 4},
		solved{open(t, schemas.Problem{Class: "matrix", Distribution: "uniform", Matrix: &schemas.Matrix{File: file}}), 2})
}

type solved struct {
	*opened
	ldim int
}

func (s solved) String() string {
	return fmt.Sprintf("%s under %s, X = %d, d = %d", s.spec.Class, s.spec.Distribution, s.spec.Domain, s.Dim())
}

// The adversaries that force mistakes force as many as the Littlestone dimension on an optimal
// learner, no fewer on any deterministic one, and some hypothesis agrees with all truths.
func TestTreeForces(t *testing.T) {
	for _, p := range solvable(t) {
		for _, kind := range []*Adversary{&tree, &bisecting} {
			if kind.Refuses(&p.spec) != "" {
				continue
			}
			for name, l := range map[string]learner{
				"optimal":  whole(t, p.opened).eliminator(space.ldim),
				"majority": whole(t, p.opened).eliminator(space.size),
				"minus":    constant(-1),
				"plus":     constant(1),
				"first":    stubborn(func(x []float64) float64 { return 2*math.Mod(x[0], 2) - 1 }),
			} {
				list := played(t, p.opened, schemas.Adversary{Kind: kind.Name}, 60, 5, l)
				n, most := mistakes(list), len(list)
				switch name {
				case "optimal":
					most = p.ldim
				case "majority":
					most = log2(whole(t, p.opened).size())
				}
				if n < p.ldim || n > most {
					t.Errorf("%s of %v: %s makes %d mistakes, want %d to %d", kind.Name, p, name, n, p.ldim, most)
				}
				if !realizable(t, p.opened, list) {
					t.Errorf("%s of %v against %s: no hypothesis agrees with all truths", kind.Name, p, name)
				}
			}
		}
	}
}

// Concurrent games on one problem equal games that run alone.
func TestRoundsShareAProblem(t *testing.T) {
	shared := open(t, schemas.Problem{Class: "intervals", Distribution: "uniform", Domain: 12})
	game := func(p *opened, seed uint64) []round {
		return played(t, p, schemas.Adversary{Kind: tree.Name, Sees: seesPast}, 20, seed, constant(1))
	}
	together := make([][]round, 8)
	var all sync.WaitGroup
	for seed := range together {
		all.Go(func() { together[seed] = game(shared, uint64(seed)) })
	}
	all.Wait()
	for seed, got := range together {
		want := game(open(t, shared.spec), uint64(seed))
		if !slices.EqualFunc(got, want, func(a, b round) bool { return slices.Equal(a.x, b.x) && a.y == b.y }) {
			t.Errorf("game %d is another one beside others", seed)
		}
	}
}

// An adversary that sees only the past plays the same for all answers, and its truths are fair
// coins until the hypotheses are distinguished.
func TestTreeThatSeesThePast(t *testing.T) {
	const d, games = 6, 500
	p := open(t, schemas.Problem{Class: "parities", Distribution: "uniform", Dim: d})
	plus := 0
	for seed := range uint64(games) {
		a := schemas.Adversary{Kind: tree.Name, Sees: seesPast}
		low, high := played(t, p, a, 20, seed, constant(-1)), played(t, p, a, 20, seed, constant(1))
		for i := range low {
			if !slices.Equal(low[i].x, high[i].x) || low[i].y != high[i].y {
				t.Fatalf("seed %d: round %d depends on the answers", seed, i)
			}
			if i < d && low[i].y > 0 {
				plus++
			}
		}
		if !realizable(t, p, low) {
			t.Fatalf("seed %d: no parity agrees with all truths", seed)
		}
	}
	if z := zOf(plus, d*games, 0.5); math.Abs(z) > 5 {
		t.Errorf("%d of %d truths are +1", plus, d*games)
	}
}

// zOf returns the number of standard deviations by which a count exceeds that of a share p of n.
func zOf(k, n int, p float64) float64 {
	return (float64(k) - p*float64(n)) / math.Sqrt(float64(n)*p*(1-p))
}

// At the end a bisecting adversary asks the two points next to the edge, or the only one.
func TestBisectingEnds(t *testing.T) {
	p := open(t, schemas.Problem{Class: concept.Thresholds, Distribution: "uniform", Domain: 1 << 20})
	for edge, want := range map[float64][]float64{0: {0, 0}, 1: {0, 1}, 12345: {12344, 12345},
		1 << 20: {1<<20 - 1, 1<<20 - 1}} {
		notThreshold := stubborn(func(x []float64) float64 {
			if x[0] >= edge {
				return -1
			}
			return 1
		})
		list := played(t, p, schemas.Adversary{Kind: bisecting.Name}, 40, 5, notThreshold)
		for i, r := range list[30:] {
			if r.x[0] != want[i%2] || (r.y > 0) != (r.x[0] >= edge) {
				t.Errorf("edge %v: in the end it asks %v with the truth %v", edge, r.x, r.y)
			}
		}
	}
}

// A smoothed adversary asks uniform points at its rate, and stays realizable.
func TestSmoothed(t *testing.T) {
	const games = 1000
	p := open(t, schemas.Problem{Class: concept.Thresholds, Distribution: "uniform", Domain: 1 << 20})
	uniforms := 0
	for seed := range uint64(games) {
		if played(t, p, schemas.Adversary{Kind: smoothed.Name, Rate: 0.3}, 1, seed, constant(1))[0].x[0] != 1<<19-1 {
			uniforms++
		}
	}
	if z := zOf(uniforms, games, 0.3); math.Abs(z) > 5 {
		t.Errorf("%d of %d first points are uniform, want a share of 0.3", uniforms, games)
	}
	for _, p := range solvable(t) {
		for _, sees := range []string{seesAnswers, seesPast} {
			for seed := range uint64(5) {
				list := played(t, p.opened, schemas.Adversary{Kind: smoothed.Name, Rate: 0.5, Sees: sees}, 60, seed, constant(1))
				if !realizable(t, p.opened, list) {
					t.Errorf("%v: no hypothesis agrees with all truths", p)
				}
				optimal := whole(t, p.opened).eliminator(space.ldim)
				a := schemas.Adversary{Kind: smoothed.Name, Rate: 0.5, Sees: sees}
				if n := mistakes(played(t, p.opened, a, 60, seed, optimal)); n > p.ldim {
					t.Errorf("%v: an optimal learner makes %d mistakes, at most %d are possible", p, n, p.ldim)
				}
			}
		}
	}
}

// follower predicts like the first of the hypotheses with the fewest mistakes.
type follower struct {
	t    testing.TB
	best concept.Minimizer
	x, y []float64
}

func (l *follower) answer(x []float64) float64 {
	h, _, err := l.best.Minimize(l.x, l.y, nil, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	var label [1]float64
	h.Labels(x, label[:])
	return label[0]
}

func (l *follower) learn(x []float64, y float64) { l.x, l.y = append(l.x, x...), append(l.y, y) }

// A leader-killer causes a loss in every round for a learner that follows the leader.
func TestLeaderKiller(t *testing.T) {
	for _, p := range append(solvable(t),
		solved{open(t, schemas.Problem{Class: "stumps", Distribution: "uniform", Domain: 5, Dim: 2}), 0}) {
		if leaderKiller.Refuses(&p.spec) != "" {
			continue
		}
		best, err := finiteClass(t, p.opened).NewMinimizer(nil)
		if err != nil {
			t.Fatal(err)
		}
		l := &follower{t: t, best: best}
		if n := mistakes(played(t, p.opened, schemas.Adversary{Kind: leaderKiller.Name}, 200, 5, l)); n != 200 {
			t.Errorf("%v: follow the leader loses %d of 200 rounds", p, n)
		}
	}
}

// counter answers by the difference between the numbers of truths -1 and +1, like a learner that
// has seen one point only. Its noise is part of edge, or drawn from fresh in each round.
type counter struct {
	edge, lead float64
	fresh      *rand.Rand
}

func (l *counter) answer([]float64) float64 {
	edge := l.edge
	if l.fresh != nil {
		edge += 5 * l.fresh.NormFloat64()
	}
	if l.lead >= edge {
		return -1
	}
	return 1
}

func (l *counter) learn(_ []float64, y float64) { l.lead -= y }

// An adversary that exploits shared noise beats it in all rounds except those on its way to the
// learner's edge; it beats fresh noise in about half of all rounds.
func TestSharedNoise(t *testing.T) {
	const rounds = 2000
	a := schemas.Adversary{Kind: sharedNoise.Name}
	for _, spec := range games(t) {
		p := open(t, spec)
		for _, edge := range []float64{-12.5, 0, 0.5, 20} {
			if n := mistakes(played(t, p, a, rounds, 5, &counter{edge: edge})); n < rounds-int(math.Abs(edge))-5 {
				t.Errorf("%s: a learner with its edge at %v loses %d of %d rounds", spec.Class, edge, n, rounds)
			}
		}
		fresh := &counter{edge: 3, fresh: rand.New(rand.NewPCG(1, 2))}
		if n := mistakes(played(t, p, a, rounds, 5, fresh)); math.Abs(zOf(n, rounds, 0.5)) > 6 {
			t.Errorf("%s: fresh noise loses %d of %d rounds", spec.Class, n, rounds)
		}
	}
}

// Planted truths are the target's, over data the row's own, wrong at the rate; those of random
// are fair coins.
func TestPlantedRates(t *testing.T) {
	const rounds = 4000
	data := openCSV(t, "v,y\n3,p\n5,q\n7,p\n", overData("thresholds", 8))
	for _, p := range []*opened{
		data,
		open(t, schemas.Problem{Class: "parities", Distribution: "uniform", Dim: 5}),
		open(t, schemas.Problem{Class: concept.Thresholds, Distribution: "needle", Mass: 0.1, Domain: 64}),
		open(t, schemas.Problem{Class: "halfspace", Distribution: "ball-margin", Margin: 0.1, Dim: 3}),
	} {
		trial := p.trial(7, 1) // the trial that is played
		target := stubborn(func(x []float64) float64 {
			if p == data {
				return map[float64]float64{3: 1, 5: -1, 7: 1}[x[0]]
			}
			return trial.Target().Label(x)
		})
		for _, rate := range []float64{0, 0.05, 0.5} {
			n := mistakes(played(t, p, schemas.Adversary{Kind: planted.Name, Rate: rate}, rounds, 7, target))
			if rate == 0 && n > 0 || rate > 0 && math.Abs(zOf(n, rounds, rate)) > 5 {
				t.Errorf("%s: %d of %d truths are not the target's at rate %v", p.spec.Class, n, rounds, rate)
			}
		}
		n := mistakes(played(t, p, schemas.Adversary{Kind: random.Name}, rounds, 7, target))
		if math.Abs(zOf(n, rounds, 0.5)) > 5 {
			t.Errorf("%s: %d of %d fair coins are not the target's", p.spec.Class, n, rounds)
		}
	}
}

// Round-robin gives each hypothesis one mistake in turn.
func TestRoundRobin(t *testing.T) {
	p := open(t, schemas.Problem{Class: concept.Points, Distribution: "uniform", Domain: 16})
	wrong, label := make([]int, 16), make([]float64, 1)
	for i, r := range played(t, p, schemas.Adversary{Kind: roundRobin.Name}, 160, 5, constant(1)) {
		for h := range wrong {
			finiteClass(t, p).Member(uint64(h)).Labels(r.x, label)
			if label[0] != r.y {
				wrong[h]++
			}
		}
		for h, n := range wrong {
			if want := (i + 16 - h) / 16; n != want {
				t.Fatalf("after round %d hypothesis %d has made %d mistakes, want %d", i, h, n, want)
			}
		}
	}
}

// Greedy goes against every answer except 0; if it sees only the past, against the last label at
// the point.
func TestGreedy(t *testing.T) {
	p := open(t, schemas.Problem{Class: concept.Points, Distribution: "uniform", Domain: 5})
	r := rand.New(rand.NewPCG(1, 2))
	coin := stubborn(func([]float64) float64 { return 2*float64(r.IntN(2)) - 1 })
	if n := mistakes(played(t, p, schemas.Adversary{Kind: greedy.Name}, 500, 5, coin)); n != 500 {
		t.Errorf("it goes against %d of 500 answers", n)
	}
	last := map[float64]float64{}
	for i, now := range played(t, p, schemas.Adversary{Kind: greedy.Name, Sees: seesPast}, 500, 5, coin) {
		if now.y == last[now.x[0]] {
			t.Fatalf("round %d: the truth %v is the last label at %v", i, now.y, now.x)
		}
		last[now.x[0]] = now.answer
	}
	plus := 0
	for _, now := range played(t, p, schemas.Adversary{Kind: greedy.Name}, 2000, 5, constant(0)) {
		if now.y > 0 {
			plus++
		}
	}
	if z := zOf(plus, 2000, 0.5); math.Abs(z) > 5 {
		t.Errorf("against 0, %d of 2000 truths are +1", plus)
	}
}

func TestResolveRounds(t *testing.T) {
	p := schemas.Problem{Class: concept.Thresholds, Distribution: "uniform", Domain: 64}
	for _, c := range []struct{ given, want schemas.Adversary }{
		{schemas.Adversary{Kind: tree.Name}, schemas.Adversary{Kind: tree.Name, Sees: seesAnswers}},
		{schemas.Adversary{Kind: smoothed.Name, Sees: seesPast},
			schemas.Adversary{Kind: smoothed.Name, Sees: seesPast, Rate: 0.1}},
		{schemas.Adversary{Kind: planted.Name, Rate: 0.5}, schemas.Adversary{Kind: planted.Name, Rate: 0.5}},
		{schemas.Adversary{Kind: bisecting.Name}, schemas.Adversary{Kind: bisecting.Name}},
	} {
		for range 2 { // resolving again changes nothing
			if err := Resolve(true, &p, &c.given); err != nil || c.given != c.want {
				t.Errorf("%+v, %v, want %+v", c.given, err, c.want)
			}
		}
	}
}

func TestResolveRoundsRefuses(t *testing.T) {
	threshold := schemas.Problem{Class: concept.Thresholds, Distribution: "uniform", Domain: 64}
	box := schemas.Problem{Class: "rectangles", Distribution: "uniform", Domain: 1 << 40, Dim: 1 << 20}
	stump := schemas.Problem{Class: "stumps", Distribution: "uniform", Domain: 2, Dim: 13}
	for _, c := range []struct {
		p    schemas.Problem
		a    schemas.Adversary
		want string
	}{
		{threshold, schemas.Adversary{},
			"adversary.kind: missing; choose random, planted, tree, bisecting, smoothed, leader-killer, greedy or shared-noise"},
		{threshold, schemas.Adversary{Kind: boundary.Name}, `adversary.kind: "boundary" does not play rounds; choose random`},
		{threshold, schemas.Adversary{Kind: roundRobin.Name},
			`adversary.kind: "round-robin" needs the class points; choose random`},
		{box, schemas.Adversary{Kind: bisecting.Name},
			`"bisecting" needs one of the classes thresholds, thresholds-naturals and thresholds-dyadics; choose random, planted, greedy or shared-noise`},
		{box, schemas.Adversary{Kind: tree.Name},
			`"tree" needs thresholds, a class matrix, or a class of at most 4096 hypotheses on 4096 points: take a smaller domain or d; choose`},
		{stump, schemas.Adversary{Kind: smoothed.Name},
			`"smoothed" needs thresholds, a class matrix, or a class of at most 4096 hypotheses on 4096 points`},
		{schemas.Problem{Class: concept.Thresholds, Domain: 4096}, schemas.Adversary{Kind: leaderKiller.Name},
			`"leader-killer" needs a class matrix, or a class of at most 4096 hypotheses`},
		{schemas.Problem{Class: "halfspace", Dim: 3}, schemas.Adversary{Kind: leaderKiller.Name}, `"leader-killer" needs`},
		{threshold, schemas.Adversary{Kind: tree.Name, Sees: "marks"},
			`adversary.sees: unknown "marks"; choose answers or past`},
		{threshold, schemas.Adversary{Kind: planted.Name, Rate: 0.6}, "adversary.rate: 0.6 is outside [0, 0.5]"},
		{threshold, schemas.Adversary{Kind: smoothed.Name, Rate: 1.5}, "adversary.rate: 1.5 is outside (0, 1]"},
	} {
		if err := Resolve(true, &c.p, &c.a); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %+v: %v, want %q", c.p.Class, c.a, err, c.want)
		}
	}
	if leaderKiller.Refuses(&stump) != "" ||
		leaderKiller.Refuses(&schemas.Problem{Class: concept.Thresholds, Domain: 4095}) != "" {
		t.Error("leader-killer refuses a class of 28 or 4096 hypotheses")
	}
	if _, err := open(t, threshold).view.Rounds(schemas.Adversary{Kind: boundary.Name}, nil, 1, nil); err == nil {
		t.Error("an adversary of queries plays rounds")
	}
}
