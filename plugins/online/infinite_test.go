package online

import (
	"math"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
)

func infiniteProblem(class string) algo.Problem {
	return algo.Problem{Class: class, Dim: 1, Realizable: true, Noise: "none"}
}

// promised returns 1 + floor(log2(x - lo + 1)) for the first point x labeled +1, where lo-1 is the
// largest point before it. It returns 0 if no point is labeled +1.
func promised(x, y []float64) float64 {
	lo := 1.0
	for i, v := range x {
		if y[i] > 0 {
			return float64(bits.Len64(uint64(v - lo + 1)))
		}
		lo = max(lo, v+1)
	}
	return 0
}

// For every target and all points, soa makes at most as many mistakes as its bound for the
// sequence, which it reports.
func TestNaturalsAgainstTargets(t *testing.T) {
	known := new(boards)
	rapid.Check(t, func(r *rapid.T) {
		most := uint64(1) << rapid.IntRange(0, 53).Draw(r, "size")
		target := rapid.Uint64Range(1, most).Draw(r, "target")
		e := begin(t, soa(known), infiniteProblem(concept.Naturals), 0, struct{}{}).(*elimination)
		var x, y []float64
		mistakes := 0.0
		for range 60 {
			v := float64(rapid.Uint64Range(1, most).Draw(r, "point"))
			if lo := e.now.(span).lo; lo <= most && rapid.Bool().Draw(r, "new") { // a point whose label is not determined yet
				v = float64(rapid.Uint64Range(lo, min(most, e.now.(span).end)).Draw(r, "point"))
			}
			x, y = append(x, v), append(y, concept.Threshold(float64(target)).Label(v))
			if answer(t, e, x[len(x)-1:]) != y[len(y)-1] {
				mistakes++
			}
			tell(t, e, x[len(x)-1:], y[len(y)-1])
			if mistakes > promised(x, y) || e.proved != promised(x, y) || e.contradictions > 0 {
				r.Fatalf("target %d, points %v: %v mistakes, the bound is %v and should be %v", target, x, mistakes, e.proved,
					promised(x, y))
			}
		}
		if now := e.now.(span); now.lo > target || now.end <= target {
			r.Fatalf("the version space %v lacks the target %d", now, target)
		}
	})
}

// On the natural numbers, the least of the thresholds with the fewest mistakes leads. On a dense
// order, the first point of the game at or above its run of thresholds leads, or 1.
func TestLeaderOnInfiniteOrders(t *testing.T) {
	known := new(boards)
	rapid.Check(t, func(r *rapid.T) {
		class, point, thresholds := concept.Naturals, rapid.IntRange(1, 9), 10 // t = 1..10
		if rapid.Bool().Draw(r, "dyadics") {
			class, point, thresholds = concept.Dyadics, rapid.IntRange(0, 7), 17 // t = 0, 1/16, ..., 1
		}
		l := begin(t, followTheLeader(known), infiniteProblem(class), 0, struct{}{}).(*leaderGame)
		wrong, asked := make([]int, thresholds), map[float64]bool{}
		for range rapid.IntRange(1, 30).Draw(r, "rounds") {
			x, y := float64(point.Draw(r, "point")), rapid.SampledFrom([]float64{-1, 1}).Draw(r, "truth")
			at := func(i int) float64 { return float64(i + 1) }
			best := slices.Index(wrong, slices.Min(wrong))
			if class == concept.Dyadics {
				x, at = x/8, func(i int) float64 { return float64(i) / 16 }
				for best+1 < thresholds && !asked[at(best)] {
					best++
				}
			}
			if got, want := answer(t, l, []float64{x}), concept.Threshold(at(best)).Label(x); got != want {
				r.Fatalf("%s: the leader says %v at %v, the threshold %v says %v", class, got, x, at(best), want)
			}
			tell(t, l, []float64{x}, y)
			asked[x] = true
			for i := range wrong {
				if concept.Threshold(at(i)).Label(x) != y {
					wrong[i]++
				}
			}
			if got := l.losses.least(); got != slices.Min(wrong) {
				r.Fatalf("%s: least loss %d, want %d", class, got, slices.Min(wrong))
			}
			if got, want := l.proved(), float64(l.round-slices.Min(wrong)); got != want {
				r.Fatalf("%s: bound %v, want %v", class, got, want)
			}
		}
	})
}

// An algorithm that requires finitely many functions, or a part of larger dimension, returns an
// error for infinite orders. The error names the reason and the algorithms that support them.
func TestInfiniteOrdersAreRefused(t *testing.T) {
	known := new(boards)
	natural, dyadic := infiniteProblem(concept.Naturals), infiniteProblem(concept.Dyadics)
	const many = "infinitely many functions, of infinite Littlestone dimension"
	refusals(t, soa(known), []refused[struct{}]{
		{natural, 5, struct{}{}, ""}, {natural, 0, struct{}{}, ""},
		{dyadic, 5, struct{}{},
			"two parts of infinite Littlestone dimension, and neither is larger: use online/follow-the-leader"},
	})
	refusals(t, halving(known), []refused[struct{}]{
		{natural, 5, struct{}{}, many}, {natural, 5, struct{}{}, "use online/soa or online/follow-the-leader"},
		{dyadic, 5, struct{}{}, "use online/follow-the-leader"},
	})
	refusals(t, followTheLeader(known), []refused[struct{}]{{natural, 5, struct{}{}, ""}, {dyadic, 5, struct{}{}, ""},
		{dyadic, 0, struct{}{}, ""}})
	refusals(t, hedge(known), []refused[hedgeParams]{{natural, 5, hedgeParams{Tuning: worstTuning}, many},
		{dyadic, 5, hedgeParams{Tuning: worstTuning}, many}})
	refusals(t, agnosticExperts(known), []refused[agnosticParams]{{natural, 5, agnosticParams{}, many},
		{dyadic, 5, agnosticParams{}, many}})
	for _, p := range []algo.Problem{natural, dyadic} {
		if _, err := gaussianPlan(p, 5, func(*ftplGaussianParams) {}); !algo.IsInvalid(err) ||
			!strings.Contains(err.Error(), "no finite list of hypotheses") {
			t.Errorf("online/ftpl-gaussian on %s: %v", p.Class, err)
		}
		if _, err := iidPlan(p, 5, func(*ftplIIDParams) {}); !algo.IsInvalid(err) ||
			!strings.Contains(err.Error(), "no finite list of hypotheses") {
			t.Errorf("online/ftpl-iid on %s: %v", p.Class, err)
		}
	}
	s := settingOf(natural, 7, struct{}{})
	if b := valueOf(t, soa(known), s, "first-positive"); b.Value != 7 || !b.Proved {
		t.Errorf("%+v", b)
	}
	if b := valueOf(t, followTheLeader(known), s, "rounds"); b.Value != 7 || !b.Proved {
		t.Errorf("%+v", b)
	}
	s.Rounds = 0
	if b := valueOf(t, soa(known), s, "first-positive"); !math.IsInf(b.Value, 1) {
		t.Errorf("%+v", b)
	}
}
