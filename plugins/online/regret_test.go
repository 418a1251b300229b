package online

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite/finitetest"
)

// round is a round of a game on a class with points of one number.
type round struct {
	v int
	y float64
}

// drawRounds draws at most most rounds with points below m.
func drawRounds(r *rapid.T, m, most int) []round {
	list := make([]round, rapid.IntRange(1, most).Draw(r, "rounds"))
	for i := range list {
		list[i] = round{rapid.IntRange(0, m-1).Draw(r, "point"), 2*float64(rapid.IntRange(0, 1).Draw(r, "truth")) - 1}
	}
	return list
}

// labelOf returns the label of the point v by a row of '0' and '1'.
func labelOf(row string, v int) float64 { return 2*float64(row[v]-'0') - 1 }

// regretOf plays a game and returns the regret against the rows, and the loss of the best of them.
func regretOf(t testing.TB, l algo.Learner, rows []string, game []round) (regret, best float64) {
	t.Helper()
	best = math.Inf(1)
	for _, row := range rows {
		loss := 0.0
		for _, g := range game {
			loss += (1 - g.y*labelOf(row, g.v)) / 2
		}
		best = min(best, loss)
	}
	loss := 0.0
	for _, g := range game {
		x := []float64{float64(g.v)}
		loss += (1 - g.y*answer(t, l, x)) / 2
		tell(t, l, x, g.y)
	}
	return loss - best, best
}

func TestRunVectors(t *testing.T) {
	var v struct {
		TolRel float64 `json:"tol_rel"`
		Run    struct {
			N      int
			X      []int
			Y      []float64
			Losses [][]int32
			Pick   []int     `json:"ftl_pick"`
			Rate   float64   `json:"hedge_lr"`
			Loss   []float64 `json:"hedge_loss"`
		}
		SmallLoss []struct {
			T, F  int
			Best  float64 `json:"lstar"`
			Rate  float64 `json:"hedge_lr"`
			Bound float64 `json:"hedge_bound"`
		} `json:"small_loss"`
	}
	finitetest.ReadJSON(t, "testdata/run.json", &v)
	if len(v.Run.X) == 0 || len(v.SmallLoss) == 0 {
		t.Fatal("no vectors")
	}
	known, p := new(boards), algo.Problem{Class: "parities", Dim: v.Run.N}
	h := begin(t, hedge(known), p, len(v.Run.X), hedgeParams{Tuning: fixedTuning, Rate: v.Run.Rate}).(*hedger)
	f := begin(t, followTheLeader(known), p, len(v.Run.X), struct{}{})
	total := make([]int32, 1<<v.Run.N)
	for i, point := range v.Run.X {
		x, y := make([]float64, v.Run.N), 2*v.Run.Y[i]-1
		for j := range x {
			x[j] = float64(point >> j & 1)
		}
		if got := (1 - y*answer(t, h, x)) / 2; math.Abs(got-v.Run.Loss[i]) > v.TolRel*v.Run.Loss[i] {
			t.Errorf("round %d: hedge loses %v, want %v", i+1, got, v.Run.Loss[i])
		}
		var label [1]float64
		h.board.class.Member(uint64(v.Run.Pick[i])).Labels(x, label[:])
		if got := answer(t, f, x); got != label[0] {
			t.Errorf("round %d: the leader says %v, function %d %v", i+1, got, v.Run.Pick[i], label[0])
		}
		tell(t, h, x, y)
		tell(t, f, x, y)
		for k, loss := range v.Run.Losses[i] {
			total[k] += loss
		}
		if got := h.losses.(*totals).total; fmt.Sprint(got) != fmt.Sprint(total) {
			t.Errorf("round %d: losses %v, want %v", i+1, got, total)
		}
	}
	for _, c := range v.SmallLoss {
		p := hedgeParams{Tuning: smallTuning, LStar: c.Best}
		lnF := math.Log(float64(c.F))
		if got := p.rate(lnF, c.T); math.Abs(got-c.Rate) > v.TolRel*c.Rate {
			t.Errorf("%+v: rate %v", c, got)
		}
		s := settingOf(algo.Problem{Class: "points", Domain: uint64(c.F)}, c.T, p)
		b := valueOf(t, hedge(known), s, "small-loss")
		if c.Best >= 1 && math.Abs(b.With["closed_form"]-c.Bound) > v.TolRel*c.Bound || b.Value > b.With["closed_form"] ||
			!b.Proved {
			t.Errorf("%+v: %+v", c, b)
		}
	}
}

