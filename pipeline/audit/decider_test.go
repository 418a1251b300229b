package audit

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shatterlab/shatter/pipeline/estimate"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// play adds all wanted trials to a decider until it is done. Each trial has number_1 of a noisy side;
// a trial in 9 fails, and from the lost repetition on trials are lost. If r is not nil, the order is
// random, and trials are repeated.
func play(t *testing.T, d *Decider, noise float64, lost int, r *rand.Rand) estimate.Result {
	t.Helper()
	for !d.Done() {
		var trials []estimate.Block
		for _, b := range d.Want() {
			for i := range b.Count {
				trials = append(trials, estimate.Block{N: b.N, First: b.First + i})
			}
		}
		if len(trials) == 0 || len(d.Left()) == 0 {
			t.Fatal("it is not done and wants nothing")
		}
		if r != nil {
			trials = append(trials, trials[:len(trials)/3]...)
			r.Shuffle(len(trials), func(i, j int) { trials[i], trials[j] = trials[j], trials[i] })
		}
		for _, x := range trials {
			own := rand.New(rand.NewPCG(uint64(x.N), uint64(x.First)))
			side := Side(int64(x.First), uint64(x.First/2)*0x9e3779b97f4a7c15>>60)
			o := estimate.Miss
			value := laplace(own, side, noise).values[ProbePoints]
			switch {
			case lost > 0 && x.First >= lost:
				d.Lost(x.N, x.First, "gone")
				continue
			case own.IntN(9) == 0:
				o = estimate.Failed
			}
			d.AddFeatures(x.N, x.First, o, func(name string) float64 {
				switch {
				case o == estimate.Failed:
					return math.NaN()
				case name == MetricSide:
					return float64(side)
				case name == "number_1":
					return value
				}
				return math.NaN()
			})
		}
	}
	if len(d.Want())+len(d.Needs())+len(d.Left()) > 0 {
		t.Fatal("it is done and wants trials")
	}
	return d.Result()
}

// The result does not depend on the order of the trials.
func TestDecider(t *testing.T) {
	claim := Claim{Epsilon: 1, Sizes: []int64{20, 10}, Trials: 3001, Confidence: 0.95, Cells: 3}
	for _, c := range []struct {
		noise   float64
		lost    int
		refuted bool
		status  string
	}{
		{1, 0, false, estimate.StatusDecided}, {4, 0, true, estimate.StatusDecided},
		{1, 200, false, estimate.StatusUndecided},
		{4, 2500, true, estimate.StatusDecided},
	} {
		want := play(t, NewDecider(claim), c.noise, c.lost, nil)
		if (want.Audit.Refuted != "") != c.refuted || want.Status != c.status {
			t.Errorf("%+v: %+v, audit %+v", c, want, want.Audit)
		}
		for seed := range uint64(3) {
			got := play(t, NewDecider(claim), c.noise, c.lost, rand.New(rand.NewPCG(seed, 1)))
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%+v: another order gives another result: %s", c, d)
			}
		}
	}
}

// Models that always differ between the two samples refute a claim after Least trials, and no earlier.
func TestLeast(t *testing.T) {
	for _, epsilon := range []float64{0.1, 1, 4} {
		claim := Claim{Epsilon: epsilon, Sizes: []int64{10, 20}, Trials: 5000, Confidence: 0.95, Cells: 3}
		least := claim.Least()
		for _, claim.Trials = range []int{least, least - 2} {
			d := NewDecider(claim)
			for rep := range claim.Trials {
				d.AddFeatures(10, rep, estimate.Miss, func(string) float64 { return float64(Side(int64(rep), 0)) })
			}
			if refuted := d.Result().Audit.Refuted != ""; refuted != (claim.Trials == least) {
				t.Errorf("epsilon %v, %d of at least %d trials: refuted %v", epsilon, claim.Trials, least, refuted)
			}
		}
	}
}

// The two trials of a pair get its two samples, which differ in one example.
func TestSides(t *testing.T) {
	for rep := int64(0); rep < 100; rep += 2 {
		coin := rand.Uint64()
		if Side(rep, coin)+Side(rep+1, coin) != 1 || PairOf(rep) != PairOf(rep+1) {
			t.Fatalf("repetition %d", rep)
		}
	}
}

// The samples of a pair differ in one row at most, and both sides ask about the same points.
func TestNeighbors(t *testing.T) {
	for _, problem := range []*pluginv1.Problem{
		{Class: "thresholds", Domain: 64, Dim: 1}, {Class: "parities", Domain: 2, Dim: 5},
		{Class: "halfspace", Dim: 3, Margin: 0.1},
	} {
		for i := range Pairs {
			for _, n := range []int{1, 2, 7} {
				dim := int(problem.Dim)
				var both [2]Sample
				var probes [2][]float64
				for side := range both {
					r := rand.New(rand.NewPCG(1, 2))
					s := Sample{problem, make([]float64, n*dim), make([]float64, n)}
					for k := range s.X {
						s.X[k] = float64(r.IntN(2))
					}
					for k := range s.Y {
						s.Y[k] = float64(2*r.IntN(2) - 1)
					}
					probes[side] = Pairs[i].Choose(s, side)
					both[side] = s
				}
				differ := 0
				for row := range n {
					if !slices.Equal(both[0].row(row), both[1].row(row)) || both[0].Y[row] != both[1].Y[row] {
						differ++
					}
				}
				if differ != 1 || !slices.Equal(probes[0], probes[1]) || len(probes[0]) != ProbePoints*dim {
					t.Errorf("%s, pair %s, n = %d: %d rows differ", problem.Class, Pairs[i].Name, n, differ)
				}
			}
		}
	}
}
