package adversary

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

func naturals(t testing.TB) *opened { return open(t, schemas.Problem{Class: concept.Naturals}) }

func dyadics(t testing.TB) *opened { return open(t, schemas.Problem{Class: concept.Dyadics}) }

func bisectFrom(x uint64) schemas.Adversary { return schemas.Adversary{Kind: bisecting.Name, From: x} }

// rising returns the learner on the natural numbers that answers -1 until a point is labeled +1,
// and then plays optimally on the remaining thresholds.
func rising() *eliminator { return between{1, 0x1p62}.eliminator(space.ldim) }

// consistent reports whether a threshold agrees with all truths.
func consistent(list []round) bool {
	low, high := math.Inf(-1), math.Inf(1)
	for _, r := range list {
		if r.y > 0 {
			high = min(high, r.x[0])
		} else {
			low = max(low, r.x[0])
		}
	}
	return low < high
}

// The first point determines the number of mistakes that a bisection of the natural numbers
// forces, exactly for an optimal learner.
func TestBisectingNaturals(t *testing.T) {
	text, err := os.ReadFile("testdata/naturals.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Naturals []struct {
			Root     uint64
			Mistakes int
		} `json:"thresholds_N"`
	}
	if err := json.Unmarshal(text, &v); err != nil || len(v.Naturals) != 9 {
		t.Fatalf("%d vectors: %v", len(v.Naturals), err)
	}
	for _, c := range v.Naturals {
		list := played(t, naturals(t), bisectFrom(c.Root), 60, 5, rising())
		if n := mistakes(list); n != c.Mistakes || !consistent(list) || list[0].x[0] != float64(c.Root) || list[0].y != 1 {
			t.Errorf("first point %d: %d mistakes, want %d; a threshold agrees: %v; the first round: %+v",
				c.Root, n, c.Mistakes, consistent(list), list[0])
		}
	}
}

// A learner that answers +1 errs in every round, until the largest point; after that the truths
// do not change.
func TestBisectingNaturalsUpwards(t *testing.T) {
	for _, c := range []struct {
		from          uint64
		rounds, wrong int
	}{
		{1, 100, 100}, {1 << 20, 100, 100}, {1 << 51, 9, 4}, {concept.MaxNatural / 2, 5, 2},
	} {
		list := played(t, naturals(t), bisectFrom(c.from), c.rounds, 5, constant(1))
		for i, r := range list {
			if want := float64(min(uint64(i+1)*c.from, concept.MaxNatural)); r.x[0] != want || r.y != -1 && i < c.wrong {
				t.Errorf("from %d, round %d: %+v, want the point %v", c.from, i, r, want)
			}
		}
		if n := mistakes(list); n < c.wrong || !consistent(list) {
			t.Errorf("from %d: %d mistakes, want %d; a threshold agrees: %v", c.from, n, c.wrong, consistent(list))
		}
	}
}

// Halving is exact, in all directions, for the permitted number of rounds but not for more.
func TestHalvingsAreExact(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		coin := stubborn(func([]float64) float64 { return 2*float64(r.IntN(2)) - 1 })
		switch seed {
		case 0:
			coin = constant(-1)
		case 1:
			coin = constant(1) // up to 1 - 2^-53
		}
		low, high := new(big.Rat), big.NewRat(1, 1)
		list := played(t, dyadics(t), schemas.Adversary{Kind: bisecting.Name}, maxHalvings, seed, coin)
		for i, now := range list {
			middle := new(big.Rat).Add(low, high)
			middle.Quo(middle, big.NewRat(2, 1))
			if new(big.Rat).SetFloat64(now.x[0]).Cmp(middle) != 0 {
				t.Fatalf("seed %d, round %d: the point %v is not the middle %v", seed, i, now.x[0], middle)
			}
			if now.y > 0 {
				high = middle
			} else {
				low = middle
			}
		}
		if n := mistakes(list); n != maxHalvings || !consistent(list) {
			t.Errorf("seed %d: %d mistakes in %d rounds", seed, n, len(list))
		}
		if last := list[maxHalvings-1].x[0]; seed == 1 && last != 1-0x1p-53 {
			t.Errorf("the last point up is %v", last)
		}
	}
	_, err := dyadics(t).view.Rounds(schemas.Adversary{Kind: bisecting.Name}, nil, maxHalvings+1, rand.NewPCG(1, 1))
	if err == nil || !strings.HasPrefix(err.Error(), "rounds: 54 are too many on the class thresholds-dyadics") {
		t.Error(err)
	}
}