// Exponential weights, with every tuning, and the leader satisfy their bounds.
func TestRegretIsBounded(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		rows := randomRows(r)
		game := drawRounds(r, len(rows[0]), 40)
		p, known, lnN := matrixProblem(rows), new(boards), math.Log(float64(len(rows)))
		p.Realizable = false
		for _, params := range []hedgeParams{
			{Tuning: worstTuning}, {Tuning: smallTuning, LStar: float64(rapid.IntRange(0, 10).Draw(r, "lstar"))},
			{Tuning: fixedTuning, Rate: rapid.SampledFrom([]float64{1e-9, 0.1, 1, 30, 1e6}).Draw(r, "rate")},
		} {
			h := begin(t, hedge(known), p, len(game), params).(*hedger)
			regret, best := regretOf(t, h, rows, game)
			if !(regret <= h.proved()+1e-9) || h.losses.least() != int(best) {
				r.Fatalf("%+v: regret %v, proved %v, least loss %v, counted %d", params, regret, h.proved(), best, h.losses.least())
			}
			s := settingOf(p, len(game), params)
			for _, b := range hedgeBounds(&s, h.board) {
				if b.Name == "small-loss" && best > params.LStar {
					continue
				}
				if regret > b.Value+1e-9 || !(b.Value >= 0) || len(rows) > 1 && h.proved() > b.Value+1e-9 &&
					b.Name == "worst-case" {
					r.Fatalf("%+v: regret %v, proved %v, %+v", params, regret, h.proved(), b)
				}
			}
			if worst := math.Sqrt(float64(len(game)) * lnN / 2); params.Tuning == worstTuning &&
				math.Abs(valueOf(t, hedge(known), s, "worst-case").Value-min(worst, float64(len(game)))) > 1e-9 {
				r.Fatalf("worst-case bound is not %v", worst)
			}
		}
		f := begin(t, followTheLeader(known), p, len(game), struct{}{}).(*leaderGame)
		regret, _ := regretOf(t, f, rows, game)
		turns := valueOf(t, followTheLeader(known), settingOf(p, len(game), struct{}{}), "turns").Value
		if regret > f.proved() || regret > turns {
			r.Fatalf("the leader's regret %v, proved %v and %v", regret, f.proved(), turns)
		}
	})
}

// Both kinds of losses return the mean and the leader that the definition yields for the losses of
// all functions.
func TestLossesByDefinition(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		domain := rapid.Uint64Range(2, 90).Draw(r, "domain")
		p := algo.Problem{Class: "thresholds", Domain: domain, NoConstant: rapid.Bool().Draw(r, "no constant")}
		b, err := new(boards).at(p)
		if err != nil {
			r.Fatal(err)
		}
		rate := rapid.Float64Range(0, 2).Draw(r, "rate")
		powers := powers{rate: rate}
		short, long := b.losses(), &totals{board: b, total: make([]int32, b.size)}
		loss := make([]int, b.size)
		for _, g := range drawRounds(r, int(domain), 40) {
			x := []float64{float64(g.v)}
			sum, all, best := 0.0, 0.0, 0
			for i, k := range loss {
				w := math.Exp(-rate * float64(k))
				sum, all = sum+w*concept.Threshold(float64(i)).Label(x[0]), all+w
				if k < loss[best] {
					best = i
				}
			}
			weight := powers.upTo(short.most() - short.least())
			for _, l := range []losses{short, long} {
				if got := l.mean(x, weight); math.Abs(got-sum/all) > 1e-12 {
					r.Fatalf("%T: mean %v, want %v", l, got, sum/all)
				}
				if got := l.leader(x); got != concept.Threshold(float64(best)).Label(x[0]) {
					r.Fatalf("%T: leader says %v, want that of %d", l, got, best)
				}
				l.add(x, g.y)
			}
			for i := range loss {
				if concept.Threshold(float64(i)).Label(x[0]) != g.y {
					loss[i]++
				}
			}
			if short.least() != long.least() || short.most() != long.most() || short.least() != minOf(loss) {
				r.Fatalf("losses from %d to %d, and from %d to %d", short.least(), short.most(), long.least(), long.most())
			}
		}
	})
}

