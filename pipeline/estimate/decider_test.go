package estimate

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An asked is a Decider with the sample sizes that it may request.
type asked struct {
	Decider
	sizes []int64
}

// A truth determines the outcome of each trial of one Decider of a group.
type truth struct {
	seed    uint64
	place   int     // index of the Decider in its group
	rate    float64 // success rate at the last place and size
	lost    int     // one trial in this many is lost; 0: none
	refused int64   // smaller sizes are infeasible
}

// report adds a trial to d.
func (w truth) report(d asked, n int64, rep int) {
	rng := rand.New(rand.NewPCG(w.seed, uint64(w.place)<<48+uint64(n)<<32+uint64(rep)))
	index, ok := slices.BinarySearch(d.sizes, n)
	if !ok {
		index = 0
	}
	rate := w.rate * float64(1+index+w.place) / float64(len(d.sizes)+w.place)
	switch lost := w.lost > 0 && rng.IntN(w.lost) == 0; {
	case n < w.refused:
		d.Infeasible(n, "too few")
	case lost:
		d.Lost(n, rep, "gone")
	case rng.Float64() < rate:
		d.Add(n, rep, Success)
	case rng.IntN(3) == 0:
		d.Add(n, rep, Failed)
	default:
		d.Add(n, rep, Miss)
	}
}

// decide adds the requested trials to a group until all are done. If rng is not nil, it adds them
// in a random order, together with unrequested trials. It checks the rules of Decider, and
// returns the results.
func decide(t *testing.T, group []asked, w truth, rng *rand.Rand) (results []Result) {
	t.Helper()
	type event struct {
		place int
		n     int64
		rep   int
	}
	for round := 0; ; round++ {
		if round > 5000 {
			t.Fatal("the decision does not end")
		}
		var events []event
		open, left := false, 0
		for place, d := range group {
			checkState(t, d.Decider)
			open, left = open || !d.Done(), left+len(d.Left())
			for _, n := range d.Needs() {
				if !slices.Contains(d.sizes, n) {
					t.Fatalf("needs n = %d", n)
				}
				if n < w.refused {
					events = append(events, event{place, n, 0})
				}
			}
			for _, b := range d.Want() {
				if !slices.Contains(d.sizes, b.N) || b.First < 0 || b.Count < 1 {
					t.Fatalf("wants %+v", b)
				}
				for i := range b.Count {
					events = append(events, event{place, b.N, b.First + i})
				}
			}
		}
		switch {
		case !open:
			for _, d := range group {
				results = append(results, d.Result())
			}
			return results
		case len(events) == 0 || left == 0:
			t.Fatalf("not done, but %d trials are wanted and %d blocks left", len(events), left)
		}
		if rng != nil {
			for range 20 { // known, not wanted yet, or of unlisted sizes
				e := events[rng.IntN(len(events))]
				d := group[e.place]
				events = append(events, e, event{e.place, d.sizes[rng.IntN(len(d.sizes))], rng.IntN(100)}, event{e.place, 7777, 0})
			}
			rng.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
		}
		for _, e := range events {
			w.place = e.place
			w.report(group[e.place], e.n, e.rep)
		}
	}
}

// checkState checks that getters have no side effects, that the caller owns their results, and
// that a decider that is done requests nothing.
func checkState(t *testing.T, d Decider) {
	t.Helper()
	type state struct {
		Needs      []int64
		Want, Left []Block
		Result     Result
	}
	ask := func() state { return state{d.Needs(), d.Want(), d.Left(), d.Result()} }
	first := ask()
	for _, b := range first.Left {
		if b.First != 0 || b.Count < 1 {
			t.Fatalf("left: %+v", b)
		}
	}
	if !slices.IsSorted(first.Needs) {
		t.Fatalf("needs %v", first.Needs)
	}
	if d.Done() && len(first.Needs)+len(first.Want)+len(first.Left) > 0 {
		t.Fatalf("done, and asks for %+v", first)
	}
	spoilt := ask()
	clear(spoilt.Needs)
	clear(spoilt.Want)
	clear(spoilt.Left)
	clear(spoilt.Result.Points)
	if d := cmp.Diff(first, ask()); d != "" {
		t.Fatalf("a question changed the state: %s", d)
	}
}

// TestDeciders checks that all deciders obey the rules of Decider.
func TestDeciders(t *testing.T) {
	var positions []int64
	for n := range int64(64) {
		positions = append(positions, n+1)
	}
	find := Find{From: 1, To: 64, Within: 2, Confidence: 0.95, Target: 0.5, Cells: 3, MaxTrials: 4000}
	for name, start := range map[string]func(t *testing.T) []asked{
		"search": func(t *testing.T) []asked {
			s, err := NewSearch(find)
			if err != nil {
				t.Fatal(err)
			}
			return []asked{{s, positions}}
		},
		"sizes": func(*testing.T) []asked {
			list := List{Sizes: []int64{9, 3, 30}, Trials: 100, Target: 0.5, Confidence: 0.95, Cells: 3}
			return []asked{{NewSizes(list), []int64{3, 9, 30}}}
		},
		"ladder": func(t *testing.T) (group []asked) {
			l, err := NewLadder(overPositions(9), Words{Size: func(int64) string { return "x" }})
			if err != nil {
				t.Fatal(err)
			}
			for i := range int64(9) {
				group = append(group, asked{l.Rung(i+1, 20), []int64{20}})
			}
			return group
		},
		"trivial": func(*testing.T) []asked { return []asked{{Trivial("why"), []int64{1}}} },
	} {
		for _, w := range []truth{{rate: 1}, {rate: 0.4}, {rate: 1, lost: 200}, {rate: 1, refused: 8}} {
			for w.seed = range 4 {
				t.Run(name, func(t *testing.T) {
					want := decide(t, start(t), w, nil)
					got := decide(t, start(t), w, rand.New(rand.NewPCG(w.seed, 1)))
					if d := cmp.Diff(want, got); d != "" {
						t.Errorf("%+v: another order gives another result: %s", w, d)
					}
				})
			}
		}
	}
}
