package trial

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/schemas"
)

func seedOfNumber(n uint64) SweepSeed { return SweepSeed{schemas.NumberSeed(n)} }

func secretSeed(t *testing.T) SweepSeed {
	t.Helper()
	s, err := schemas.DrawSeed()
	if err != nil {
		t.Fatal(err)
	}
	return SweepSeed{s}
}

// The encoding of numbers in keys and draws never changes, so that old sweeps keep their bits.
func TestNumbersKeepTheirKeys(t *testing.T) {
	problem := Fragment(`{"class":"thresholds"}`)
	key, err := seedOfNumber(7).DataKey(problem)
	if err != nil {
		t.Fatal(err)
	}
	want, err := KeyOf(map[string]any{"format": Format, "seed": uint64(7), "problem": problem})
	if err != nil || key != want {
		t.Errorf("%v, want %v, %v", key, want, err)
	}
	first := rand.New(rand.NewPCG(7, 0x766572696679)).Uint64()
	if got := seedOfNumber(7).Rand(DrawVerify).Uint64(); got != first {
		t.Errorf("draw %d, want %d", got, first)
	}
	if got := seedOfNumber(7).Label(); got != "7" {
		t.Error(got)
	}
}

// Every derivation depends on a secret seed, and none reveals it.
func TestSecretSeeds(t *testing.T) {
	a, b := secretSeed(t), secretSeed(t)
	cell := &Cell{Adversary: &schemas.Adversary{Kind: "x"}, Evaluation: &problem.Evaluation{}}
	problem := Fragment(`{"class":"thresholds"}`)
	derived := func(s SweepSeed) (all []string) {
		c := *cell
		if err := c.SetKeys(s, problem, problem, Fragment("{}")); err != nil {
			t.Fatal(err)
		}
		data, err := s.DataKey(problem)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c.NoiseKey.String(), c.AdversaryKey.String(), data.String(), s.Label())
		for _, d := range []Draw{DrawVerify, DrawCode} {
			all = append(all, strconv.FormatUint(s.Rand(d).Uint64(), 16))
		}
		return all
	}
	seen := map[string]bool{}
	first := derived(a)
	for i, x := range append(derived(b), first...) {
		if seen[x] {
			t.Errorf("derivation %d comes twice", i)
		}
		seen[x] = true
		if strings.Contains(x, a.Digits()[:8]) {
			t.Errorf("derivation %d shows the seed: %s", i, x)
		}
	}
	for i, x := range derived(a) {
		if x != first[i] {
			t.Errorf("derivation %d differs the second time", i)
		}
	}
}