func minOf(values []int) int {
	least := values[0]
	for _, v := range values {
		least = min(least, v)
	}
	return least
}

// An expert is one of the agnostic experts.
type expert struct {
	set    int      // bit t: whether it errs on purpose in round t
	rows   []string // the remaining functions
	weight float64
}

func (e *expert) predict(t, v int) float64 {
	label := -1.0
	if plainLdim(agreeing(e.rows, v, '1')) > plainLdim(agreeing(e.rows, v, '0')) {
		label = 1
	}
	if e.set>>t&1 == 1 {
		return -label
	}
	return label
}

// The groups of experts answer exactly like exponential weights over all individual experts.
func TestAgnosticByExperts(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		rows := randomRows(r)
		game := drawRounds(r, len(rows[0]), 7)
		d, rate := plainLdim(rows), rapid.Float64Range(0.01, 3).Draw(r, "rate")
		p := matrixProblem(rows)
		l := begin(t, agnosticExperts(new(boards)), p, len(game), agnosticParams{Rate: rate})
		var all []expert
		for set := range 1 << len(game) {
			if ones := strings.Count(fmt.Sprintf("%b", set), "1"); ones <= d {
				all = append(all, expert{set, rows, 1})
			}
		}
		for i, g := range game {
			sum, total := 0.0, 0.0
			for k := range all {
				e := &all[k]
				a := e.predict(i, g.v)
				sum, total = sum+e.weight*a, total+e.weight
				if a != g.y {
					e.weight *= math.Exp(-rate)
				}
				if left := agreeing(e.rows, g.v, byte('0'+(int(a)+1)/2)); len(left) > 0 {
					e.rows = left
				}
			}
			x := []float64{float64(g.v)}
			if got := answer(t, l, x); math.Abs(got-sum/total) > 1e-12 {
				r.Fatalf("%v, round %d of %v: %v, want %v", rows, i, game, got, sum/total)
			}
			tell(t, l, x, g.y)
		}
		if n := l.(*experts).lnN; math.Abs(n-math.Log(float64(len(all)))) > 1e-12 {
			r.Fatalf("ln of the number of experts %v, want that of %d", n, len(all))
		}
	})
}

// In long games the weights neither overflow nor vanish, even if all experts err repeatedly.
func TestLongAgnosticGame(t *testing.T) {
	const rounds = 20000
	known, p := new(boards), algo.Problem{Class: "points", Domain: 3}
	l := begin(t, agnosticExperts(known), p, rounds, agnosticParams{Rate: 500}).(*experts)
	r := rand.New(rand.NewPCG(2, 2))
	for range rounds {
		x := []float64{float64(r.IntN(3))}
		y := -1.0
		if answer(t, l, x) < 0 {
			y = 1
		}
		tell(t, l, x, y)
	}
	sum := 0.0
	for _, g := range l.groups {
		sum += total(g.weight)
	}
	if math.Abs(sum-1) > 1e-12 {
		t.Errorf("groups %v", l.groups)
	}
	large := settingOf(algo.Problem{Class: "thresholds", Domain: concept.MaxDomain}, maxRounds, agnosticParams{})
	most := math.Sqrt(maxRounds * 40 * math.Log(math.E*maxRounds/40) / 2)
	if b := valueOf(t, agnosticExperts(known), large, "agnostic"); !(b.Value > 1 && b.Value < most) {
		t.Errorf("%+v", b)
	}
}
